/** HTTPS on the server of every daemon: handshakes and their bounds, redirects, renewal under open connections. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { createMetrics } from '#kit/http/metrics.ts'
import { route } from '#kit/http/route.ts'
import { createLog, silentLog } from '#kit/log.ts'
import { type OwnAuthority, openOwnAuthority } from '#kit/net/own-authority.ts'
import { until } from '#kit/test/until.ts'
import { echo, serve } from './server-here.ts'

const keys = {
  tls: true,
  tls_handshake_ms: 5000,
  tls_handshakes: 8,
  tls_handshakes_per_address: 4,
  tls_check_ms: 60_000,
}

/** More than TLS and TCP take at once. */
const LARGE = 3_000_000
const large = route({
  method: 'GET',
  path: '/api/large',
  who: 'anyone',
  summary: 'A long answer',
  reply: Type.String(),
  handle: () => 'x'.repeat(LARGE),
})

type Serving = Parameters<typeof serve>[1]

async function secure(t: Test, { limits = {}, ...more }: Serving & { limits?: Partial<typeof keys> } = {}) {
  // Those who look at the certificate go by the clock on the wall.
  const clock = fakeClock(Date.now())
  const machine = { names: ['box'], addresses: [] as string[] }
  const authority = await openOwnAuthority({
    ...{ folder: t.testdir({}), clock, log: silentLog, product: 'Test' },
    machine: () => machine,
  })
  await authority.renew()
  const metrics = createMetrics({ process: false })
  const server = await serve(t, {
    ...{ clock, metrics, routes: [echo, large] },
    tls: { identity: () => authority.identity(), config: { ...keys, ...limits } },
    ...more,
  })
  return { ...server, clock, authority, machine, metrics }
}

/** One request over TLS, checked against the root. */
async function ask(
  authority: OwnAuthority,
  url: string,
  options: { agent?: Agent; path?: string; body?: string } = {},
) {
  const { agent, path = '/api/openapi.json', body } = options
  const headers = { authorization: 'Bearer admin', ...(body ? { 'content-type': 'application/json' } : {}) }
  const request = httpsRequest(url + path, {
    ...{ ca: authority.rootCertificate(), headers, method: body ? 'POST' : 'GET' },
    ...(agent ? { agent } : { agent: false }),
  })
  request.end(body)
  const [response] = await once(request, 'response')
  const socket = response.socket as TLSSocket
  const shown = socket.getPeerCertificate()
  let text = ''
  for await (const piece of response) text += piece
  return { status: response.statusCode as number, text, socket, shown }
}

/** Resolves when it has ended, however that came. */
function closed(socket: Socket): Promise<void> {
  return new Promise(
    (resolve) =>
      void socket
        .on('error', () => {})
        .resume()
        .once('close', resolve),
  )
}

/** What comes back for raw bytes, until the server ends it. */
async function raw(port: number, ...parts: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (bytes) => (text += bytes))
  for (const part of parts) {
    socket.write(part)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await closed(socket)
  return text
}

const counted = async (metrics: ReturnType<typeof createMetrics>, end: string) =>
  Number(new RegExp(`http_tls_handshakes_total\\{end="${end}"\\} (\\d+)`).exec(await metrics.text())?.[1])

t.test('requests, bodies and long answers go over TLS that the root vouches for', async (t) => {
  const { authority, url, metrics } = await secure(t)
  t.match(url, /^https:/)
  t.equal((await ask(authority, url)).status, 200)
  const path = '/api/ports/x/echo'
  const posted = await ask(authority, url, { path, body: '{"unitId": 7}' })
  t.match(JSON.parse(posted.text), { body: { unitId: 7, on: true } })
  t.equal((await ask(authority, url, { path: '/api/large' })).text.length, LARGE + 2)
  t.equal(await counted(metrics, 'done'), 3)
})

t.test('TLS 1.2 and 1.3 are spoken, older ones are refused', async (t) => {
  const { authority, port } = await secure(t)
  const ca = authority.rootCertificate()
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = connectTls({ port, host: '127.0.0.1', ca, minVersion: version, maxVersion: version })
    await once(socket, 'secureConnect')
    t.equal(socket.getProtocol(), version)
    socket.destroy()
  }
  const old = connectTls({
    port,
    host: '127.0.0.1',
    ca,
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'ALL:@SECLEVEL=0',
  })
  await t.rejects(once(old, 'secureConnect'))
})

t.test('a plain request is redirected to the same port, with its method and its query', async (t) => {
  const { port } = await secure(t)
  const head = (first: string, host: string) => `${first}\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
  const said = await raw(port, head('GET /api/status?a=%20b HTTP/1.1', `127.0.0.1:${port}`))
  t.match(said, /^HTTP\/1\.1 308 /)
  t.match(said, `location: https://127.0.0.1:${port}/api/status?a=%20b\r\n`)
  t.match(said, /cache-control: no-store/)
  t.notMatch(said, /strict-transport-security/i)
  t.match(await raw(port, head('DELETE /x HTTP/1.1', 'box')), 'location: https://box:80/x\r\n', 'as it was reached')
  t.match(await raw(port, 'GET /x HTTP/1.0\r\n\r\n'), `location: https://127.0.0.1:${port}/x\r\n`)
  t.match(await raw(port, ...head('GET /y HTTP/1.1', 'box').split('')), /^HTTP\/1\.1 308 /, 'byte by byte')
  t.match(await raw(port, head('GET http://other.example/z HTTP/1.1', 'box')), 'location: https://other.example:80/z')
})

