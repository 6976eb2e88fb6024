/** The one HTTP server of a daemon: its routes, sockets and pages behind the same bounds, checks and error bodies. */
import { hostname } from 'node:os'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '#kit/clock.ts'
import type { HttpConfig } from '#kit/config/common.ts'
import { parseListen, urlOfListen } from '#kit/config/listen.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { plainAddress } from '../net/address.ts'
import { isHostAllowed, isOwnHost } from '../net/origin.ts'
import { answerClientError } from './client-errors.ts'
import { type AnswerError, createAnswerError } from './errors.ts'
import { createFastify } from './fastify-setup.ts'
import type { Fence, Place } from './fence.ts'
import { kitRoutes } from './kit-routes.ts'
import { createLongAnswers, type LongAnswers } from './long-answers.ts'
import type { Metrics } from './metrics.ts'
import type { Caller, Route } from './route.ts'
import { answer, createServe } from './route-handler.ts'
import { addSockets, type SocketRoute, type Sockets } from './sockets.ts'
import { loadPages, type Page, sendPage } from './static-pages.ts'
import { watchTraffic } from './traffic.ts'
import { type Identify, type Recognized, recognize } from './who-may.ts'

/** What a daemon hands in. */
export interface HttpServerOptions {
  log: Log
  clock: Clock
  /** The checked `http` table. */
  config: HttpConfig
  identify: Identify
  /** `take` of a ticket store, where sockets or downloads take `?ticket=`. */
  takeTicket?: (ticket: string) => Caller | undefined
  routes: readonly Route[]
  sockets?: readonly SocketRoute[]
  /** Holds some callers to less than their role. */
  fence?: Fence
  /** Whether a socket or a long answer may go on, asked at each heartbeat: a token may have died or been revoked. */
  isStillSignedIn?: (caller: Caller) => boolean
  /** Folder of the built pages, read once at the start. */
  web?: { folder: string }
  /** Status of the daemon's own fault codes. */
  faultStatus: Readonly<Record<string, number>>
  title: string
  version: string
  metrics: Metrics
}

/** Where a server listens. */
export interface Listening {
  host: string
  port: number
  /** `http://127.0.0.1:3132`, openable: a wildcard address reads as loopback. */
  url: string
}

/** A server that was made and may be started once. */
export interface HttpServer {
  listen(): Promise<Listening>
  /** Ends idle connections at once, sockets by a close with 1001, and after two seconds whatever is still open. */
  close(): Promise<void>
  /** Ends at once what `isStillSignedIn` says no to: after a password, a role or a key was changed. */
  endSignedOut(): void
  /** @throws Fault `not_listening` */
  address(): Listening
}

/** Time that requests under way, and sockets told to close, have to end. */
const CLOSE_GRACE_MS = 2000

