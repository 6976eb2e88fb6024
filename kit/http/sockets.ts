/** WebSockets: the tickets that open them, and the limits of each. */

import { randomBytes } from 'node:crypto'
import type { Writable } from 'node:stream'
import fastifyWebsocket from '@fastify/websocket'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { WebSocket } from 'ws'
import type { Clock } from '../clock.ts'
import type { HttpConfig } from '../config/tables.ts'
import type { Log } from '../log.ts'
import { plainAddress, type ShareOf } from '../net/address.ts'
import { createPlaces, type Holder, type Places } from '../net/places.ts'
import { Fault } from '../pure/fault.ts'
import { mostFragments, mostPackets } from '../pure/memory-plan.ts'
import { dropGreediest } from '../pure/pace.ts'
import { type BrowserRule, opensSocket } from './browser-rule.ts'
import { createCheck, fieldsFault } from './check.ts'
import type { Metrics } from './metrics.ts'
import type { Caller, Knock, WhoMay } from './route.ts'
import { type Recognizer, recognize } from './serve-routes.ts'

// One open WebSocket as the rest of a daemon sees it.

/** Close codes of RFC 6455, 7.4.1. */
const POLICY = 1008
const OUR_FAULT = 1011

/** A close frame holds 125 bytes, two of them the code. */
const LONGEST_REASON_BYTES = 123

/** What a daemon can do with a socket. */
export interface Socket {
  /** Bytes that wait to be sent. */
  readonly bufferedBytes: number
  readonly isOpen: boolean
  /** @returns false if the message was dropped: too much is queued already, or the socket is closing */
  send(message: string | Uint8Array): boolean
  /**
   * Sets the listener for messages; it may keep the bytes. A Fault thrown in it closes the socket with its sentence.
   */
  onMessage(hear: (message: string | Uint8Array) => void): void
  /** Runs once, whoever closed; at once if it is closed already. */
  onClose(hear: (code: number) => void): void
  /** @param code 1000..1013 or 3000..4999 */
  close(code: number, reason: string): void
}

/** Also has what the server itself does with it. */
interface ServedSocket extends Socket {
  /** Runs what may throw: a fault closes only this socket. */
  run(what: () => void): void
  /** Ends a peer that has not answered the last ping, else pings it. */
  beat(): void
  terminate(): void
}

/** Overhead of a queued message. @source measured: 300 */
const MESSAGE_BYTES = 512

/** Most bytes that are gathered for one write to the kernel. */
const GATHERED_BYTES = 65_536

/**
 * Gathers the messages of one turn of the event loop: a write to the kernel costs more than making a message.
 * @returns is to be called before each message, with its size
 */
function gatherer(stream: Pick<Writable, 'cork' | 'uncork'>): (sizeBytes: number) => void {
  let gatheredBytes: number | undefined
  const flush = () => {
    gatheredBytes = undefined
    stream.uncork()
  }
  return (sizeBytes) => {
    if (gatheredBytes === undefined) {
      process.nextTick(flush)
      stream.cork()
      gatheredBytes = 0
    } else if (gatheredBytes + sizeBytes > GATHERED_BYTES) {
      stream.uncork()
      stream.cork()
      gatheredBytes = 0
    }
    gatheredBytes += sizeBytes
  }
}

interface SocketParts {
  /** What the messages are written to. */
  stream: Pick<Writable, 'cork' | 'uncork'>
  /** Most that may be queued unsent before messages are dropped, overhead included. */
  bufferBytes: number
  log: Log
  onDropped: () => void
}

