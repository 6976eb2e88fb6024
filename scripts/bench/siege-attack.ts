/**
 * All attacks at once against the daemons started by a siege (siege.ts): a separate process at lower priority, since
 * real attackers have their own machines. Each attack has its own address in 127.0.0.0/8.
 *
 *     node scripts/bench/siege-attack.ts TARGETS-AS-JSON
 *
 * Ends on SIGTERM, and prints its counts as JSON.
 */
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SiegeTargets } from './siege.ts'

const NICE = 10
/** Connections per daemon that send half a request, all from one address. */
const HALF_OPEN = 300
const HALF_OPEN_FROM = '127.0.0.67'
/** Connections per daemon that send requests and never read, all from one address. */
const UNREAD = 200
const UNREAD_FROM = '127.0.0.68'
/** Pipelined requests on each of them. */
const UNREAD_REQUESTS = 20
/** Concurrent clients of a raw port: each sends this much, leaves, and reconnects. */
const FLOODERS = 8
const FLOOD_FROM = '127.0.0.66'
const FLOOD_BYTES = 150_000
const FLOOD_STAY_MS = 200
const FLOOD_REST_MS = 50
/** Password guessers per daemon, each with its own address. */
const GUESSERS = 12
const GUESS_FROM = 70
const GUESS_REST_MS = 50
const GUESS_MS = 30_000
/**
 * A client that never reads does not notice that it was closed, so it reconnects after this time, which is longer than
 * it is tolerated.
 */
const UNREAD_MS = 25_000
/** A refused client reconnects after this time. */
const AGAIN_MS = 500

const tally: Record<string, number> = {}
const count = (what: string) => {
  tally[what] = (tally[what] ?? 0) + 1
}

interface Attack {
  name: string
  url: string
  from: string
  /** Data sent first. */
  first: string
  /** Time without reading; if omitted it reads everything. */
  unreadMs?: number
}

/** Reopens a connection that is closed or refused. */
function besiege(attack: Attack): void {
  const { name, url, from, first, unreadMs } = attack
  const { hostname, port } = new URL(url)
  const socket: Socket = connect({ host: hostname, port: Number(port), localAddress: from })
  if (unreadMs === undefined) socket.resume()
  else setTimeout(() => socket.destroy(), unreadMs)
  socket.on('connect', () => {
    count(`${name}: connections`)
    socket.write(first)
  })
  socket.on('error', () => count(`${name}: broken off`))
  socket.on('close', () => void sleep(AGAIN_MS).then(() => besiege(attack)))
}

async function flood(port: number): Promise<never> {
  const bytes = Buffer.alloc(FLOOD_BYTES, 'x')
  for (;;) {
    const socket = connect({ host: '127.0.0.1', port, localAddress: FLOOD_FROM })
    socket.on('error', () => count('raw flood: broken off'))
    socket.on('connect', () => {
      count('raw flood: clients')
      socket.write(bytes)
    })
    await sleep(FLOOD_STAY_MS)
    socket.destroy()
    await sleep(FLOOD_REST_MS)
  }
}

/** Tries a wrong password each time: with each request at the board, elsewhere at sign-in. */
function guess(url: string, path: string, from: string): Promise<number> {
  const isBoard = path === '/api/status'
  const body = isBoard ? '' : JSON.stringify({ username: 'olga', password: `wrong ${Math.random()}` })
  const headers = isBoard
    ? { authorization: `Basic ${Buffer.from(`admin:wrong ${Math.random()}`).toString('base64')}` }
    : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve) => {
    const options = { method: isBoard ? 'GET' : 'POST', localAddress: from, agent: false, headers, timeout: GUESS_MS }
    const request = httpRequest(url + path, options, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('timeout', () => request.destroy()).on('error', () => resolve(0))
    request.end(body)
  })
}

async function guessOn(name: string, url: string, path: string, from: string): Promise<never> {
  for (;;) {
    count(`${name}: guesses answered ${await guess(url, path, from)}`)
    await sleep(GUESS_REST_MS)
  }
}

function attack({ gateway, controller, board, rawPorts, gatewayToken, controllerToken }: SiegeTargets): void {
  const half = 'GET /api/status HTTP/1.1\r\nhost: 127.0.0.1\r\nx-half: '
  for (const [name, url] of Object.entries({ gateway, controller, board }))
    for (let at = 0; at < HALF_OPEN; at++)
      besiege({ name: `${name}, half-open`, url, from: HALF_OPEN_FROM, first: half })
  const asking = (path: string, token: string) =>
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`.repeat(UNREAD_REQUESTS)
  const unread = {
    gateway: [gateway, asking('/api/templates/modbus', gatewayToken)],
    controller: [controller, asking('/api/data/zone?_limit=10000', controllerToken)],
    board: [board, asking('/usbip.sh', 'nobody')],
  }
  for (const [name, [url = '', first = '']] of Object.entries(unread))
    for (let at = 0; at < UNREAD; at++)
      besiege({ name: `${name}, unread`, url, from: UNREAD_FROM, first, unreadMs: UNREAD_MS })
  for (const port of rawPorts) for (let at = 0; at < FLOODERS; at++) void flood(port)
  for (let at = 0; at < GUESSERS; at++) {
    const from = `127.0.0.${GUESS_FROM + at}`
    void guessOn('gateway', gateway, '/api/login', from)
    void guessOn('controller', controller, '/api/token', from)
    void guessOn('board', board, '/api/status', from)
  }
}

setPriority(NICE)
attack(JSON.parse(process.argv[2] ?? '{}'))
process.once('SIGTERM', () => {
  console.log(JSON.stringify(tally))
  process.exit(0)
})
