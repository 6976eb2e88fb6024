/** WebSockets: tickets that open them, and what one may hold. */

import { randomBytes } from 'node:crypto'
import fastifyWebsocket from '@fastify/websocket'
import type { FastifyInstance, FastifyRequest } from 'fastify'
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
import type { Metrics } from './metrics.ts'
import { type Caller, type Recognizer, recognize, type WhoMay } from './route.ts'

// One open WebSocket as the rest of a daemon sees it.

/** Close codes of RFC 6455, 7.4.1. */
const POLICY = 1008
const OUR_FAULT = 1011

/** A close frame holds 125 bytes, two of them the code. */
const LONGEST_REASON_BYTES = 123

/** What a daemon does with a socket. */
export interface Socket {
  /** Bytes that wait to be sent. */
  readonly bufferedBytes: number
  readonly isOpen: boolean
  /** @returns false where the message was dropped: too much waits already, or the socket is closing */
  send(message: string | Uint8Array): boolean
  /** Sets what hears each message; the bytes are its own. A Fault thrown in it closes the socket with its sentence. */
  onMessage(hear: (message: string | Uint8Array) => void): void
  /** Runs once, whoever closed; at once where it is closed already. */
  onClose(hear: (code: number) => void): void
  /** @param code 1000..1013 or 3000..4999 */
  close(code: number, reason: string): void
}

/** The same with what the server itself does with it. */
interface ServedSocket extends Socket {
  /** Runs what may throw: a fault closes this socket and nothing else. */
  run(what: () => void): void
  /** Ends a peer that has not answered the last ping, and pings. */
  beat(): void
  terminate(): void
}

/** What a message that waits takes beside its bytes. @source measured: 300 */
const MESSAGE_BYTES = 512

/** @param bufferBytes what may wait unsent before messages are dropped, each with what it takes beside its bytes */
function createSocket(bare: WebSocket, by: { bufferBytes: number; log: Log; onDropped: () => void }): ServedSocket {
  let answered = true
  let waiting = 0
  const sent = () => void waiting--
  let closedWith: number | undefined
  let hearMessage: (message: string | Uint8Array) => void = () => {}
  const hearClose: ((code: number) => void)[] = []
  bare.on('pong', () => {
    answered = true
  })
  bare.on('message', (data, isBinary) => {
    // Without fragments ws hands out a view into its receive buffer only for binary messages of its own type.
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
  // A character that the cut splits comes out as a replacement of three bytes, so it is left out.
  return bytes
    .subarray(0, LONGEST_REASON_BYTES)
    .toString()
    .replace(/\uFFFD+$/u, '')
}

// One-time tickets: how a browser, which cannot set headers there, opens a socket or a download.

/** A store of tickets in memory. */
export interface Tickets<Who extends Caller> {
  /**
   * A new ticket for this caller, 32 random bytes in base64url. Where there are too many, the oldest of whoever holds
   * most makes room: a program that asks for them for ever keeps no other from his page.
   */
  issue(caller: Who): string
  /** The caller, once; undefined for a ticket that is unknown, used or too old. */
  take(ticket: string): Who | undefined
}

/**
 * @param lifeMs from issue to the last moment it is taken
 * @param max tickets outstanding at once
 */
export function createTickets<Who extends Caller>(by: { clock: Clock; lifeMs: number; max: number }): Tickets<Who> {
  const { clock, lifeMs, max } = by
  // In order of issue, so the oldest stand first. A lookup by the whole random text tells a guesser nothing by its time.
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

/** One socket path of a daemon. */
export interface SocketRoute {
  path: string
  who: WhoMay
  /** What it tells and takes, for the table of routes in the docs. */
  summary: string
  /**
   * Runs once for each socket; sets `onMessage` before it returns, or what the client says at once is lost.
   * @param caller the very object that `identify` or the ticket gave; undefined only where anyone may
   */
  open: (socket: Socket, caller: Caller | undefined) => void
}

/** What sockets need of the server's options. */
interface SocketNeeds extends Recognizer {
  log: Log
  clock: Clock
  config: HttpConfig
  metrics: Metrics
  sockets?: readonly SocketRoute[]
  browsers?: BrowserRule
  shareOf: ShareOf
  /** Asked of each open socket at each heartbeat, with the very caller it was opened by: false closes it. */
  isStillSignedIn?: (caller: Caller) => boolean
}

/** Close codes of RFC 6455, 7.4.1. */
const GOING_AWAY = 1001
const TRY_AGAIN_LATER = 1013

/** Of a message that comes in pieces: each holds what was read with it, up to 64 KiB, and is an object. */
function messageBounds({ socket_message_bytes: maxPayload }: HttpConfig) {
  return { maxPayload, maxFragments: mostFragments(maxPayload), maxBufferedChunks: mostPackets(maxPayload) }
}

/** The sockets of one server. */
export interface Sockets {
  /** Belongs into a scope that is registered after the plugin. */
  addRoutes(scope: FastifyInstance): void
  /** Closes those whose caller is signed in no longer. */
  closeSignedOut(): void
  /** Ends those whose clients did not answer the close; ws would wait 30 s for them, and the server for ws. */
  terminate(): void
}

/** Loads the plugin where there are sockets at all. */
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
  // The plugin does so for those it has seen; what is refused before, for its Host, would stay open for ever.
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
  route: SocketRoute
  open: Map<ServedSocket, Caller | undefined>
  places: Places
  needs: SocketNeeds
  onDropped: () => void
}

function addRoute(scope: FastifyInstance, { route, open, places, needs, onDropped }: At): void {
  const callers = new WeakMap<FastifyRequest, Caller>()
  scope.route({
    method: 'GET',
    url: route.path,
    // Everything that can refuse stands before the upgrade, so that the refusal is a plain HTTP reply.
    onRequest: async (request, reply) => {
      if (!request.ws) throw new Fault('upgrade_required', 'this path is a WebSocket, expected an Upgrade')
      const { headers } = request
      if (!opensSocket(headers, needs.browsers))
        throw new Fault('foreign_origin', 'sockets are not opened for pages of other sites')
      const { ticket } = request.query as Record<string, unknown>
      const place = { method: 'GET', path: route.path, params: {}, remoteAddress: plainAddress(request.ip) }
      const claim = { who: route.who, headers, place, response: reply.raw }
      const { caller } = await recognize(needs, typeof ticket === 'string' ? { ...claim, ticket } : claim)
      if (caller) callers.set(request, caller)
      if (!places.hasRoom(request.ip))
        throw new Fault(
          'too_many_sockets',
          `${open.size} sockets are open; http.max_sockets or http.max_sockets_per_address allows no more`,
        )
    },
    handler: () => undefined,
    wsHandler: (bare: WebSocket, request: FastifyRequest) => {
      const bufferBytes = needs.config.socket_buffer_bytes
      const socket = createSocket(bare, { bufferBytes, log: needs.log, onDropped })
      const sinceMs = needs.clock.monotonicMs()
      const holder: Holder = {
        use: () => ({ use: 'lasting', sinceMs }),
        giveWay: () => socket.close(TRY_AGAIN_LATER, 'another address needs the place'),
      }
      // Upgrades that were let in side by side may be one too many together.
      if (!places.take(request.ip, holder)) return socket.close(TRY_AGAIN_LATER, 'too many sockets')
      const caller = callers.get(request)
      open.set(socket, caller)
      bare.once('close', () => {
        places.leave(holder)
        open.delete(socket)
      })
      socket.run(() => route.open(socket, caller))
    },
  })
}
