/** The one HTTP server of a daemon: its routes, sockets and pages behind the same bounds, checks and error bodies. */
import type { IncomingMessage } from 'node:http'
import { networkInterfaces } from 'node:os'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '#kit/clock.ts'
import type { HttpConfig } from '#kit/config/common.ts'
import { parseListen, urlOfListen } from '#kit/config/listen.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { createShareOf, plainAddress, type ShareOf } from '../net/address.ts'
import { isHostAllowed } from '../net/origin.ts'
import { addRoutes, refuseMethod, refuseOtherMethods } from './add-routes.ts'
import { createAdmission, withinFiles } from './admission.ts'
import { createBodyTime } from './body-time.ts'
import { type BrowserRule, checkPage, holdBrowsers } from './browser-rule.ts'
import { answerClientError } from './client-errors.ts'
import { type Dialect, jsonDialect } from './dialect.ts'
import { type AnswerError, createAnswerError } from './errors.ts'
import { createFastify } from './fastify-setup.ts'
import type { Fence } from './fence.ts'
import { kitRoutes } from './kit-routes.ts'
import { createLongAnswers, type LongAnswers } from './long-answers.ts'
import type { Metrics } from './metrics.ts'
import { checkLoneHeaders } from './plain-head.ts'
import type { Caller, Route } from './route.ts'
import { answer } from './route-handler.ts'
import { addSockets, type SocketRoute, type Sockets } from './sockets.ts'
import { loadPages, type Page, sendPage, type WebPages } from './static-pages.ts'
import { createSurface, type ServeSurface, type Surface, type SurfaceNeeds } from './surface.ts'
import { type Contact, type CountAnswered, watchTraffic } from './traffic.ts'
import { createTurns } from './turns.ts'
import { createUnsent, holdLongAnswers, type Unsent } from './unsent.ts'
import { type Identify, recognize, type TakeTicket } from './who-may.ts'

/** What a daemon hands in. */
export interface HttpServerOptions {
  log: Log
  clock: Clock
  /** The checked `http` table. */
  config: HttpConfig
  identify: Identify
  /** `take` of a ticket store, where sockets or downloads take `?ticket=`. */
  takeTicket?: TakeTicket
  routes: readonly Route[]
  sockets?: readonly SocketRoute[]
  /** What the daemon answers by itself; routes below its prefix are never asked. */
  surface?: Surface
  /** Holds some callers to less than their role. */
  fence?: Fence
  /** Whether a socket or a long answer may go on, asked at each heartbeat: a token may have died or been revoked. */
  isStillSignedIn?: (caller: Caller) => boolean
  /** The built pages, read once at the start. */
  web?: WebPages
  /** What clients speak; default: JSON and bearer tokens. */
  dialect?: Dialect
  /** What keeps pages of other sites out; default: they may not open sockets, and `http.hosts` bounds the names. */
  browsers?: BrowserRule
  /** Headers of every answer, refusals too, beside those that all daemons give. */
  headers?: () => Readonly<Record<string, string>>
  /** Status of the daemon's own fault codes. */
  faultStatus: Readonly<Record<string, number>>
  title: string
  version: string
  metrics: Metrics
  /** What connections are counted by; default: their address, of IPv6 its /64. */
  shareOf?: ShareOf
  /** Told of each request that was answered, whatever with. */
  onAnswered?: (contact: Contact) => void
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
  const pages = options.web ? loadPages(options.web) : []
  const { clock, dialect = jsonDialect } = options
  const answerError = createAnswerError({ log, dialect, faultStatus: options.faultStatus })
  const headers = () => (options.headers ? { ...HEADERS, ...options.headers() } : HEADERS)
  const sendError = errorSender(answerError, headers)
  const socketPaths = new Set(options.sockets?.map(({ path }) => path))
  const clientErrors = answerClientError(answerError)
  const bodies = createBodyTime({ clock, timeoutMs: config.request_timeout_ms, onLate: clientErrors })
  const checkHead = headCheck(options)
  const count: { answered?: CountAnswered } = {}
  const { shareOf = createShareOf([]) } = options
  const unsent = createUnsent({ ...options, shareOf })
  const surface = surfaceOf(options, {
    answerError,
    unsent,
    bodies,
    checkHead,
    headers,
    isClosing: () => !app.server.listening,
    onAnswered: (request, answered) => count.answered?.(request, answered),
  })
  const admission = createAdmission({ ...options, config: withinFiles(config, log), shareOf })
  const turns = createTurns({ ...options, shareOf })
  const guards = { admission, unsent, turns }
  const needs = { ...guards, frameworkErrors: sendError, clientErrors, socketPaths, dialect, bodies, surface }
  const app: FastifyInstance = createFastify(config, needs)
  app.setErrorHandler(sendError)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headers())
    checkHead(request.raw)
    unsent.check(request.raw)
  })
  holdLongAnswers(app, unsent)
  const routes = [...options.routes, ...kitRoutes(options)]
  const checkUnrouted = unroutedCheck(options)
  if (options.browsers) holdBrowsers(app, options.browsers, browserPaths(routes))
  count.answered = watchTraffic(app, options)
  const sockets = addSockets(app, { ...options, shareOf })
  const longAnswers = createLongAnswers((caller) => options.isStillSignedIn?.(caller) ?? true)
  const heartbeat = clock.every(config.socket_ping_ms, longAnswers.endSignedOut)
  app.addHook('onClose', async () => {
    heartbeat.cancel()
    admission.close()
    unsent.close()
  })
  // The sockets' plugin sees only routes that are added after it was loaded, hence a scope of its own.
  app.register((scope, _options, done) => {
    sockets.addRoutes(scope)
    addRoutes(scope, options, { routes, bodies, clock, dialect, longAnswers })
    const gets = (options.sockets ?? []).map(({ path }) => ({ method: 'GET', path }))
    refuseOtherMethods(scope, [...routes, ...gets], checkUnrouted)
    done()
  })
  answerUnknown(app, new Map(pages.map((page) => [page.path, page])), checkUnrouted)
  return startable(app, { sockets, longAnswers }, options)
}

