/** The HTTP server of every daemon: Fastify, set up once. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { type HttpConfig, parseListen, type TlsConfig, urlOfListen } from '../config/tables.ts'
import type { Log } from '../log.ts'
import { createShareOf, isHostAllowed, plainAddress, type ShareOf } from '../net/address.ts'
import type { ServerIdentity } from '../net/own-authority.ts'
import { Fault } from '../pure/fault.ts'
import {
  type Admission,
  type BodyTime,
  checkLoneHeaders,
  createAdmission,
  createBodyTime,
  createRequestTurns,
  originForm,
  type Turns,
  withinFiles,
} from './admission.ts'
import { ANSWERS_DIFFER, type BrowserRule, checkPage, holdBrowsers } from './browser-rule.ts'
import { type Dialect, gatherBody, jsonDialect } from './dialect.ts'
import { type AnswerError, answerClientError, createAnswerError } from './errors.ts'
import { kitRoutes } from './kit-routes.ts'
import { type Contact, type CountAnswered, type Metrics, watchTraffic } from './metrics.ts'
import { createPlainRequests, type PlainRequests } from './plain-requests.ts'
import type { Caller, Fence, Identify, Route, TakeTicket } from './route.ts'
import { addRoutes, answer, createPlainRoute, recognize, refuseMethod, refuseOtherMethods } from './serve-routes.ts'
import { addSockets, type SocketRoute, type Sockets } from './sockets.ts'
import { loadPages, type Page, sendPage, type WebPages } from './static-pages.ts'
import { createSurface, type ServeSurface, type Surface, type SurfaceNeeds } from './surface.ts'
import { createRedirect, createTlsFront, isEncrypted, type TlsFront } from './tls.ts'
import { createLongAnswers, createUnsent, holdLongAnswers, type LongAnswers, type Unsent } from './unsent.ts'

// Fastify with our limits, and without the defaults that do not suit us.

/**
 * A device path of 4096 characters, each percent-encoded, still fits in a parameter. The head's size limits it before.
 */
const LONGEST_PARAMETER = 4096

/** Routes check requests and write replies themselves (serve-routes.ts), so Fastify's own compilers stay out. */
const NO_COMPILERS = { buildValidator: noCompiler, buildSerializer: noCompiler }

function noCompiler(): never {
  throw new TypeError('a route has no schema of Fastify: kit/http/check.ts checks')
}

/**
 * A Fastify that reads bodies strictly, limits what a client may send and how long it may take, and leaves logging to
 * us.
 * @param by `frameworkErrors` answers what Fastify refuses before any hook runs, such as a broken percent-encoding;
 * `clientErrors` answers what Node refuses before there is a request; only `socketPaths` upgrade
 */
function createFastify(
  config: HttpConfig,
  by: {
    admission: Pick<Admission, 'guard'>
    unsent: Pick<Unsent, 'guard'>
    turns: Turns
    bodies: BodyTime
    dialect: Dialect
    socketPaths: ReadonlySet<string>
    /** Gets each request before Fastify sees it. */
    surface?: ServeSurface
    tls: Tls | undefined
    /** Gets each connection before Node does. */
    plain: PlainRequests | undefined
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply
    clientErrors: (error: NodeJS.ErrnoException, connection: Socket) => void
  },
): FastifyInstance {
  const headersTimeout = config.headers_timeout_ms
  // Fastify reads 0 as "not given", Node as "forever".
  const keepAliveTimeout = Math.max(1, config.keep_alive_ms)
  const http = {
    headersTimeout,
    maxHeaderSize: config.header_bytes,
    // Java's client asks every plain server for HTTP/2 (Upgrade: h2c). A server may answer as if it had not.
    shouldUpgradeCallback(request: IncomingMessage) {
      const { url = '', headers } = request
      if (by.tls && !isEncrypted(request)) return false
      return headers.upgrade?.toLowerCase() === 'websocket' && by.socketPaths.has(url.split('?', 1)[0] ?? '')
    },
    // Node checks for late clients only this often; its default of 30 s would defeat the timeouts above.
    connectionsCheckingInterval: Math.max(20, Math.min(1000, headersTimeout / 4)),
  }
  const app = fastify({
    logger: false,
    schemaController: { compilersFactory: NO_COMPILERS },
    bodyLimit: config.body_bytes,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    rewriteUrl(request) {
      by.bodies.watch(request)
      return originForm(request)
    },
    // Called again for each further address that `localhost` has.
    serverFactory: (rest: RequestListener) => {
      const served = by.surface ? inFrontOf(rest, by.surface) : rest
      const server = createServer(
        http,
        by.turns.inTurn(by.tls ? onlyEncrypted(served, by.tls.redirect.answer) : served),
      )
      by.plain?.guard(server)
      by.tls?.front.guard(server)
      server.keepAliveTimeout = keepAliveTimeout
      // We time requests ourselves: Node has only one timeout for all.
      server.requestTimeout = 0
      by.admission.guard(server)
      by.unsent.guard(server)
      return server
    },
    frameworkErrors: by.frameworkErrors,
    clientErrorHandler: by.clientErrors,
  }) as unknown as FastifyInstance
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    by.dialect.mediaType,
    async ({ headers, routeOptions }: FastifyRequest, payload: IncomingMessage) => {
      const bytes = await gatherBody(payload, routeOptions.bodyLimit ?? config.body_bytes)
      if (bytes === 'too_large') throw new Fault('body_too_large', 'the body is larger than this server takes')
      // Nobody will read the reply.
      if (bytes === 'cut') throw new Fault('bad_http', 'the connection ended before the body did')
      return by.dialect.readBody(bytes, headers['content-type'] ?? '')
    },
  )
  return app
}