function createSocket(bare: WebSocket, by: SocketParts): ServedSocket {
  let answered = true
  let waiting = 0
  const gather = gatherer(by.stream)
  const sent = () => void waiting--
  let closedWith: number | undefined
  let hearMessage: (message: string | Uint8Array) => void = () => {}
  const hearClose: ((code: number) => void)[] = []
  bare.on('pong', () => {
    answered = true
  })
  bare.on('message', (data, isBinary) => {
    // Without fragments, ws returns a view into its receive buffer only for binary messages of its own type.
    const bytes = data as Buffer
    socket.run(() => hearMessage(isBinary ? new Uint8Array(bytes) : bytes.toString()))
  })
  bare.once('close', (code) => {
    closedWith = code
    for (const hear of hearClose) socket.run(() => hear(code))
  })
  const socket: ServedSocket = {
    get bufferedBytes() {
      return bare.bufferedAmount
    },
    get isOpen() {
      return bare.readyState === bare.OPEN
    },
    send(message) {
      if (bare.readyState !== bare.OPEN) return false
      const sizeBytes = typeof message === 'string' ? Buffer.byteLength(message) : message.length
      if (bare.bufferedAmount + sizeBytes + (waiting + 1) * MESSAGE_BYTES > by.bufferBytes) {
        by.onDropped()
        return false
      }
      waiting++
      gather(sizeBytes)
      bare.send(message, sent)
      return true
    },
    onMessage(hear) {
      hearMessage = hear
    },
    onClose(hear) {
      if (closedWith === undefined) hearClose.push(hear)
      else hear(closedWith)
    },
    close(code, reason) {
      bare.close(code, shorten(reason))
    },
    run(what) {
      try {
        what()
      } catch (error) {
        if (error instanceof Fault) return socket.close(POLICY, `${error.code}: ${error.message}`)
        by.log.error('socket_handler_failed', { error })
        socket.close(OUR_FAULT, 'a fault of the program; the log has it')
      }
    },
    beat() {
      if (!answered) return bare.terminate()
      answered = false
      if (bare.readyState === bare.OPEN) bare.ping()
    },
    terminate: () => bare.terminate(),
  }
  return socket
}

function shorten(reason: string): string {
  const bytes = Buffer.from(reason)
  if (bytes.length <= LONGEST_REASON_BYTES) return reason
  // A character split by the cut becomes a replacement of three bytes, so it is left out.
  return bytes
    .subarray(0, LONGEST_REASON_BYTES)
    .toString()
    .replace(/\uFFFD+$/u, '')
}

// One-time tickets: let a browser, which cannot set headers for these, open a socket or a download.

/** An in-memory store of tickets. */
export interface Tickets<Who extends Caller> {
  /**
   * A new ticket for this caller, 32 random bytes in base64url. If there are too many, the oldest ticket of the caller
   * with the most is dropped: a program that keeps asking for tickets cannot lock others out.
   */
  issue(caller: Who): string
  /** The caller, once; undefined for a ticket that is unknown, used or too old. */
  take(ticket: string): Who | undefined
}

/**
 * @param lifeMs how long a ticket is valid after it was issued
 * @param max tickets outstanding at once
 */
export function createTickets<Who extends Caller>(by: { clock: Clock; lifeMs: number; max: number }): Tickets<Who> {
  const { clock, lifeMs, max } = by
  // In order of issue, so the oldest come first. Looking up the whole random text gives a guesser no timing hint.
  const outstanding = new Map<string, { caller: Who; issuedMs: number }>()

  function makeRoom(): void {
    for (const [ticket, { issuedMs }] of outstanding) {
      if (clock.monotonicMs() - issuedMs < lifeMs) break
      outstanding.delete(ticket)
    }
    dropGreediest(outstanding, max, ({ caller }) => caller.name)
  }

  return {
    issue(caller) {
      makeRoom()
      const ticket = randomBytes(32).toString('base64url')
      outstanding.set(ticket, { caller, issuedMs: clock.monotonicMs() })
      return ticket
    },
    take(ticket) {
      const found = outstanding.get(ticket)
      outstanding.delete(ticket)
      return found && clock.monotonicMs() - found.issuedMs < lifeMs ? found.caller : undefined
    },
  }
}

/** The head of a request for a socket, with the one-time ticket of its address, if there is one. */
export interface SocketKnock extends Omit<Knock, 'signal'> {
  ticket: string | undefined
}

/** One socket path of a daemon. */
export interface SocketRoute<Query = unknown> {
  path: string
  who: WhoMay
  /** What it sends and takes, for the table of routes in the docs. */
  summary: string
  /** Accepts a lasting `?token=` beside the header, as routes do; such an address is taken from any page. */
  token?: boolean
  /** What its address asks for; without it, the query is ignored. */
  query?: TSchema
  /** Most unsent bytes of one of its sockets; default: `http.socket_buffer_bytes`. */
  bufferBytes?: number
  /**
   * Runs before the upgrade, also for a plain request, which learns by it why no socket would be opened.
   * @throws Fault, answered over HTTP
   */
  check?: (caller: Caller | undefined, query: Query) => void
  /**
   * For a socket that anyone may open and whose caller may sign in later: recognizes the caller instead of `identify`
   * and `takeTicket`. Runs before the upgrade.
   * @throws Fault, answered over HTTP
   */
  recognize?: (knock: SocketKnock) => Caller
  /**
   * Runs once for each socket; must set `onMessage` before it returns, or early messages are lost.
   * @param caller the very object that `recognize`, `identify` or the ticket returned; undefined only if anyone may call
   */
  open: (socket: Socket, caller: Caller | undefined, query: Query) => void
}

