/** Tests of http/route.ts and http/admission.ts: a body that is passed on as it arrives. */
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type Ask, type Route, type Upload, uploadRoute } from '../../http/route.ts'
import { bareClient } from './bare-client.ts'
import { serve } from './server-here.ts'

const MIB = 1_048_576

/** Accepts an upload and returns its length and hash. */
function take(more: Partial<Route['upload']> = {}, handle: (ask: Ask<Upload>) => unknown = hashed): Route {
  const upload = { maxBytes: 64 * MIB, idleMs: 5000, wholeMs: 60_000, ...more }
  return uploadRoute({ method: 'POST', path: '/api/take', who: 'admin', summary: 'Test', upload, handle })
}

async function hashed({ body }: Ask<Upload>): Promise<unknown> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of body.stream) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, said: body.lengthBytes ?? null, sha256: hash.digest('hex') }
}

const head = (length: number | 'chunked', more = '') =>
  `POST /api/take HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n${more}` +
  (length === 'chunked' ? 'Transfer-Encoding: chunked\r\n\r\n' : `Content-Length: ${length}\r\n\r\n`)

t.test('passes on every byte, of whatever type, far beyond the limit of other bodies', async (t) => {
  const { ask } = await serve(t, { routes: [take()] })
  const image = Buffer.alloc(8 * MIB, 'plantroom')
  const sha256 = createHash('sha256').update(image).digest('hex')
  for (const type of ['application/octet-stream', 'application/x-www-form-urlencoded', 'application/json', 'x/y']) {
    const reply = await ask('/api/take', {
      method: 'POST',
      as: 'admin',
      body: image,
      headers: { 'content-type': type },
    })
    t.same(await reply.json(), { bytes: image.length, said: image.length, sha256 }, type)
  }
})

t.test('a body without a type, in chunks, and an empty one are bodies too', async (t) => {
  const { port, ask } = await serve(t, { routes: [take()] })
  const { bare, heard } = bareClient(port)
  bare.write(`${head('chunked', 'Connection: close\r\n')}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`)
  t.match(await heard, /"bytes":5,"said":null/)
  const none = await ask('/api/take', { method: 'POST', as: 'admin' })
  t.match(await none.json(), { bytes: 0 })
})

t.test('a form that holds a file is not the file', async (t) => {
  const { ask } = await serve(t, { routes: [take()] })
  const body = new FormData()
  body.set('file', new Blob(['image']))
  const reply = await ask('/api/take', { method: 'POST', as: 'admin', body })
  t.equal(reply.status, 415)
  t.match(await reply.json(), { error: 'unsupported_media_type', message: /-X POST -T FILE/ })
})

t.test('a route that opens forms gets one as it arrives', async (t) => {
  const { ask } = await serve(t, { routes: [take({ takesForm: true })] })
  const body = new FormData()
  body.set('file', new Blob(['image']))
  const reply = await ask('/api/take', { method: 'POST', as: 'admin', body })
  t.equal(reply.status, 200)
  t.ok(((await reply.json()) as { bytes: number }).bytes > 'image'.length, 'with what is around the file')
})

t.test('a caller without permission cannot send it', async (t) => {
  const asked: unknown[] = []
  const { ask } = await serve(t, { routes: [take({}, async ({ caller }) => asked.push(caller))] })
  t.equal((await ask('/api/take', { method: 'POST', as: 'viewer', body: Buffer.alloc(MIB) })).status, 403)
  t.same(asked, [])
})

t.test('an upload that is too long is refused at once if it says so, otherwise when it gets too long', async (t) => {
  const { port } = await serve(t, { routes: [take({ maxBytes: 1000 })] })
  const said = bareClient(port)
  said.bare.write(head(1001))
  t.match(await said.answered, /^HTTP\/1.1 413 .*body_too_large.*1001 bytes/s)
  said.bare.destroy()
  const grown = bareClient(port)
  grown.bare.write(`${head('chunked')}3e9\r\n${'x'.repeat(1001)}\r\n`)
  t.match(await grown.answered, /^HTTP\/1.1 413 .*body_too_large/s)
  grown.bare.destroy()
})