/** What serves TLS, and what answers those who come without. */
interface Tls {
  front: TlsFront
  redirect: { answer: RequestListener; close(): void }
}

function onlyEncrypted(served: RequestListener, redirect: RequestListener): RequestListener {
  return (request, response) => (isEncrypted(request) ? served : redirect)(request, response)
}

function inFrontOf(rest: RequestListener, surface: ServeSurface): RequestListener {
  return (request, response) => {
    if (!surface(request, response)) rest(request, response)
  }
}

/** What a daemon passes in. */
export interface HttpServerOptions {
  log: Log
  clock: Clock
  /** The checked `http` table. */
  config: HttpConfig
  identify: Identify
  /** `take` of a ticket store, where sockets or downloads take `?ticket=`. */
  takeTicket?: TakeTicket
  routes: readonly Route[]
  sockets?: readonly SocketRoute<never>[]
  /** Paths that the daemon answers by itself; routes below its prefix are never called. */
  surface?: Surface
  /** Limits some callers to less than their role allows. */
  fence?: Fence
  /**
   * Whether a socket or a long answer may go on, asked at each heartbeat: a token may have expired or been revoked. Asked
   * too once a request's body has come.
   */
  isStillSignedIn?: (caller: Caller) => boolean
  /** The built pages, read once at the start. */
  web?: WebPages
  /** Format of bodies and credentials; default: JSON and bearer tokens. */
  dialect?: Dialect
  /** Serves HTTPS by the newest of these identities; plain HTTP on the same port is redirected. Default: plain HTTP. */
  tls?: { identity(): ServerIdentity; config: TlsConfig } | undefined
  /** What keeps pages of other sites out; default: they may not open sockets, and `http.hosts` bounds the names. */
  browsers?: BrowserRule
  /** Headers of every answer, refusals included, beside those that all daemons send; read anew for each. */
  headers?: Readonly<Record<string, string>>
  /** Status of the daemon's own fault codes. */
  faultStatus: Readonly<Record<string, number>>
  title: string
  version: string
  metrics: Metrics
  /** What connections are counted by; default: their address, for IPv6 its /64. */
  shareOf?: ShareOf
  /** Called for each request that was answered, whatever the answer. */
  onAnswered?: (contact: Contact) => void
}

/** Where a server listens. */
interface Listening {
  host: string
  port: number
  /** `http://127.0.0.1:3132`, openable: a wildcard address reads as loopback. */
  url: string
}

/** A server that has been created and may be started once. */
export interface HttpServer {
  listen(): Promise<Listening>
  /** Ends idle connections at once, closes sockets with 1001, and after two seconds ends whatever is still open. */
  close(): Promise<void>
  /** Immediately ends connections that `isStillSignedIn` rejects: after a password, a role or a key was changed. */
  endSignedOut(): void
  /** @throws Fault `not_listening` */
  address(): Listening
}

/** Time that running requests, and sockets told to close, have to end. */
const CLOSE_GRACE_MS = 2000