/** Types a socket's path from the schema of its query; adds nothing at run time. */
export function socketRoute<Query extends TSchema>(
  spec: Omit<SocketRoute<Static<Query>>, 'query'> & { query: Query },
): SocketRoute<never> {
  return spec
}

/** What sockets need of the server's options. */
interface SocketNeeds extends Recognizer {
  log: Log
  clock: Clock
  config: HttpConfig
  metrics: Metrics
  sockets?: readonly SocketRoute<never>[]
  browsers?: BrowserRule
  shareOf: ShareOf
  /** Asked at each heartbeat about each open socket, with the very caller that opened it: false closes it. */
  isStillSignedIn?: (caller: Caller) => boolean
}

/** Close codes of RFC 6455, 7.4.1. */
const GOING_AWAY = 1001
const TRY_AGAIN_LATER = 1013

/** A peer that was told to go and does not answer, as it reads nothing, loses its place after this time. */
const CLOSE_MS = 5000

/** Limits for fragmented messages: each fragment holds what was read with it, up to 64 KiB, and is an object. */
function messageBounds({ socket_message_bytes: maxPayload }: HttpConfig) {
  const closeTimeout = CLOSE_MS
  return {
    maxPayload,
    maxFragments: mostFragments(maxPayload),
    maxBufferedChunks: mostPackets(maxPayload),
    closeTimeout,
  }
}

/** The sockets of one server. */
export interface Sockets {
  /** Call in a scope that is registered after the plugin. */
  addRoutes(scope: FastifyInstance): void
  /** Closes those whose caller is no longer signed in. */
  closeSignedOut(): void
  /** Ends those whose clients did not answer the close; ws would wait 30 s for them, and the server for ws. */
  terminate(): void
}

/** Loads the plugin if there are any sockets. */
export function addSockets(app: FastifyInstance, needs: SocketNeeds): Sockets {
  const routes = needs.sockets ?? []
  if (routes.length === 0) return { addRoutes() {}, closeSignedOut() {}, terminate() {} }
  const open = new Map<ServedSocket, Caller | undefined>()
  const { max_sockets: most, max_sockets_per_address: mostPerAddress } = needs.config
  const places = createPlaces({ most, mostPerAddress, shareOf: needs.shareOf })
  app.register(fastifyWebsocket, {
    options: { ...messageBounds(needs.config), perMessageDeflate: false, clientTracking: false },
    errorHandler: (error, socket) => {
      needs.log.debug('socket_fault', { error })
      socket.terminate()
    },
    preClose: (done) => {
      for (const socket of open.keys()) socket.close(GOING_AWAY, 'the server stops')
      done()
    },
  })
  // The plugin closes those it has seen; one refused before, for its Host, would stay open forever.
  app.addHook('onResponse', async ({ raw }) => {
    if ('upgrade' in raw && raw.upgrade === true) raw.socket.destroy()
  })
  const isSignedOut = (caller: Caller | undefined) => caller && needs.isStillSignedIn?.(caller) === false
  const closeSignedOut = () => {
    for (const [socket, caller] of open) if (isSignedOut(caller)) socket.close(POLICY, 'signed out')
  }
  const heartbeat = needs.clock.every(needs.config.socket_ping_ms, () => {
    closeSignedOut()
    for (const [socket, caller] of open) if (!isSignedOut(caller)) socket.beat()
  })
  app.addHook('onClose', async () => heartbeat.cancel())
  needs.metrics.gauge({ name: 'sockets_open', help: 'WebSockets open' }, () => [{ labels: {}, value: open.size }])
  const dropped = needs.metrics.counter({
    name: 'socket_messages_dropped_total',
    help: 'Messages not sent because too much waited in their socket',
  })
  return {
    closeSignedOut,
    terminate: () => {
      for (const socket of open.keys()) socket.terminate()
    },
    addRoutes: (scope) => {
      for (const route of routes) addRoute(scope, { route, open, places, needs, onDropped: () => dropped.add() })
    },
  }
}

