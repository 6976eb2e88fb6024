import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { Type } from 'typebox'
import { fakeClock } from '#kit/clock-fake.ts'
import { withinFiles } from '#kit/http/admission.ts'
import { createMetrics } from '#kit/http/metrics.ts'
import type { Route } from '#kit/http/route.ts'
import { createLog } from '#kit/log.ts'
import { createShareOf } from '#kit/net/address.ts'
import { serverRows } from '../../pure/memory-plan.ts'
import { heldBytes, rowOf } from '../heap.ts'
import { until } from '../until.ts'
import { addressOf, askFromMany, holdHalfOpen } from './half-open.ts'
import { open, serve } from './server-here.ts'

const status: Route = { method: 'GET', path: '/api/status', who: 'anyone', summary: 'Test', handle: () => ({}) }

/** Connections that are held at once, and measured. */
const HELD = 100

/** A route whose answers wait until the test releases them. */
function held() {
  const waiting: (() => void)[] = []
  const handle = () => new Promise<object>((resolve) => waiting.push(() => resolve({})))
  const route: Route = { method: 'GET', path: '/api/held', who: 'anyone', summary: 'Test', handle }
  return { route, waiting }
}

/** A server with its counts and its log. */
async function guarded(t: Parameters<typeof serve>[0], options: Parameters<typeof serve>[1] = {}) {
  const metrics = createMetrics({ process: false })
  const clock = fakeClock()
  const lines: string[] = []
  const log = createLog({ level: 'warning', stream: { write: (line: string) => void lines.push(line) } })
  const server = await serve(t, { routes: [status], metrics, log, clock, ...options })
  const count = async (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await metrics.text())?.[1])
  return {
    ...server,
    clock,
    lines,
    evicted: () => count('plantroom_http_connections_evicted_total'),
    turnedAway: () => count('plantroom_http_connections_turned_away_total'),
  }
}

/** A bare connection from that address. */
async function come(t: Parameters<typeof serve>[0], port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

function get(url: string, localAddress: string, agent: Agent | false = false): Promise<number | undefined> {
  return new Promise((resolve) => {
    const asked = request(url, { localAddress, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode))
    })
    asked.on('error', () => resolve(undefined)).end()
  })
}

t.test('300 half-open requests of one address keep nobody else out; they are counted, and reported once', async (t) => {
  const { url, evicted, lines } = await guarded(t)
  const open = await holdHalfOpen(t, url, { times: 300, from: '127.0.0.9' })
  await until('connections beyond its share are closed', () => open() === 128)
  t.equal(await askFromMany(`${url}/api/status`, 294), 294)
  t.equal(await evicted(), 172)
  t.equal(lines.filter((line) => line.includes('connections_turned_away')).length, 1)
  t.match(lines.join(''), /for=127\.0\.0\.9 .*limitPerAddress=128/)
})

t.test(
  'if every place is taken the address with most makes room: half-open heads, then idle ones, then the rest',
  async (t) => {
    const { route, waiting } = held()
    const { url, port, clock, evicted } = await guarded(t, { routes: [status, route], http: { max_connections: 4 } })
    const asked = get(`${url}/api/held`, '127.0.0.9')
    await until('it is asked', () => waiting.length === 1)
    const agent = new Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    t.equal(await get(`${url}/api/status`, '127.0.0.9', agent), 200)
    clock.advance(10)
    const older = await come(t, port, '127.0.0.9')
    clock.advance(10)
    const newer = await come(t, port, '127.0.0.9')
    const gone = (socket: Socket) => once(socket, 'close')
    const left = Promise.all([gone(older), gone(newer)])
    for (const number of [1, 2, 3]) {
      await come(t, port, addressOf(number))
      await until('one has made room', async () => (await evicted()) === number)
    }
    await left
    await until('the one at rest went third', () => Object.keys(agent.freeSockets).length === 0)
    for (const answer of waiting) answer()
    t.equal(await asked, 200, 'the one that waited for its answer gets it')
  },
)

t.test('if all wait for an answer the next one is turned away, and counted', async (t) => {
  const { route, waiting } = held()
  const { url, evicted, turnedAway } = await guarded(t, { routes: [status, route], http: { max_connections: 2 } })
  const asked = [get(`${url}/api/held`, addressOf(1)), get(`${url}/api/held`, addressOf(2))]
  await until('both are asked', () => waiting.length === 2)
  t.equal(await get(`${url}/api/status`, addressOf(3)), undefined)
  t.same([await evicted(), await turnedAway()], [0, 1])
  for (const answer of waiting) answer()
  t.same(await Promise.all(asked), [200, 200])
  t.equal(await get(`${url}/api/status`, addressOf(3)), 200)
})

t.test('an address has its share and no more; a trusted one has no such limit', async (t) => {
  const { route, waiting } = held()
  const options = { routes: [status, route], http: { max_connections_per_address: 2 } }
  const { url } = await guarded(t, { ...options, shareOf: createShareOf(['127.0.0.8/29']) })
  const ask = (localAddress: string) => get(`${url}/api/held`, localAddress)
  const asked = [1, 2].map(() => ask('127.0.0.2'))
  await until('its share is taken', () => waiting.length === 2)
  t.equal(await get(`${url}/api/status`, '127.0.0.2'), undefined)
  const trusted = [1, 2, 3, 4].map(() => ask('127.0.0.9'))
  await until('all of the trusted are asked', () => waiting.length === 6)
  for (const answer of waiting) answer()
  t.same(new Set(await Promise.all([...asked, ...trusted])), new Set([200]))
})