/** Headers of every reply. Pages replace the strict ones by their own. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** Creates the server; nothing listens yet. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { config, log } = options
  const pages = options.web ? loadPages(options.web) : []
  const { clock, dialect = jsonDialect } = options
  const answerError = createAnswerError({ log, dialect, faultStatus: options.faultStatus })
  const headers = () => (options.headers ? { ...HEADERS, ...options.headers } : HEADERS)
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
  const turns = createRequestTurns({ ...options, shareOf })
  const tls = tlsOf(options, { answerError, bodies, checkHead, headers, turns, shareOf })
  const plain = plainOf(options, { answerError, admission, unsent, turns, headers, dialect, clientErrors, count })
  const guards = { admission, unsent, turns, tls, plain }
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
  const isStillSignedIn = (caller: Caller) => options.isStillSignedIn?.(caller) ?? true
  const longAnswers = createLongAnswers(isStillSignedIn)
  const heartbeat = clock.every(config.socket_ping_ms, longAnswers.endSignedOut)
  // Before the server is closed, which waits for each connection.
  app.addHook('preClose', async () => {
    tls?.front.close()
    tls?.redirect.close()
    plain?.close()
  })
  app.addHook('onClose', async () => {
    heartbeat.cancel()
    admission.close()
    unsent.close()
  })
  // The sockets' plugin only sees routes added after it was loaded, hence a scope of its own.
  app.register((scope, _options, done) => {
    sockets.addRoutes(scope)
    addRoutes(scope, options, { routes, bodies, clock, dialect, longAnswers, isStillSignedIn })
    const gets = (options.sockets ?? []).map(({ path }) => ({ method: 'GET', path }))
    refuseOtherMethods(scope, [...routes, ...gets], checkUnrouted)
    done()
  })
  answerUnknown(app, new Map(pages.map((page) => [page.path, page])), checkUnrouted)
  return startable(app, { sockets, longAnswers }, options)
}

function hostRule({ browsers, config }: Pick<HttpServerOptions, 'browsers' | 'config'>): BrowserRule['takesHost'] {
  return browsers?.takesHost ?? ((host) => isHostAllowed(host, config.hosts))
}

/** @returns refuses malformed heads, and hosts that this server does not serve */
function headCheck(options: HttpServerOptions): (request: IncomingMessage) => void {
  const takesHost = hostRule(options)
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

function plainOf(
  { browsers, clock, config, routes, tls }: HttpServerOptions,
  by: Pick<SurfaceNeeds, 'answerError' | 'headers'> & {
    admission: Admission
    unsent: Unsent
    turns: Turns
    dialect: Dialect
    clientErrors: (error: NodeJS.ErrnoException, connection: Socket) => void
    count: { answered?: CountAnswered }
  },
): PlainRequests | undefined {
  const those = routes.filter((route): route is Route & Required<Pick<Route, 'isPlain'>> => route.isPlain !== undefined)
  if (those.length === 0) return undefined
  let common: Readonly<Record<string, string>> = {}
  let all = common
  return createPlainRequests({
    ...{ ...by, clock, config },
    routes: those.map((route) => createPlainRoute(route, by)),
    takesHost: hostRule({ browsers, config }),
    headers() {
      const now = by.headers()
      if (now !== common) [common, all] = [now, browsers ? { ...now, ...ANSWERS_DIFFER } : now]
      return all
    },
    mayAnswer: (socket) => !tls || isEncrypted({ socket }),
    onLate: by.clientErrors,
    onAnswered: (asking, answered) => by.count.answered?.(asking, answered),
  })
}

function tlsOf(
  options: HttpServerOptions,
  by: Pick<SurfaceNeeds, 'answerError' | 'bodies' | 'checkHead' | 'headers'> & { turns: Turns; shareOf: ShareOf },
): Tls | undefined {
  if (!options.tls) return undefined
  return {
    front: createTlsFront({ ...options, ...by, ...options.tls, takeTurn: by.turns.take }),
    redirect: createRedirect({
      ...options,
      ...by,
      pathOf(request) {
        by.bodies.watch(request)
        return originForm(request)
      },
      refuse(error, { method = '' }) {
        const { status, headers, body } = by.answerError(error, { method, path: '-' })
        return { status, headers, text: JSON.stringify(body) }
      },
    }),
  }
}

/** Whether the caller may see pages, and learn which paths exist. @throws as `recognize` */
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
 * Answers what no route does, including pages: a route for each of sixty files, with those that refuse other methods,
 * would take 2 MB.
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
    return answer(reply, answerError(error, { method: request.method, path, headers: request.headers }))
  }
}

/** By system error code: why an address cannot be listened on, and what to do. */
const LISTEN_FAULTS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'something listens there already; stop it, or set http.listen to another port'],
  ['EADDRNOTAVAIL', 'this machine has no such address; set http.listen to one that it has'],
  ['ENOTFOUND', 'this name has no address; set http.listen to one that this machine has'],
  ['EACCES', 'ports below 1024 are for root and who is given the right; set http.listen to a higher one'],
])

/** Addresses by which others reach a server that listens on every address; its `url` is for this machine. */
function reachableAt(host: string, port: number, scheme: 'http' | 'https'): { at?: string } {
  if (host !== '0.0.0.0' && host !== '::') return {}
  const all = Object.values(networkInterfaces()).flatMap((infos = []) => infos)
  const outer = all.filter(({ internal, family, address }) => {
    // A link-local address needs its interface beside it, which no browser accepts.
    return !internal && (family === 'IPv4' || host === '::') && !address.startsWith('fe80:')
  })
  return outer.length === 0
    ? {}
    : { at: outer.map(({ address }) => urlOfListen({ host: address, port }, scheme)).join(',') }
}

function startable(
  app: FastifyInstance,
  { sockets, longAnswers }: { sockets: Sockets; longAnswers: LongAnswers },
  { config, clock, log, tls }: HttpServerOptions,
): HttpServer {
  const scheme = tls ? 'https' : 'http'
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
      listening = { host, port: taken, url: urlOfListen({ host, port: taken }, scheme) }
      log.notice('listening', { url: listening.url, ...reachableAt(host, taken, scheme) })
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
