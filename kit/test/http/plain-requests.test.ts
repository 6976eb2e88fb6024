/** Tests of http/plain-requests.ts: what is answered without Node's HTTP, and that nobody can tell. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { fakeClock } from '#kit/clock-fake.ts'
import type { HttpConfig } from '#kit/config/tables.ts'
import { isHostAllowed } from '#kit/net/address.ts'
import { Fault } from '#kit/pure/fault.ts'
import { until } from '#kit/test/until.ts'
import { createMetrics } from '../../http/metrics.ts'
import { Reply, route } from '../../http/route.ts'
import { serve } from './server-here.ts'

interface Options {
  isPlain?: boolean
  http?: Partial<HttpConfig>
  shareOf?: (address: string) => string | undefined
}

/** A server with such a route, or the same without it; `plain` counts what was answered without Node's HTTP. */
async function serving(t: Test, { isPlain = true, http = {}, shareOf = () => undefined }: Options = {}) {
  const state = { plain: 0 }
  const ask = route({
    method: 'POST',
    path: '/ask',
    who: 'anyone',
    summary: 'Test',
    body: Type.Object(
      { say: Type.String({ maxLength: 40 }), many: Type.Integer({ default: 1, minimum: 0 }) },
      { additionalProperties: false },
    ),
    faultsBeside: () => [{ field: 'beside', message: 'is told too' }],
    handle({ body: { many, say }, headers, params, query, remoteAddress }) {
      if (say === 'fault') throw new Fault('slow_down', 'too ö many', { details: { retryAfterMs: 2500 } })
      if (say === 'who') throw new Fault('unauthorized', 'nobody')
      if (say === 'long') return say.repeat(50_000)
      if (say === 'reply') return new Reply(202, [say], { 'x-own': 'yes' })
      const id = headers['x-svc-installation-id'] ?? null
      const answer = { say, many, id, params, query, remoteAddress, agent: headers['user-agent'] ?? null }
      return say === 'later' ? Promise.resolve(answer) : answer
    },
    ...(isPlain && {
      isPlain: ({ say }: { say: string }) => {
        if (say !== 'later') state.plain++
        return say !== 'later'
      },
    }),
  })
  const metrics = createMetrics({ process: false })
  const clock = fakeClock()
  const takesHost = (host: string | undefined) => isHostAllowed(host, ['box.example'])
  const browsers = { takesHost, takesOrigin: () => false }
  const here = await serve(t, { routes: [ask], faultStatus: {}, browsers, metrics, clock, shareOf, http })
  return { ...here, clock, metrics, state }
}

const usual = ['host: 127.0.0.1', 'content-type: application/json']

function requestOf(body: string, fields: readonly string[] = usual, first = 'POST /ask HTTP/1.1'): string {
  const length = `content-length: ${Buffer.byteLength(body)}`
  return `${[first, ...fields, length].join('\r\n')}\r\n\r\n${body}`
}

const hello = '{"say":"hello"}'

