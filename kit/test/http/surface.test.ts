/** Tests of http/surface.ts and http/admission.ts: a prefix that a daemon answers on its own, within the limits of the server. */
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createMetrics } from '../../http/metrics.ts'
import type { Route } from '../../http/route.ts'
import type { Surface, SurfaceCall } from '../../http/surface.ts'
import { until } from '../until.ts'
import { bareClient } from './bare-client.ts'
import { serve } from './server-here.ts'

const hello: Route = { method: 'GET', path: '/hello', who: 'anyone', summary: 'Test', handle: () => ({ hello: true }) }

/** A surface that returns what it was asked, with the body if `handle` reads it. */
function telling(more: Partial<Surface> = {}): Surface {
  return {
    prefix: '/api',
    bodyBytes: 100,
    async handle({ method, path, query, peer, body }) {
      const read = method === 'POST' ? await body() : { kind: 'none' as const }
      const size = read.kind === 'whole' ? read.bytes.length : undefined
      return { status: 200, text: JSON.stringify({ method, path, query, peer, kind: read.kind, size }) }
    },
    ...more,
  }
}

/** Without fetch, which would repair the path. */
function send(port: number, ask: { method?: string; path: string; headers?: Record<string, string>; body?: string }) {
  const { method = 'GET', path, headers = {}, body } = ask
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
    const outgoing = request({ port, method, path, headers, agent: false }, (reply) => {
      text(reply).then((body) => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body }), reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

t.test('answers the prefix and everything below it, and leaves the rest to the routes', async (t) => {
  const { port } = await serve(t, { routes: [hello], surface: telling() })
  for (const path of ['/api', '/api/', '/api/x/y', '/api?z', '/api/%zz', '/api/..'])
    t.match(JSON.parse((await send(port, { path })).body), { path: path.split('?')[0] })
  t.same(JSON.parse((await send(port, { path: '/hello' })).body), { hello: true })
  for (const path of ['/apix', '/API/x', '//api/x', '/hello/api'])
    t.equal((await send(port, { path })).status, 404, path)
})

t.test('is asked for every method that HTTP servers know', async (t) => {
  const { port } = await serve(t, { surface: telling() })
  for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH'])
    t.equal(JSON.parse((await send(port, { method, path: '/api/x' })).body).method, method)
})

t.test('gives path and query as they were sent, separately', async (t) => {
  const { port } = await serve(t, { surface: telling() })
  const { body } = await send(port, { path: '/api/K%C3%BCche%2F//.?name=K%C3%BCche&x=?y' })
  t.match(JSON.parse(body), { path: '/api/K%C3%BCche%2F//.', query: 'name=K%C3%BCche&x=?y', peer: '127.0.0.1' })
})

t.test('does not get a request that is not HTTP: characters beyond ASCII in the first line', async (t) => {
  const { port } = await serve(t, { surface: telling() })
  for (const path of ['/api/Küche', '/api/x?name=Küche']) {
    const { bare, heard } = bareClient(port)
    bare.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    t.match(await heard, /^HTTP\/1\.1 400 .*bad_http/s)
  }
})

t.test('answers a HEAD with only the headers of the GET', async (t) => {
  const { port } = await serve(t, { surface: telling() })
  const got = await send(port, { method: 'HEAD', path: '/api/x' })
  t.same([got.status, got.body], [200, ''])
  t.ok(Number(got.headers['content-length']) > 10)
})

t.test('gives its answers the common headers and its own', async (t) => {
  const handle = async () => ({ status: 405, headers: { allow: 'POST' }, text: '{}' })
  const { port } = await serve(t, { surface: telling({ handle }), headers: { 'x-box': 'attic' } })
  const { headers, status } = await send(port, { path: '/api/x' })
  t.equal(status, 405)
  t.match(headers, {
    allow: 'POST',
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    'x-box': 'attic',
    'x-content-type-options': 'nosniff',
  })
})

t.test('reads a body up to its limit and not a byte more, with and without a length', async (t) => {
  const { port } = await serve(t, { surface: telling() })
  const chunked = { 'transfer-encoding': 'chunked' }
  for (const headers of [{}, chunked] as Record<string, string>[])
    for (const [size, kind] of [
      [0, 'whole'],
      [1, 'whole'],
      [100, 'whole'],
      [101, 'too_large'],
      [1_000_000, 'too_large'],
    ] as const) {
      const got = await send(port, { method: 'POST', path: '/api/x', headers, body: 'x'.repeat(size) })
      t.match(JSON.parse(got.body), { kind }, `${size} bytes ${JSON.stringify(headers)}`)
    }
})

t.test('keeps a body complete that comes in chunks of one byte', async (t) => {
  const seen = Promise.withResolvers<string>()
  const handle = async ({ body }: SurfaceCall) => {
    const read = await body()
    seen.resolve(read.kind === 'whole' ? read.bytes.toString() : read.kind)
    return { status: 200, text: '{}' }
  }
  const { port } = await serve(t, { surface: telling({ bodyBytes: 5000, handle }) })
  const { bare, answered } = bareClient(port)
  const sent = Array.from({ length: 5000 }, (_, i) => String(i % 10))
  const chunks = sent.map((digit) => `1\r\n${digit}\r\n`).join('')
  bare.write(`POST /api/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`)
  await answered
  bare.destroy()
  t.equal(await seen.promise, sent.join(''))
})

t.test('skips a body that is not read, and the connection serves the next request', async (t) => {
  const handle = async ({ path }: SurfaceCall) => ({ status: 200, text: JSON.stringify({ path }) })
  const { port } = await serve(t, { surface: telling({ handle }) })
  const { bare, heard } = bareClient(port)
  bare.write(`POST /api/one HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`)
  bare.write('GET /api/two HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  t.same(
    [...(await heard).matchAll(/"path":"([^"]*)"/g)].map(([, path]) => path),
    ['/api/one', '/api/two'],
  )
})

t.test('reports a body that was broken off, and one that was too slow', async (t) => {
  const kinds: string[] = []
  const told = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const handle = async ({ body }: SurfaceCall) => {
    told[kinds.push((await body()).kind) - 1]?.resolve()
    return { status: 400, text: '{}' }
  }
  const http = { request_timeout_ms: 100 }
  const { port } = await serve(t, { surface: telling({ handle }), clock: systemClock, http })
  const head = 'POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{'
  const first = bareClient(port)
  first.bare.write(head, () => setTimeout(() => first.bare.destroy(), 20))
  await told[0]?.promise
  const second = bareClient(port)
  second.bare.write(head)
  t.match(await second.heard, /^HTTP\/1\.1 408 .*request_timeout/s)
  await told[1]?.promise
  t.same(kinds, ['cut', 'late'])
})

t.test('keeps the limits of the server: hosts, duplicate headers, size of heads', async (t) => {
  const refused: unknown[] = []
  const onRefused: Surface['onRefused'] = ({ method, path }, status) => refused.push([method, path, status])
  const http = { hosts: ['box.local'], header_bytes: 4096 }
  const { port } = await serve(t, { surface: telling({ onRefused }), http })
  const foreign = await send(port, { path: '/api/x?secret', headers: { host: 'evil.example' } })
  t.same([foreign.status, JSON.parse(foreign.body).error], [403, 'foreign_host'])
  t.equal(foreign.headers['x-content-type-options'], 'nosniff')
  t.equal((await send(port, { path: '/api/x', headers: { host: 'box.local' } })).status, 200)
  const say = async (lines: string) => {
    const { bare, answered } = bareClient(port)
    bare.write(`GET /api/x HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n\r\n`)
    const got = await answered
    bare.destroy()
    return Number(got.split(' ')[1])
  }
  t.equal(await say('Authorization: Bearer a\r\nAuthorization: Bearer b'), 400)
  t.equal(await say(`X-Big: ${'x'.repeat(5000)}`), 431)
  t.same(refused, [
    ['GET', '/api/x', 403],
    ['GET', '/api/x', 400],
  ])
})

t.test('uses the host in the first line, if there is one, as the host of the request', async (t) => {
  const { port } = await serve(t, { surface: telling(), http: { hosts: ['box.local'] } })
  const say = async (url: string) => {
    const { bare, answered } = bareClient(port)
    bare.write(`GET ${url} HTTP/1.1\r\nHost: box.local\r\n\r\n`)
    const got = await answered
    bare.destroy()
    return [Number(got.split(' ')[1]), JSON.parse(got.split('\r\n\r\n')[1] ?? '').path]
  }
  t.same(await say('http://box.local/api/x?y'), [200, '/api/x'])
  t.same(await say('http://evil.example/api/x'), [403, undefined])
})

t.test('lets pages of other sites change nothing if there is a rule for browsers', async (t) => {
  const browsers = { takesHost: () => true, takesOrigin: () => false }
  const { port } = await serve(t, { surface: telling(), browsers })
  const headers = { origin: 'http://evil.example' }
  t.equal((await send(port, { method: 'POST', path: '/api/x', headers })).status, 403)
  t.equal((await send(port, { method: 'GET', path: '/api/x', headers })).status, 200)
})

t.test('answers thrown errors like those of routes, and reveals nothing of unforeseen ones', async (t) => {
  const lines: string[] = []
  const log = createLog({ level: 'error', stream: { write: (line: string) => lines.push(line) } })
  const handle = async ({ path }: SurfaceCall) => {
    if (path === '/api/busy') throw new Fault('busy', 'too much to do', { details: { retryAfterMs: 1500 } })
    throw new Error('the secret is hunter2')
  }
  const { port } = await serve(t, { surface: telling({ handle }), log })
  const busy = await send(port, { path: '/api/busy' })
  t.same([busy.status, busy.headers['retry-after'], JSON.parse(busy.body).error], [503, '2', 'busy'])
  const broken = await send(port, { path: '/api/x' })
  t.equal(broken.status, 500)
  t.notMatch(broken.body, /hunter2/)
  t.match(lines.join(''), /hunter2/)
  t.match(lines.join(''), JSON.parse(broken.body).id)
})

t.test('answers requests of one connection in turn, holds a few, and closes one that sends too many', async (t) => {
  let under = 0
  let most = 0
  const handle = async ({ path }: SurfaceCall) => {
    most = Math.max(most, ++under)
    await new Promise((resolve) => setImmediate(resolve))
    under--
    return { status: 200, text: JSON.stringify({ path }) }
  }
  const { port } = await serve(t, { surface: telling({ handle }) })
  const ask = (count: number) => {
    const { bare, heard } = bareClient(port)
    bare.write(Array.from({ length: count }, (_, i) => `GET /api/${i} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
    return { bare, heard }
  }
  const few = ask(60)
  let said = ''
  few.bare.on('data', (data) => {
    said += data
    if (said.includes('/api/59')) few.bare.destroy()
  })
  const paths = [...(await few.heard).matchAll(/"path":"\/api\/(\d+)"/g)].map(([, i]) => Number(i))
  t.same(
    paths,
    Array.from({ length: 60 }, (_, i) => i),
  )
  t.equal(most, 1)
  t.notMatch(await ask(500).heard, '/api/100"')
})

t.test('is counted and logged under its prefix, with the path but without the query', async (t) => {
  const metrics = createMetrics({ process: false })
  const lines: string[] = []
  const log = createLog({ level: 'info', stream: { write: (line: string) => lines.push(line) } })
  const contacts: unknown[] = []
  const { port } = await serve(t, { surface: telling(), metrics, log, onAnswered: (contact) => contacts.push(contact) })
  await send(port, { method: 'PROPFIND', path: '/api/x?secret=1', headers: { 'user-agent': 'test' } })
  await until('it is told', () => contacts.length > 0)
  t.match(await metrics.text(), /http_request_duration_seconds_count{method="other",route="\/api\/\*",status="2xx"} 1/)
  t.match(lines.join(''), 'path=/api/x ')
  t.notMatch(lines.join(''), 'secret')
  t.match(contacts, [{ from: '127.0.0.1', at: '127.0.0.1', agent: 'test' }])
})

t.test('moves the description of the routes out of its way', async (t) => {
  const { port } = await serve(t, { surface: telling(), routes: [hello] })
  const got = await send(port, { path: '/openapi.json', headers: { authorization: 'Bearer viewer' } })
  t.same(Object.keys(JSON.parse(got.body).paths).sort(), ['/hello', '/metrics', '/openapi.json'])
})

t.test('ends connections with their next answer once the server closes', async (t) => {
  const started = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const handle = async () => {
    started.resolve()
    await go.promise
    return { status: 200, text: '{}' }
  }
  const { port, server } = await serve(t, { surface: telling({ handle }), clock: fakeClock() })
  const got = send(port, { path: '/api/x' })
  await started.promise
  const closed = server.close()
  await new Promise((resolve) => setImmediate(resolve))
  go.resolve()
  t.equal((await got).headers.connection, 'close')
  await closed
})
