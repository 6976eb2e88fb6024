/** Tests of http/server.ts and http/errors.ts: clients that are slow, greedy or broken. */
import t from 'tap'
import { Type } from 'typebox'
import { systemClock } from '#kit/clock.ts'
import type { Route } from '../../http/route.ts'
import { bareClient } from './bare-client.ts'
import { serve } from './server-here.ts'

const hello: Route = { method: 'GET', path: '/api/hello', who: 'anyone', summary: 'Test', handle: () => ({}) }
const take: Route = { method: 'POST', path: '/api/take', who: 'anyone', summary: 'Test', handle: () => ({}) }
const routes = [hello, take]

/** Everything the server sends in answer to these bytes until it ends the connection. */
function say(port: number, bytes: string): Promise<string> {
  const { bare, heard } = bareClient(port)
  bare.write(bytes, 'latin1')
  return heard
}

/** Status line and error code of a bare reply. */
function refusalOf(reply: string): unknown[] {
  const [head = '', body = ''] = reply.split('\r\n\r\n')
  return [Number(head.split(' ')[1]), JSON.parse(body).error]
}

t.test('ends a client that does not send its head in time', async (t) => {
  const { port } = await serve(t, { routes, http: { headers_timeout_ms: 100, request_timeout_ms: 5000 } })
  t.same(refusalOf(await say(port, 'GET /api/hello HTTP/1.1\r\nHost: x\r\nX-Slow:')), [408, 'request_timeout'])
})

t.test('ends a client that sends its head drop by drop: the whole head counts', async (t) => {
  const { port } = await serve(t, { routes, http: { headers_timeout_ms: 100, request_timeout_ms: 5000 } })
  const { bare, drip, heard } = bareClient(port)
  bare.write('GET /api/hello HTTP/1.1\r\nX-Slow: ')
  drip(10)
  t.same(refusalOf(await heard), [408, 'request_timeout'])
})

t.test('ends a client that does not send its body in time', async (t) => {
  const { port } = await serve(t, {
    routes,
    clock: systemClock,
    http: { headers_timeout_ms: 100, request_timeout_ms: 100 },
  })
  const head = 'POST /api/take HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n'
  t.same(refusalOf(await say(port, `${head}{`)), [408, 'request_timeout'])
})

t.test('who is signed out while their body comes in changes nothing any more', async (t) => {
  let isSignedIn = true
  const known = Promise.withResolvers<void>()
  const handled: string[] = []
  const change: Route = { ...take, path: '/api/change', who: 'admin', handle: () => void handled.push('changed') }
  const { port } = await serve(t, {
    routes: [{ ...change, body: Type.Object({ a: Type.Integer() }) }],
    identify() {
      known.resolve()
      return { name: 'ada', role: 'admin' }
    },
    isStillSignedIn: () => isSignedIn,
  })
  const head = 'POST /api/change HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 7\r\n'
  const { bare, heard } = bareClient(port)
  bare.write(`${head}Connection: close\r\n\r\n{"a"`)
  await known.promise
  isSignedIn = false
  bare.write(':1}')
  t.same([refusalOf(await heard), handled], [[401, 'unauthorized'], []])
})

t.test('ends an idle connection', async (t) => {
  const { port } = await serve(t, { routes, http: { keep_alive_ms: 50 } })
  t.match(await say(port, 'GET /api/hello HTTP/1.1\r\nHost: x\r\n\r\n'), /^HTTP\/1\.1 200/)
})

t.test('refuses a head larger than allowed', async (t) => {
  const { port } = await serve(t, { routes, http: { header_bytes: 4096 } })
  const big = `GET /api/hello HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(5000)}\r\n\r\n`
  t.same(refusalOf(await say(port, big)), [431, 'head_too_large'])
})

t.test('answers bytes that are not HTTP with 400', async (t) => {
  const { port } = await serve(t, { routes })
  for (const bytes of [
    'hello\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01',
    'GET / HTTP/9.9\r\n\r\n',
    'GET /\x00 HTTP/1.1\r\n\r\n',
  ])
    t.same(refusalOf(await say(port, bytes)), [400, 'bad_http'])
})

t.test('refuses two lengths in one request, which is how requests are smuggled', async (t) => {
  const { port } = await serve(t, { routes })
  const head = 'POST /api/take HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n'
  t.same(refusalOf(await say(port, `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)), [400, 'bad_http'])
  t.same(refusalOf(await say(port, `${head}Content-Length: 3\r\n\r\n{} `)), [400, 'bad_http'])
})

t.test('lets requests under way end when it closes, but not for ever', async (t) => {
  const started = Promise.withResolvers<void>()
  const never: Route = {
    ...hello,
    handle: () => {
      started.resolve()
      return new Promise(() => {})
    },
  }
  const { fakeClock } = await import('#kit/clock-fake.ts')
  const clock = fakeClock()
  const { ask, server } = await serve(t, { routes: [never], clock })
  const cut = t.rejects(ask('/api/hello'))
  await started.promise
  const closed = server.close()
  await clock.run(2000)
  await Promise.all([closed, cut])
})