t.test('a server on two addresses, such as localhost, has one common admission', async (t) => {
  const { server, turnedAway, evicted } = await guarded(t, { http: { max_connections: 1, listen: 'localhost:0' } })
  const { port } = server.address()
  const hosts = (await lookup('localhost', { all: true })).map(({ address }) => address)
  for (const host of [...hosts, ...hosts]) {
    const socket = connect({ host, port }).on('error', () => {})
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
  }
  const others = 2 * hosts.length - 1
  await until('all but one are gone', async () => (await evicted()) + (await turnedAway()) === others)
  t.ok(others > 0)
})

t.test(
  'connections leave the process files to open: the limit applies to them, and is reported with the remedy',
  async (t) => {
    const lines: unknown[] = []
    const log = { warning: (event: string, facts?: object) => void lines.push([event, facts]) }
    const config = { max_connections: 512 }
    t.equal(withinFiles(config, log, { limit: 1024, open: 30 }), config)
    t.same(withinFiles(config, log), config, 'as on this machine')
    t.same(lines, [])
    t.same(withinFiles(config, log, { limit: 64, open: 24 }), { max_connections: 20 })
    const remedy = 'raise LimitNOFILE (ulimit -n) to 664'
    t.same(lines, [['few files may be open', { limit: 64, connections: 20, remedy }]])
    t.same(withinFiles({ max_connections: 8 }, log, { limit: 64, open: 24 }), { max_connections: 8 })
  },
)

/** The memory of each of that many connections that have sent this, with its client, which is in this process too. */
async function heldBy(
  t: Parameters<typeof serve>[0],
  sent: string,
  { many = HELD, ...options }: Parameters<typeof serve>[1] & { many?: number } = {},
) {
  const { port } = await serve(t, { routes: [status, held().route, open(Type.Any())], ...options })
  async function comeWith(count: number): Promise<Socket[]> {
    const sockets: Socket[] = []
    for (let at = 0; at < count; at++) {
      const socket = await come(t, port, addressOf(at))
      sockets.push(socket)
      if (sent !== '') await new Promise((resolve) => socket.write(Buffer.from(sent), resolve))
    }
    // Sent data is read in the following turns.
    await new Promise((resolve) => setTimeout(resolve, 200))
    return sockets
  }
  for (const socket of await comeWith(many / 10)) socket.destroy()
  await new Promise((resolve) => setTimeout(resolve, 100))
  const before = await heldBytes()
  const sockets = await comeWith(many)
  const bytes = (await heldBytes()) - before
  for (const socket of sockets) socket.destroy()
  return bytes / many
}

t.test('connections at rest, with heads, and with bodies, take no more than their rows say', async (t) => {
  const settings = { 'http.max_connections': 1, 'http.header_bytes': 16_384, 'http.body_bytes': 65_536 }
  const rows = serverRows()
  const each = (...names: string[]) => names.reduce((sum, name) => sum + rowOf(rows, name, settings).allBytes, 0)
  const atRest = await heldBy(t, '')
  t.ok(atRest < each('HTTP connections'), `${atRest} bytes at rest`)
  const long = `X-Long: ${'x'.repeat(14_000)}\r\n`
  const http = { header_bytes: 16_384, body_bytes: 65_536, pipelined_max: 64 }
  // One is answered, and as many wait behind it as are allowed.
  const heads = `GET /api/held HTTP/1.1\r\nHost: x\r\n${long}\r\n`.repeat(5)
  const withHeads = await heldBy(t, heads, { http })
  t.ok(withHeads < each('HTTP connections', 'heads of requests'), `${withHeads} bytes with heads`)
  t.ok(withHeads > 14_000, 'they are held')
  const fields = Array.from({ length: 120 }, (_, at) => `${at.toString(36)}:\r\n`).join('')
  const withFields = await heldBy(t, `GET /api/held HTTP/1.1\r\nHost: x\r\n${fields}\r\n`.repeat(5), { http })
  t.ok(withFields < each('HTTP connections', 'heads of requests'), `${withFields} bytes with heads of many fields`)
  t.ok(withFields > 40_000, 'they are held')
  const head = `POST /api/open HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 65536\r\n\r\n`
  const withBodies = await heldBy(t, `${head}"${'x'.repeat(65_534)}`, { http })
  t.ok(
    withBodies < each('HTTP connections', 'heads of requests', 'bodies of requests'),
    `${withBodies} bytes with bodies`,
  )
  t.ok(withBodies > 65_536, 'they are held')
})

t.test('a body that comes in chunks of one byte takes no more than the row of bodies says', async (t) => {
  const http = { header_bytes: 16_384, body_bytes: 65_536 }
  const head = `POST /api/open HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  const bytes = await heldBy(t, head + '1\r\nx\r\n'.repeat(20_000), { http, many: 4 })
  const settings = { 'http.max_connections': 1, 'http.header_bytes': 16_384, 'http.body_bytes': 65_536 }
  const most = ['HTTP connections', 'bodies of requests'].map((name) => rowOf(serverRows(), name, settings).allBytes)
  t.ok(bytes < Math.max(...most) + Math.min(...most), `${bytes} bytes`)
  t.ok(bytes > 20_000, 'it is held')
})

t.test('a head of more fields than any client sends is refused, however short they are', async (t) => {
  const { ask } = await serve(t, { routes: [status] })
  const withFields = (many: number) => ({
    headers: Object.fromEntries(Array.from({ length: many }, (_, at) => [`x-${at}`, ''])),
  })
  t.equal((await ask('/api/status', withFields(100))).status, 200)
  const refused = await ask('/api/status', withFields(130))
  t.equal(refused.status, 431)
  t.match(await refused.json(), { error: 'head_too_large', message: /13\d header fields/ })
})