/** @returns refuses heads that are not plain, and hosts by which this server does not go */
function headCheck({ browsers, config }: HttpServerOptions): (request: IncomingMessage) => void {
  const takesHost = browsers?.takesHost ?? ((host) => isHostAllowed(host, config.hosts))
  return (request) => {
    checkLoneHeaders(request)
    if (!takesHost(request.headers.host))
      throw new Fault('foreign_host', 'the Host header names a host that this server does not go by; see http.hosts')
  }
}

function surfaceOf(
  { browsers, clock, surface }: HttpServerOptions,
  by: Pick<SurfaceNeeds, 'answerError' | 'bodies' | 'checkHead' | 'headers' | 'isClosing'> & {
    onAnswered: CountAnswered
    unsent: Unsent
  },
): ServeSurface | undefined {
  if (!surface) return undefined
  return createSurface(surface, {
    ...by,
    monotonicMs: () => clock.monotonicMs(),
    checkHead(request) {
      by.checkHead(request)
      if (browsers) checkPage(request, browsers)
      by.unsent.check(request)
    },
    takes: (request, sizeBytes) => by.unsent.takes(request, sizeBytes),
    onAnswered: (request, { statusCode: status }, facts) =>
      by.onAnswered(request, { ...facts, status, route: `${surface.prefix}/*` }),
  })
}

/** Whether somebody may see pages, and learn what there is and what is not. @throws as `recognize` */
type CheckUnrouted = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

function unroutedCheck(by: HttpServerOptions): CheckUnrouted {
  const who = by.web?.who ?? 'anyone'
  return (request, reply) => {
    const { headers, method, url, ip } = request
    const place = { method, path: url.split('?', 1)[0] ?? '', params: {}, remoteAddress: plainAddress(ip) }
    return recognize(by, { who, headers, place, response: reply.raw })
  }
}

/**
 * What no route answers. Pages are among it: a route for each of sixty files, those that refuse other methods too, would
 * be 2 MB.
 */
function answerUnknown(app: FastifyInstance, pages: ReadonlyMap<string, Page>, checkUnrouted: CheckUnrouted): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return
    await checkUnrouted(request, reply)
    if (!app.supportedMethods.includes(request.method))
      throw new Fault('unknown_method', `the method ${request.method} is not known to this server`)
    const page = pages.get(request.url.split('?', 1)[0] ?? '')
    if (!page) throw new Fault('not_found', 'nothing is served under this path')
    if (request.method === 'GET' || request.method === 'HEAD') return sendPage(page, request, reply.code(200))
    return refuseMethod(request, reply, 'GET, HEAD, OPTIONS')
  })
  app.setNotFoundHandler(() => undefined)
}

function browserPaths(routes: readonly Route[]) {
  const sameOriginOnly = new Set(routes.filter((route) => route.sameOriginOnly).map(({ path }) => path))
  return { methods: [...new Set(routes.map(({ method }) => method))].sort(), sameOriginOnly }
}

function errorSender(answerError: AnswerError, headers: () => Record<string, string>) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    reply.headers(headers())
    return answer(reply, answerError(error, { method: request.method, path }))
  }
}

/** Why an address cannot be listened on, and what to do, by the system's code. */
const LISTEN_FAULTS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'something listens there already; stop it, or set http.listen to another port'],
  ['EADDRNOTAVAIL', 'this machine has no such address; set http.listen to one that it has'],
  ['ENOTFOUND', 'this name has no address; set http.listen to one that this machine has'],
  ['EACCES', 'ports below 1024 are for root and who is given the right; set http.listen to a higher one'],
])

/** Where others reach a server that listens on every address; its `url` is for who is on the machine. */
function reachableAt(host: string, port: number): { at?: string } {
  if (host !== '0.0.0.0' && host !== '::') return {}
  const all = Object.values(networkInterfaces()).flatMap((infos = []) => infos)
  const outer = all.filter(({ internal, family, address }) => {
    // An address of the link alone needs its interface beside it, which no browser takes.
    return !internal && (family === 'IPv4' || host === '::') && !address.startsWith('fe80:')
  })
  return outer.length === 0 ? {} : { at: outer.map(({ address }) => urlOfListen({ host: address, port })).join(',') }
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
        const { code = cause.message } = cause
        const why = LISTEN_FAULTS.get(code)
        const sentence = `cannot listen on ${config.listen}: ${why === undefined ? code : `${why} (${code})`}`
        throw new Fault('listen_failed', sentence, { cause })
      })
      const address = app.server.address()
      const taken = typeof address === 'object' && address ? address.port : port
      listening = { host, port: taken, url: urlOfListen({ host, port: taken }) }
      log.notice('listening', { url: listening.url, ...reachableAt(host, taken) })
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