interface At {
  route: SocketRoute<never>
  open: Map<ServedSocket, Caller | undefined>
  places: Places
  needs: SocketNeeds
  onDropped: () => void
}

/** What an upgrade was let in with. */
interface LetIn {
  caller: Caller | undefined
  query: unknown
}

function addRoute(scope: FastifyInstance, { route, open, places, needs, onDropped }: At): void {
  const letIn = new WeakMap<FastifyRequest, LetIn>()
  const bufferBytes = route.bufferBytes ?? needs.config.socket_buffer_bytes
  const letCome = createDoor(route, needs)

  scope.route({
    method: 'GET',
    url: route.path,
    // All refusals come before the upgrade, so that they are plain HTTP replies.
    onRequest: async (request, reply) => {
      letIn.set(request, await letCome(request, reply))
      if (!places.hasRoom(request.ip))
        throw new Fault(
          'too_many_sockets',
          `${open.size} sockets are open; http.max_sockets or http.max_sockets_per_address allows no more`,
        )
      if (!request.ws) throw new Fault('upgrade_required', 'this path is a WebSocket, expected an Upgrade')
    },
    handler: () => undefined,
    wsHandler: (bare: WebSocket, request: FastifyRequest) => {
      const stream = request.raw.socket
      const socket = createSocket(bare, { stream, bufferBytes, log: needs.log, onDropped })
      const sinceMs = needs.clock.monotonicMs()
      const holder: Holder = {
        use: () => ({ use: 'lasting', sinceMs }),
        giveWay: () => socket.close(TRY_AGAIN_LATER, 'another address needs the place'),
      }
      // Upgrades let in at the same time may together be one too many.
      if (!places.take(request.ip, holder)) return socket.close(TRY_AGAIN_LATER, 'too many sockets')
      const { caller, query } = letIn.get(request) ?? { caller: undefined, query: undefined }
      open.set(socket, caller)
      bare.once('close', () => {
        places.leave(holder)
        open.delete(socket)
      })
      socket.run(() => route.open(socket, caller, query as never))
    },
  })
}

/** @returns decides who gets in, and reads what they ask for; its faults are answered over HTTP */
function createDoor(route: SocketRoute<never>, needs: SocketNeeds) {
  const checkQuery = route.query && createCheck(route.query, 'text', '?')

  async function callerOf({ headers, ip, query }: FastifyRequest, { raw }: FastifyReply): Promise<Caller | undefined> {
    const { ticket, token } = shownIn(query)
    const remoteAddress = plainAddress(ip)
    if (route.recognize)
      return route.recognize({ authorization: headers.authorization, headers, method: 'GET', remoteAddress, ticket })
    const place = { method: 'GET', path: route.path, params: {}, remoteAddress }
    const queryToken = route.token ? token : undefined
    return (await recognize(needs, { who: route.who, headers, place, response: raw, ticket, queryToken })).caller
  }

  function queryOf({ query }: FastifyRequest): unknown {
    if (!checkQuery) return undefined
    const { ticket: _, ...asked } = query as Record<string, unknown>
    if (route.token) delete asked.token
    const { faults, value } = checkQuery(asked)
    if (faults.length > 0) throw fieldsFault(faults)
    return value
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<LetIn> => {
    // A token in the address is not something that a browser adds by itself for a page of another site.
    const isShown = route.token === true && shownIn(request.query).token !== undefined
    if (!isShown && !opensSocket(request.headers, needs.browsers))
      throw new Fault('foreign_origin', 'sockets are not opened for pages of other sites')
    const caller = await callerOf(request, reply)
    const query = queryOf(request)
    route.check?.(caller, query as never)
    return { caller, query }
  }
}

/** What credentials stand in an address, each once. */
function shownIn(query: unknown): { ticket: string | undefined; token: string | undefined } {
  const { ticket, token } = query as Record<string, unknown>
  return {
    ticket: typeof ticket === 'string' ? ticket : undefined,
    token: typeof token === 'string' ? token : undefined,
  }
}
