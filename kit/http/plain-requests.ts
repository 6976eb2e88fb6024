/**
 * Answers the plainest requests of a busy route from what was read of their connection, without Node's HTTP and Fastify. All
 * others, and all that follow them on their connection, go the usual way: docs/decisions/http-server.md.
 */
import { type IncomingHttpHeaders, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import type { HttpConfig } from '../config/tables.ts'
import { plainAddress } from '../net/address.ts'
import type { Admission, Turns } from './admission.ts'
import type { CountAnswered } from './metrics.ts'
import type { Reply } from './route.ts'
import type { Unsent } from './unsent.ts'

/** A route as it is served here: the very checks and `handle` of the table's. */
export interface PlainRoute {
  path: string
  /** @returns undefined if the usual way is meant to answer; nothing was done then */
  answer(body: Uint8Array, head: PlainHead): Reply | undefined
}

export interface PlainHead {
  headers: IncomingHttpHeaders
  remoteAddress: string
}

interface PlainNeeds {
  config: Pick<HttpConfig, 'headers_timeout_ms' | 'keep_alive_ms' | 'header_bytes' | 'body_bytes'>
  clock: Clock
  routes: readonly PlainRoute[]
  admission: Pick<Admission, 'answeredAtOnce'>
  unsent: Pick<Unsent, 'check'>
  turns: Pick<Turns, 'isNow'>
  takesHost(host: string | undefined): boolean
  /** Of every answer, in the order of the usual way. */
  headers(): Readonly<Record<string, string>>
  /** Where a connection has to be encrypted, others are not answered. */
  mayAnswer(socket: Socket): boolean
  onLate(error: NodeJS.ErrnoException, socket: Socket): void
  onAnswered: CountAnswered
}

export interface PlainRequests {
  /** Call right after the server was made, before others listen to its events. */
  guard(server: Server): void
  /** Ends connections, all of which are idle. */
  close(): void
}

/** A request that is longer, or comes in several parts, goes the usual way. */
const MOST_BYTES = 4096

/** How often connections are looked at that ask nothing; Node's own are as often. */
const LOOK_MS = 1000

/** What Node adds to the time after which an idle connection is ended. @source lib/_http_server.js: keepAliveTimeoutBuffer */
const KEEP_ALIVE_MORE_MS = 1000

interface Idle {
  hasAsked: boolean
  sinceMs: number
}

export function createPlainRequests(needs: PlainNeeds): PlainRequests {
  const { clock, config } = needs
  const idle = new Map<Socket, Idle>()
  const answer = createAnswering(needs)

  const look = clock.every(Math.max(20, Math.min(LOOK_MS, config.headers_timeout_ms / 4)), () => {
    const nowMs = clock.monotonicMs()
    for (const [socket, { hasAsked, sinceMs }] of idle) {
      if (hasAsked && nowMs - sinceMs >= config.keep_alive_ms + KEEP_ALIVE_MORE_MS) socket.destroySoon()
      else if (!hasAsked && nowMs - sinceMs >= config.headers_timeout_ms)
        needs.onLate(Object.assign(new Error('request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket)
    }
  })

  function receive(socket: Socket, usual: (socket: Socket) => void): void {
    const remoteAddress = plainAddress(socket.remoteAddress)
    const state: Idle = { hasAsked: false, sinceMs: clock.monotonicMs() }
    idle.set(socket, state)
    function onData(chunk: Buffer): void {
      if (answer(socket, remoteAddress, chunk)) {
        state.hasAsked = true
        state.sinceMs = clock.monotonicMs()
      } else handOver(chunk)
    }
    function handOver(chunk: Buffer): void {
      onClose()
      socket.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
      socket.pause()
      socket.unshift(chunk)
      usual(socket)
      socket.resume()
    }
    const onEnd = () => void socket.end()
    const onError = () => {} // a client that left; `close` follows
    const onClose = () => void idle.delete(socket)
    socket.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  }

  return {
    guard(server) {
      const [usual] = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
      if (!usual) throw new TypeError('the server has no listener of its own for connections')
      server.removeListener('connection', usual)
      server.on('connection', (socket: Socket) => receive(socket, (handed) => usual.call(server, handed)))
    },
    close() {
      look.cancel()
      for (const socket of idle.keys()) socket.destroy()
    },
  }
}

/** @returns answers what was read of a connection; false if the usual way is to answer it */
function createAnswering(needs: PlainNeeds) {
  const { clock } = needs
  const readRequest = createRequestReader(needs.routes)
  const textOf = answerWriter(needs)
  return (socket: Socket, remoteAddress: string, chunk: Buffer): boolean => {
    // What its client has not read yet is Node's to hold back.
    if (socket.writableLength > 0 || !needs.mayAnswer(socket)) return false
    const request = readRequest(chunk)
    if (!request || !needs.takesHost(request.headers.host) || !needs.turns.isNow(socket)) return false
    const { body, headers, route } = request
    const asking = { method: 'POST', headers, socket }
    const beganMs = clock.monotonicMs()
    try {
      needs.unsent.check(asking)
    } catch {
      return false
    }
    const reply = route.answer(body, { headers, remoteAddress })
    if (!reply) return false
    const { coding, text } = textOf(reply)
    socket.write(text, coding)
    needs.admission.answeredAtOnce(socket)
    const tookMs = clock.monotonicMs() - beganMs
    const { path } = route
    needs.onAnswered(asking, { route: path, path, status: reply.status, tookMs })
    return true
  }
}

// Reading.

interface PlainRequest {
  route: PlainRoute
  headers: IncomingHttpHeaders
  body: Uint8Array
}

/**
 * Header fields that change nothing in how a request is answered, and those that a route looks at; each may come once. A
 * request with any other is not plain.
 */
const FIELDS: ReadonlySet<string> = new Set([
  ...['host', 'content-type', 'content-length', 'connection', 'x-svc-installation-id'],
  ...['user-agent', 'accept', 'accept-encoding', 'accept-language', 'sec-fetch-mode'],
])
/** Fields with one value of which we know what is meant. */
const VALUES: Readonly<Record<string, RegExp>> = {
  'content-type': /^application\/json(?:; charset=utf-8)?$/,
  'content-length': /^[1-9]\d{0,4}$/,
  connection: /^keep-alive$/i,
}
const FIELD = /^([A-Za-z-]{1,64}): ?([!-~](?:[ -~]*[!-~])?)$/

/** Heads that were read last: those of one kind of client are all the same. */
const HEADS = 64
const HEAD_CHARS = 512

interface Head {
  route: PlainRoute
  headers: IncomingHttpHeaders
  bodyBytes: number
}

function createRequestReader(routes: readonly PlainRoute[]) {
  const known = new Map<string, Head | undefined>()

  function headOf(text: string): Head | undefined {
    if (text.length > HEAD_CHARS) return readHead(text, routes)
    const found = known.get(text)
    if (found || known.has(text)) return found
    if (known.size >= HEADS) known.clear()
    const head = readHead(text, routes)
    known.set(text, head)
    return head
  }

  return (chunk: Buffer): PlainRequest | undefined => {
    if (chunk.length > MOST_BYTES) return undefined
    const end = chunk.indexOf('\r\n\r\n', 0, 'latin1')
    const head = end < 0 ? undefined : headOf(chunk.toString('latin1', 0, end))
    if (!head || chunk.length !== end + 4 + head.bodyBytes) return undefined
    // Each gets headers of its own: a handler may keep or change what it is given.
    return { route: head.route, headers: { ...head.headers }, body: chunk.subarray(end + 4) }
  }
}

/** @param text the first line and the fields, without the empty line after them */
function readHead(text: string, routes: readonly PlainRoute[]): Head | undefined {
  const [first, ...fields] = text.split('\r\n')
  const route = routes.find(({ path }) => first === `POST ${path} HTTP/1.1`)
  if (!route) return undefined
  const headers: IncomingHttpHeaders = {}
  for (const field of fields) {
    const [, said = '', value = ''] = FIELD.exec(field) ?? []
    const name = said.toLowerCase()
    if (!FIELDS.has(name) || Object.hasOwn(headers, name) || VALUES[name]?.test(value) === false) return undefined
    headers[name] = value
  }
  const { 'content-length': length, 'content-type': type, host } = headers
  if (length === undefined || type === undefined || host === undefined) return undefined
  return { route, headers, bodyBytes: Number(length) }
}

// Writing.

const SECOND_MS = 1000

/** @returns what Node and Fastify would write */
function answerWriter({ clock, config, headers }: Pick<PlainNeeds, 'clock' | 'config' | 'headers'>) {
  const keepAlive = `Keep-Alive: timeout=${Math.floor(Math.max(1, config.keep_alive_ms) / SECOND_MS)}`
  let common: Readonly<Record<string, string>> | undefined
  let commonText = ''
  let tail = { second: Number.NaN, text: '' }

  function tailNow(): string {
    const second = Math.floor(clock.epochMs() / SECOND_MS)
    if (tail.second !== second) {
      const date = new Date(second * SECOND_MS).toUTCString()
      tail = { second, text: `\r\nDate: ${date}\r\nConnection: keep-alive\r\n${keepAlive}\r\n\r\n` }
    }
    return tail.text
  }

  return ({ body, headers: own, status }: Reply) => {
    const all = headers()
    if (all !== common) [common, commonText] = [all, linesOf(all)]
    const text = JSON.stringify(body)
    const bytes = Buffer.byteLength(text)
    const lines = `${commonText}${linesOf(own)}content-type: application/json; charset=utf-8\r\ncontent-length: ${bytes}`
    // What is ASCII is written without being measured once more; headers are.
    const coding: BufferEncoding = bytes === text.length ? 'latin1' : 'utf8'
    return { text: `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}${tailNow()}${text}`, coding }
  }
}

function linesOf(headers: Readonly<Record<string, string | string[]>>): string {
  let lines = ''
  for (const name in headers) lines += `${name}: ${headers[name]}\r\n`
  return lines
}