/** Headers of every reply. Pages put their own rules in place of the strict ones. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** Makes the server; nothing listens yet. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { config, log } = options
  const pages = options.web ? loadPages(options.web.folder) : []
  const answerError = createAnswerError(log, options.faultStatus)
  const sendError = errorSender(answerError)
  const socketPaths = new Set(options.sockets?.map(({ path }) => path))
  const clientErrors = answerClientError(answerError)
  const app = createFastify(config, { frameworkErrors: sendError, clientErrors, socketPaths })
  app.setErrorHandler(sendError)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS)
    if (!isHostAllowed(request.headers.host, config.allowed_hosts))
      throw new Fault('foreign_host', 'the Host header names a host that this server does not go by')
  })
  watchTraffic(app, options)
  const sockets = addSockets(app, options)
  const longAnswers = createLongAnswers((caller) => options.isStillSignedIn?.(caller) ?? true)
  const heartbeat = options.clock.every(config.socket_ping_ms, longAnswers.endSignedOut)
  app.addHook('onClose', async () => heartbeat.cancel())
  // The sockets' plugin sees only routes that are added after it was loaded, hence a scope of its own.
  app.register((scope, _options, done) => {
    sockets.addRoutes(scope)
    const routes = [...options.routes, ...kitRoutes(options)]
    addRoutes(scope, options, { routes, longAnswers })
    const gets = (options.sockets ?? []).map(({ path }) => ({ method: 'GET', path }))
    refuseOtherMethods(scope, [...routes, ...gets])
    done()
  })
  answerUnknown(app, new Map(pages.map((page) => [page.path, page])))
  return startable(app, { sockets, longAnswers }, options)
}

function addRoutes(
  app: FastifyInstance,
  by: HttpServerOptions,
  { routes, longAnswers }: { routes: readonly Route[]; longAnswers: LongAnswers },
): void {
  const recognized = new WeakMap<FastifyRequest, Recognized>()
  for (const route of routes) {
    const serve = createServe(route, longAnswers)
    app.route({
      method: route.method,
      url: route.path,
      bodyLimit: Math.max(by.config.body_bytes, route.bodyBytes ?? 0),
      // Before the body is read: who may not call a route does not get to send it 64 KiB.
      onRequest: async (request) => {
        const { authorization, host } = request.headers
        if (route.ownHostOnly && !isOwnHost(host, hostname(), by.config.allowed_hosts))
          throw new Fault(
            'foreign_host',
            `this is done under the box's address or its name, ${hostname()}; other names go into http.allowed_hosts`,
          )
        const { ticket } = request.query as Record<string, unknown>
        const claim = { who: route.who, authorization, place: placeOf(route, request) }
        const takesTicket = route.ticket === true && typeof ticket === 'string'
        recognized.set(request, await recognize(by, takesTicket ? { ...claim, ticket } : claim))
      },
      handler: (request, reply) => serve(request, reply, recognized.get(request) ?? NOBODY),
    })
  }
}

function placeOf({ method, path }: Route, request: FastifyRequest): Place {
  const params = request.params as Record<string, string>
  return { method, path, params, remoteAddress: plainAddress(request.ip) }
}

const NOBODY: Recognized = { caller: undefined, token: undefined }

/** Fastify answers a method that a path does not have with 404; 405 with Allow tells the difference. */
function refuseOtherMethods(app: FastifyInstance, routes: readonly { method: string; path: string }[]): void {
  const byPath = Map.groupBy(routes, (route) => route.path)
  for (const [url, those] of byPath) {
    const has: string[] = those.map((route) => route.method)
    if (has.includes('GET')) has.push('HEAD')
    const allow = [...has, 'OPTIONS'].join(', ')
    app.route({
      method: app.supportedMethods.filter((method) => !has.includes(method)),
      url,
      // No Access-Control headers: pages of other sites get nothing here.
      onRequest: async (request, reply) => refuseMethod(request, reply, allow),
      handler: () => undefined,
    })
  }
}

function refuseMethod(request: FastifyRequest, reply: FastifyReply, allow: string): FastifyReply {
  reply.header('allow', allow)
  if (request.method === 'OPTIONS') return reply.code(204).send()
  throw new Fault('method_not_allowed', `${request.method} is not known on this path, only ${allow}`)
}

/**
 * What no route answers. Pages are among it: a route for each of sixty files, those that refuse other methods too, would
 * be 2 MB.
 */
function answerUnknown(app: FastifyInstance, pages: ReadonlyMap<string, Page>): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return
    if (!app.supportedMethods.includes(request.method))
      throw new Fault('unknown_method', `the method ${request.method} is not known to this server`)
    const page = pages.get(request.url.split('?', 1)[0] ?? '')
    if (!page) throw new Fault('not_found', 'nothing is served under this path')
    if (request.method === 'GET' || request.method === 'HEAD') return sendPage(page, request, reply.code(200))
    return refuseMethod(request, reply, 'GET, HEAD, OPTIONS')
  })
  app.setNotFoundHandler(() => undefined)
}

function errorSender(answerError: AnswerError) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    reply.headers(HEADERS)
    return answer(reply, answerError(error, { method: request.method, path }))
  }
}

function startable(
  app: FastifyInstance,
  { sockets, longAnswers }: { sockets: Sockets; longAnswers: LongAnswers },
  { config, clock, log }: HttpServerOptions,
): HttpServer {
  let listening: Listening | undefined
  return {
    async listen() {
      const { host, port } = parseListen(config.listen)
      await app.listen({ host, port }).catch((cause: NodeJS.ErrnoException) => {
        throw new Fault('listen_failed', `cannot listen on ${config.listen}: ${cause.code ?? cause.message}`, { cause })
      })
      const address = app.server.address()
      const taken = typeof address === 'object' && address ? address.port : port
      listening = { host, port: taken, url: urlOfListen({ host, port: taken }) }
      log.notice('listening', { url: listening.url })
      return listening
    },
    async close() {
      const force = clock.after(CLOSE_GRACE_MS, () => {
        app.server.closeAllConnections()
        sockets.terminate()
      })
      await app.close()
      force.cancel()
    },
    endSignedOut() {
      sockets.closeSignedOut()
      longAnswers.endSignedOut()
    },
    address() {
      if (!listening) throw new Fault('not_listening', 'the server does not listen yet')
      return listening
    },
  }
}