/** What is sent, in parts; `many`: how many of the answers come without Node's HTTP. */
const cases: Record<string, { parts: string[]; many?: number }> = {
  'a plain question': { parts: [requestOf(hello)], many: 1 },
  'one after the other': { parts: [requestOf(hello), requestOf('{"say":"a","many":2}')], many: 2 },
  'fields that programs send': {
    parts: [
      requestOf(hello, [
        ...['Host: 127.0.0.1:3131', 'Connection: keep-alive', 'Content-Type: application/json; charset=utf-8'],
        ...['X-Svc-Installation-Id: ab', 'User-Agent: some/1 (x)', 'accept: */*', 'accept-language:*'],
        ...['sec-fetch-mode: cors', 'accept-encoding: gzip, deflate'],
      ]),
    ],
    many: 1,
  },
  'a host that is served': { parts: [requestOf(hello, ['host: box.example', ...usual.slice(1)])], many: 1 },
  'a fault with its headers': { parts: [requestOf('{"say":"fault"}')], many: 1 },
  'a fault with a challenge': { parts: [requestOf('{"say":"who"}')], many: 1 },
  'a reply with status and headers': { parts: [requestOf('{"say":"reply"}')], many: 1 },
  'letters that are not ASCII': { parts: [requestOf('{"say":"hällo ☃"}')], many: 1 },
  'fields that are wrong': { parts: [requestOf('{"say":7,"more":1}')] },
  'a body that is none': { parts: [requestOf('{"say":')] },
  'a name that stands twice': { parts: [requestOf('{"say":"a","say":"b"}')] },
  'bytes that are no UTF-8': { parts: [`${requestOf('{"say":"xx"}').slice(0, -4)}\xff\xfe"}`] },
  'a list': { parts: [requestOf('[]')] },
  'an answer that comes later': { parts: [requestOf('{"say":"later"}')] },
  'plain after later': { parts: [requestOf('{"say":"later"}'), requestOf(hello)] },
  'later after plain': { parts: [requestOf(hello), requestOf('{"say":"later"}')], many: 1 },
  'head and body apart': { parts: [requestOf(hello).slice(0, -hello.length), hello] },
  'byte by byte': { parts: [...requestOf(hello)] },
  'two at once': { parts: [requestOf(hello) + requestOf('{"say":"b"}')] },
  'one and a half': { parts: [requestOf(hello) + requestOf(hello).slice(0, 30), requestOf(hello).slice(30)] },
  'more bytes than were said': { parts: [`${requestOf(hello)}x`] },
  'no body': { parts: [`${['POST /ask HTTP/1.1', ...usual].join('\r\n')}\r\n\r\n`] },
  'an empty body': { parts: [requestOf('')] },
  'a body in chunks': {
    parts: [
      `${['POST /ask HTTP/1.1', ...usual, 'transfer-encoding: chunked'].join('\r\n')}\r\n\r\nf\r\n${hello}\r\n0\r\n\r\n`,
    ],
  },
  'chunks and a length': { parts: [requestOf(hello, [...usual, 'transfer-encoding: chunked'])] },
  'two lengths': { parts: [requestOf(hello, [...usual, 'content-length: 3'])] },
  'two hosts': { parts: [requestOf(hello, [...usual, 'host: 127.0.0.2'])] },
  'no host': { parts: [requestOf(hello, usual.slice(1))] },
  'a host that is not served': { parts: [requestOf(hello, ['host: evil.example', ...usual.slice(1)])] },
  'a page of another site': { parts: [requestOf(hello, [...usual, 'origin: http://evil.example'])] },
  'a page of its own': { parts: [requestOf(hello, [...usual, 'origin: http://127.0.0.1'])] },
  'a fetch by another site': { parts: [requestOf(hello, [...usual, 'sec-fetch-site: cross-site'])] },
  'a preflight': {
    parts: [
      'OPTIONS /ask HTTP/1.1\r\nhost: 127.0.0.1\r\norigin: http://a.b\r\naccess-control-request-method: POST\r\n\r\n',
    ],
  },
  'another type': { parts: [requestOf(hello, ['host: 127.0.0.1', 'content-type: text/plain'])] },
  'no type': { parts: [requestOf(hello, ['host: 127.0.0.1'])] },
  'another charset': {
    parts: [requestOf(hello, ['host: 127.0.0.1', 'content-type: application/json; charset=latin1'])],
  },
  'the last of its connection': { parts: [requestOf(hello, [...usual, 'connection: close'])] },
  'an upgrade': { parts: [requestOf(hello, [...usual, 'connection: upgrade', 'upgrade: h2c'])] },
  'what waits for 100': { parts: [requestOf(hello, [...usual, 'expect: 100-continue'])] },
  'HTTP/1.0': { parts: [requestOf(hello, usual, 'POST /ask HTTP/1.0')] },
  'another method': { parts: [requestOf(hello, usual, 'PUT /ask HTTP/1.1')] },
  'a GET': { parts: ['GET /ask HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'] },
  'another path': { parts: [requestOf(hello, usual, 'POST /asked HTTP/1.1')] },
  'a slash more': { parts: [requestOf(hello, usual, 'POST /ask/ HTTP/1.1')] },
  'a query': { parts: [requestOf(hello, usual, 'POST /ask?a=1 HTTP/1.1')] },
  'a whole address': { parts: [requestOf(hello, usual, 'POST http://127.0.0.1/ask HTTP/1.1')] },
  'a path that is encoded': { parts: [requestOf(hello, usual, 'POST /%61sk HTTP/1.1')] },
  'a field of two lines': { parts: [requestOf(hello, [...usual, 'user-agent: a\r\n b'])] },
  'a blank before the colon': { parts: [requestOf(hello, [...usual, 'user-agent : a'])] },
  'blanks around a value': { parts: [requestOf(hello, [...usual, 'user-agent:  a \t'])] },
  'an empty value': { parts: [requestOf(hello, [...usual, 'user-agent:'])] },
  'a sign that no value has': { parts: [requestOf(hello, [...usual, 'user-agent: a\x01b'])] },
  'letters above ASCII in a value': { parts: [requestOf(hello, [...usual, 'user-agent: \xe9'])] },
  'a line end alone': { parts: [requestOf(hello, [...usual, 'user-agent: a\nx: y'])] },
  'lines that end in LF': { parts: [requestOf(hello).replaceAll('\r\n', '\n')] },
  'an unknown field': { parts: [requestOf(hello, [...usual, 'x-other: 1'])] },
  'a length with a zero before it': {
    parts: [`POST /ask HTTP/1.1\r\n${usual.join('\r\n')}\r\ncontent-length: 015\r\n\r\n${hello}`],
  },
  'a length with a plus': {
    parts: [`POST /ask HTTP/1.1\r\n${usual.join('\r\n')}\r\ncontent-length: +15\r\n\r\n${hello}`],
  },
  'a long body': { parts: [requestOf(`{"say":"hello"${' '.repeat(5000)}}`)] },
  'a body that is too long': { parts: [requestOf(`{"say":"hello"${' '.repeat(70_000)}}`)] },
  'a TLS handshake': { parts: ['\x16\x03\x01\x02\x00\x01\x00'] },
  'an empty line first': { parts: [`\r\n${requestOf(hello)}`] },
  'no HTTP': { parts: ['hello\r\n\r\n'] },
}