t.test('a plain request with a body is redirected too, and its connection can be used again', async (t) => {
  const { port } = await secure(t)
  const body = 'x'.repeat(20_000)
  const post = `POST /api/login HTTP/1.1\r\nHost: box\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const last = 'GET / HTTP/1.1\r\nHost: box\r\nConnection: close\r\n\r\n'
  t.equal((await raw(port, post, last)).match(/HTTP\/1\.1 308 /g)?.length, 2)
})

t.test('a plain request for a host that this server does not go by is refused, not redirected', async (t) => {
  const { port } = await secure(t, { http: { hosts: ['box'] } })
  const said = await raw(port, 'GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')
  t.match(said, /^HTTP\/1\.1 403 /)
  t.match(said, 'foreign_host')
  t.notMatch(said, /location/i)
})

t.test('who sends a token without TLS is told to the log, without the token', async (t) => {
  const written: string[] = []
  const log = createLog({ level: 'debug', stream: { write: (line) => void written.push(line) } })
  const { port } = await secure(t, { log })
  const ask = 'GET / HTTP/1.1\r\nHost: box\r\nAuthorization: Bearer hush-hush\r\nConnection: close\r\n\r\n'
  await raw(port, ask)
  await raw(port, ask)
  const told = written.filter((line) => line.includes('credentials_unencrypted'))
  t.equal(told.length, 1, 'once a minute')
  t.notOk(written.some((line) => line.includes('hush-hush')))
})

t.test('no WebSocket is opened without TLS', async (t) => {
  const { port } = await secure(t, {
    sockets: [{ path: '/ws', who: 'anyone', summary: 'Never opened', open: () => t.fail('it was opened') }],
  })
  const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
  const said = await raw(
    port,
    `GET /ws HTTP/1.1\r\nHost: box\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n${key}\r\n`,
  )
  t.match(said, /^HTTP\/1\.1 308 /)
})

t.test('a renewed certificate holds from the next connection on, and those that are open go on', async (t) => {
  const { authority, url, machine } = await secure(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const first = await ask(authority, url, { agent })
  machine.addresses = ['192.0.2.77']
  await authority.renew()
  const again = await ask(authority, url, { agent })
  t.equal(again.status, 200)
  t.equal(again.socket, first.socket, 'the same connection')
  const other = await ask(authority, url)
  t.not(other.shown.fingerprint256, first.shown.fingerprint256)
  t.match(other.shown.subjectaltname, /192\.0\.2\.77/)
})

t.test('who does not shake hands in time is ended, and others are served meanwhile', async (t) => {
  const { authority, clock, port, url, metrics } = await secure(t)
  const silent = connect(port, '127.0.0.1')
  const half = connect(port, '127.0.0.1')
  half.write(Buffer.from([0x16, 3, 1, 2, 0, 1]))
  await Promise.all([once(silent, 'connect'), once(half, 'connect')])
  t.equal((await ask(authority, url)).status, 200)
  await advanceUntilEnded(clock, [silent, half])
  t.equal(await counted(metrics, 'late'), 2)
})

async function advanceUntilEnded(clock: FakeClock, sockets: Socket[]): Promise<void> {
  const ended = Promise.all(sockets.map(closed))
  clock.advance(keys.tls_handshake_ms)
  await ended
}

t.test('one address has only so many handshakes under way: its oldest makes room', async (t) => {
  const { authority, port, url, metrics } = await secure(t)
  const sockets: Socket[] = []
  let ended = 0
  for (let i = 0; i < 12; i++) {
    const socket = connect(port, '127.0.0.1')
    socket
      .on('error', () => {})
      .on('close', () => ended++)
      .resume()
    await once(socket, 'connect')
    socket.write(Buffer.from([0x16, 3, 1]))
    sockets.push(socket)
  }
  t.teardown(() => sockets.map((socket) => socket.destroy()))
  await until('the oldest ones ended', () => ended === 8)
  t.equal(await counted(metrics, 'crowded'), 8)
  t.equal((await ask(authority, url)).status, 200)
})

t.test('garbage behind the first byte of a handshake is counted, and told with its reason', async (t) => {
  const written: string[] = []
  const log = createLog({ level: 'debug', stream: { write: (line) => void written.push(line) } })
  const { port, metrics, authority, url } = await secure(t, { log })
  const garbage = connect(port, '127.0.0.1')
  garbage.write(Buffer.concat([Buffer.from([0x16, 3, 1, 0, 200, 1, 0, 0, 196]), Buffer.alloc(196, 0xee)]))
  await closed(garbage)
  await until('it is counted', async () => (await counted(metrics, 'failed')) === 1)
  t.match(written.join(''), /tls_handshakes_failed times=1 last="length mismatch" for=127\.0\.0\.1/)
  t.equal((await ask(authority, url)).status, 200)
})

t.test('a client of TLS 1.2 may not negotiate anew on a connection that is open', async (t) => {
  const { authority, port, url } = await secure(t)
  const ca = authority.rootCertificate()
  const socket = connectTls({ port, host: '127.0.0.1', ca, maxVersion: 'TLSv1.2' })
  await once(socket, 'secureConnect')
  const why = await new Promise<Error | null>((resolve) => {
    socket.on('error', resolve)
    socket.renegotiate({}, resolve)
  })
  t.match(why?.message, /no.renegotiation/i)
  socket.destroy()
  t.equal((await ask(authority, url)).status, 200)
})

/** Has the keys of one connection changed, which Node cannot; ends with the connection. @returns how often it was done */
async function rekey(port: number, times: number): Promise<number> {
  const client = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, '-tls1_3', '-brief'])
  let [said, done] = ['', 0]
  client.stdin.on('error', () => {})
  client.stderr.on('data', (text) => {
    said += String(text)
    const heard = said.match(/^(?:CONNECTION ESTABLISHED|KEYUPDATE)$/gm)?.length ?? 0
    if (heard <= done) return
    done = heard
    // It takes one command for each time that it reads.
    if (done <= times) client.stdin.write('k\n')
    else client.kill()
  })
  await once(client, 'close')
  return done - 1
}

t.test(
  'a client that has its keys changed again and again is ended, since that costs more than anything else',
  async (t) => {
    const { authority, metrics, port, url } = await secure(t)
    t.equal(await rekey(port, 10), 10, 'some are no harm')
    t.equal(await counted(metrics, 'floods'), 0)
    t.ok((await rekey(port, 1000)) < 500)
    t.equal(await counted(metrics, 'floods'), 1)
    t.equal((await ask(authority, url)).status, 200)
  },
)

t.test('garbage on a connection that is encrypted already ends it', async (t) => {
  const { authority, port, url } = await secure(t)
  const wire = connect(port, '127.0.0.1')
  const socket = connectTls({ socket: wire, host: '127.0.0.1', ca: authority.rootCertificate() })
  await once(socket, 'secureConnect')
  socket.on('error', () => {})
  const ended = closed(wire)
  wire.write(Buffer.concat([Buffer.from([0x17, 3, 3, 0, 64]), Buffer.alloc(64, 0xee)]))
  await ended
  t.equal((await ask(authority, url)).status, 200)
})

t.test('a stream of TLS that nobody reads is counted with the answers that wait', async (t) => {
  const { authority, port, metrics } = await secure(t)
  const socket = connectTls({ port, host: '127.0.0.1', ca: authority.rootCertificate() })
  await once(socket, 'secureConnect')
  socket.pause()
  socket.write('GET /api/large HTTP/1.1\r\nHost: box\r\n\r\n'.repeat(4))
  const waiting = async () => Number(/^plantroom_http_unsent_bytes (\d+)/m.exec(await metrics.text())?.[1])

  await until('answers wait', async () => (await waiting()) > 100_000)
  socket.destroy()
  await until('they are given up', async () => (await waiting()) === 0)
  t.pass('counted, and given up')
})

t.test('closing ends handshakes that are under way', async (t) => {
  const { port, server } = await secure(t)
  const half = connect(port, '127.0.0.1')
  await once(half, 'connect')
  half.write(Buffer.from([0x16]))
  const ended = closed(half)
  await server.close()
  await ended
  t.pass('ended')
})

t.test('without TLS nothing is asked of the certificate', async (t) => {
  const { url } = await serve(t)
  const request = httpRequest(`${url}/api/openapi.json`, { headers: { authorization: 'Bearer admin' } }).end()
  const [response] = await once(request, 'response')
  response.resume()
  t.equal(response.statusCode, 200)
})

t.test("what is answered without Node's HTTP is so once it is encrypted, and sent to HTTPS before", async (t) => {
  let plain = 0
  const asked = route({
    ...{ method: 'POST', path: '/ask', who: 'anyone', summary: 'Test', body: Type.Object({}) },
    isPlain: () => ++plain > 0,
    handle: () => ['told'],
  })
  const { authority, port } = await secure(t, { routes: [asked] })
  const request =
    'POST /ask HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'
  const clear = connect(port, '127.0.0.1')
  clear.write(request)
  const [redirect] = await once(clear, 'data')
  t.match(String(redirect), /^HTTP\/1.1 308 /)
  t.equal(plain, 0)
  clear.destroy()
  const stream = connectTls({
    port,
    host: '127.0.0.1',
    ca: authority.rootCertificate(),
    checkServerIdentity: () => undefined,
  })
  for (const count of [1, 2]) {
    stream.write(request)
    const [answer] = await once(stream, 'data')
    t.match(String(answer), /^HTTP\/1.1 200 OK\r\n[\s\S]*\["told"\]$/)
    t.equal(plain, count)
  }
  stream.destroy()
})