t.test('a long one under way is not cut off by the time limit of other requests', async (t) => {
  const http = { request_timeout_ms: 100 }
  const { port } = await serve(t, { routes: [take()], clock: systemClock, http })
  const { bare, drip, heard } = bareClient(port)
  bare.write(head(10, 'Connection: close\r\n'))
  drip(50)
  t.match(await heard, /"bytes":10/, 'took half a second')
})

t.test('one that stalls is cut off, and its connection closed', async (t) => {
  const { port } = await serve(t, { routes: [take({ idleMs: 300 })], clock: systemClock })
  const { bare, answered, heard } = bareClient(port)
  bare.write(`${head(10)}x`)
  t.match(await answered, /^HTTP\/1.1 408 .*request_timeout.*stood still for 300 ms/s)
  await heard
})

function systemWait(ms: number): Promise<string> {
  return new Promise((resolve) => setTimeout(resolve, ms, 'open'))
}

t.test('one that drips for ever ends at the overall time limit', async (t) => {
  const { port } = await serve(t, { routes: [take({ wholeMs: 400 })], clock: systemClock })
  const { bare, drip, answered } = bareClient(port)
  bare.write(head(1000))
  drip(20)
  t.match(await answered, /^HTTP\/1.1 408 .*took longer than 400 ms/s)
  bare.destroy()
})

t.test('the time that its reader takes does not count as idle', async (t) => {
  const slow = async ({ body }: Ask<Upload>) => {
    let bytes = 0
    for await (const chunk of body.stream) {
      if (bytes === 0) await systemWait(900)
      bytes += chunk.length
    }
    return { bytes }
  }
  const { ask } = await serve(t, { routes: [take({ idleMs: 600 }, slow)], clock: systemClock })
  const reply = await ask('/api/take', { method: 'POST', as: 'admin', body: Buffer.alloc(MIB) })
  t.same(await reply.json(), { bytes: MIB })
})

t.test('a client that leaves during an upload is a fault of the stream', async (t) => {
  const fault = Promise.withResolvers<unknown>()
  const handle = async (ask: Ask<Upload>) => hashed(ask).catch((error) => fault.resolve(error))
  const { port } = await serve(t, { routes: [take({}, handle)] })
  const { bare } = bareClient(port)
  bare.write(`${head(10)}abc`)
  setTimeout(() => bare.destroy(), 50)
  const found = await fault.promise
  t.ok(found instanceof Fault)
  t.match(found, { code: 'body_cut', message: 'the connection ended after 3 of 10 bytes of the body' })
})

t.test('a client that is refused during an upload can read why', async (t) => {
  const handle = async () => {
    throw new Fault('busy', 'another image is being installed')
  }
  const { port } = await serve(t, { routes: [take({ maxBytes: 512 * MIB }, handle)], clock: systemClock })
  const client = request({
    port,
    host: '127.0.0.1',
    path: '/api/take',
    method: 'POST',
    headers: { authorization: 'Bearer admin', 'content-length': 64 * MIB },
  })
  const answered = new Promise<{ statusCode?: number }>((resolve, reject) =>
    client.on('response', resolve).on('error', reject),
  )
  client.write(Buffer.alloc(16 * MIB))
  const reply = await answered
  t.equal(reply.statusCode, 503)
  client.on('error', () => {})
  client.destroy()
})

t.test('a body of any route that nobody reads does not keep its connection open for ever', async (t) => {
  const { port } = await serve(t, { routes: [take()], clock: systemClock, http: { request_timeout_ms: 200 } })
  for (const path of ['/api/none', '/api/%zz', '/api/take']) {
    const { bare, heard } = bareClient(port)
    bare.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`)
    // Also after its answer, which comes at once.
    const drip = setInterval(() => bare.write('x'), 20)
    t.match(await heard, /^HTTP\/1.1 4/, `${path}, and the connection has ended`)
    clearInterval(drip)
  }
})