/** All that is answered until the server closes, which our end makes it do; without the date. */
async function heardFor(port: number, parts: readonly string[]): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setNoDelay()
  let heard = ''
  socket.on('error', () => {}).on('data', (data) => (heard += data.toString('latin1')))
  const closed = once(socket, 'close').catch(() => {})
  for (const part of parts) {
    const before = heard
    socket.write(part, part.includes('\xff') || part.includes('\xe9') ? 'latin1' : 'utf8')
    // A part of a request is answered by nothing: time for it to be read by itself.
    if (parts.length > 1) await Promise.race([closed, answerOf(() => heard !== before)])
  }
  await Promise.race([closed, answerOf(() => heard !== '' && !/^HTTP\/1.1 100[^{]*$/.test(heard))])
  socket.end()
  await closed
  return heard.replaceAll(/\r\nDate: [^\r]*/g, '')
}

/** Some turns of the event loop, or until it is so. */
async function answerOf(isSo: () => boolean): Promise<void> {
  for (let turn = 0; turn < 200 && !isSo(); turn++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('whatever is sent is answered byte for byte as by the same route without it', async (t) => {
  const [own, other] = [await serving(t), await serving(t, { isPlain: false })]
  for (const [what, { many = 0, parts }] of Object.entries(cases)) {
    own.state.plain = 0
    const [heard, meant] = [await heardFor(own.port, parts), await heardFor(other.port, parts)]
    t.equal(heard, meant, what)
    t.equal(own.state.plain, many, `${what}: answered without Node's HTTP`)
  }
})

t.test('what was answered so is counted like any request', async (t) => {
  const { metrics, port, state } = await serving(t)
  await heardFor(port, [requestOf(hello), requestOf('{"say":"fault"}')])
  t.equal(state.plain, 2)
  const text = await metrics.text()
  for (const status of ['2xx', '4xx'])
    t.match(text, `http_request_duration_seconds_count{method="POST",route="/ask",status="${status}"} 1`)
})

t.test(
  'a connection that never asks is told that it is late, one that asked goes when it was idle long enough',
  async (t) => {
    const { clock, port } = await serving(t, { http: { headers_timeout_ms: 1000, keep_alive_ms: 3000 } })
    const [silent, asked] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
    let heard = ''
    silent.on('data', (data) => (heard += data))
    const closed = Promise.all([once(silent, 'close'), once(asked, 'close')])
    asked.write(requestOf(hello))
    await once(asked, 'data')
    await until('the silent one is ended', () => {
      clock.advance(250)
      return silent.closed
    })
    t.match(heard, /^HTTP\/1.1 408 Request Timeout\r\n/)
    t.match(heard, '"request_timeout"')
    asked.resume()
    await until('both are', () => {
      clock.advance(250)
      return asked.closed
    })
    await closed
  },
)

t.test('idle connections do not keep a server from closing', async (t) => {
  const { port, server } = await serving(t)
  const socket = connect(port, '127.0.0.1')
  socket.write(requestOf(hello))
  await once(socket, 'data')
  const closed = once(socket, 'close')
  await server.close()
  await closed
})

t.test('one that leaves in the middle of its answer harms nobody', async (t) => {
  const { ask, port } = await serving(t)
  for (let times = 0; times < 20; times++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(requestOf(hello))
    await once(socket, 'connect')
    if (times % 2) socket.resetAndDestroy()
    else socket.destroy()
  }
  t.equal((await ask('/ask', { method: 'POST', json: { say: 'a' } })).status, 200)
})

t.test('an address whose turn is over waits for the next one, and is answered then', async (t) => {
  const { clock, port, state } = await serving(t, { shareOf: (address) => address, http: { turn_ms: 1 } })
  const spend = () => clock.advance(2)
  const sockets = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const answers = sockets.map(async (socket) => {
    socket.on('data', spend)
    const [data] = await once(socket, 'data')
    return String(data)
  })
  for (const socket of sockets) socket.write(requestOf(hello))
  for (const answer of await Promise.all(answers)) t.match(answer, /^HTTP\/1.1 200/)
  t.ok(state.plain > 0)
  for (const socket of sockets) socket.destroy()
})

t.test('who does not read what was answered is held back by Node', async (t) => {
  const { port, state } = await serving(t)
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  let sent = 0
  await until('the kernel takes no more of the answers', async () => {
    socket.write(requestOf('{"say":"long"}'))
    sent++
    await answerOf(() => state.plain === sent)
    return state.plain < sent
  })
  t.ok(state.plain > 0)
  socket.destroy()
})
