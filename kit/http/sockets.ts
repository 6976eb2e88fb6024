/** WebSockets: who may open one, how much may wait in it, and how a dead peer is noticed. */
import fastifyWebsocket from '@fastify/websocket'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import type { Clock } from '#kit/clock.ts'
import type { HttpConfig } from '#kit/config/common.ts'
import { mostFragments, mostPackets } from '#kit/config/memory-plan.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { createPlaces, type Holder, type Places } from '#kit/places.ts'
import { plainAddress, type ShareOf } from '../net/address.ts'
import { type BrowserRule, opensSocket } from './browser-rule.ts'
import type { Metrics } from './metrics.ts'
import type { Caller, WhoMay } from './route.ts'
import { createSocket, type ServedSocket, type Socket } from './socket.ts'
import { type Recognizer, recognize } from './who-may.ts'

export type { Socket } from './socket.ts'

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
export interface SocketNeeds extends Recognizer {
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
const POLICY = 1008
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
