/** Rules for requests that come from browsers: which host names are accepted, and which pages may call. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isOriginOf, isOwnOrigin, originOfReferer, parseOrigin } from '../net/address.ts'
import { Fault } from '../pure/fault.ts'

/**
 * Decides which pages may call. Browsers add remembered passwords to whatever a page makes them send, and a board that
 * has no password yet accepts any request: so the origin of the page itself is checked.
 */
export interface BrowserRule {
  /**
   * Whether a request may name this host, as sent, with its port. Any other name was pointed at this address by someone
   * else (DNS rebinding).
   */
  takesHost(host: string | undefined): boolean
  /**
   * Whether pages of this origin may call, beside those served under the request's own Host.
   * @param origin as browsers write it: `http://10.0.0.7:8080`
   */
  takesOrigin(origin: string): boolean
}

/** The page a request comes from: none, one of this server, one that may call, or any other. */
export type Page = 'none' | 'own' | 'friend' | 'foreign'

/**
 * Goes by Origin, or by Referer if there is none. Browsers send Origin with every request that changes something, and a
 * page can neither omit nor forge it. @source Fetch Standard, 3.1 and 4.9
 */
export function callingPage(headers: IncomingHttpHeaders, rule: Pick<BrowserRule, 'takesOrigin'>): Page {
  const { origin, referer, host } = headers
  if (origin === undefined && referer === undefined) return isForeignFetch(headers) ? 'foreign' : 'none'
  const from = origin === undefined ? originOfReferer(referer ?? '') : parseOrigin(origin)
  if (!from) return 'foreign'
  if (isOriginOf(from, host)) return 'own'
  return rule.takesOrigin(from.text) ? 'friend' : 'foreign'
}

/** Whether a WebSocket may be opened: browsers do not ask before they open one to another site. */
export function opensSocket(headers: IncomingHttpHeaders, rule: BrowserRule | undefined): boolean {
  return rule ? callingPage(headers, rule) !== 'foreign' : isOwnOrigin(headers.origin, headers.host)
}

/** Uses `Sec-Fetch-Site`, for when the browser sends neither Origin nor Referer. @source W3C Fetch Metadata, 2.4 */
function isForeignFetch(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  return site !== undefined && site !== 'same-origin' && site !== 'none'
}

/** Methods that change nothing: any site may link here, and only the user who follows the link sees the result. */
const LOOKS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** No cache in between may give one page's answer to another. */
export const ANSWERS_DIFFER = { vary: 'origin' } as const

/** Kept short because a found board may leave or move; pages then soon ask again. */
const PREFLIGHT_S = 600

/** Per-server additions to the rule. */
export interface BrowserPaths {
  /** Methods of the server's routes, for the answer to a preflight. */
  methods: readonly string[]
  /** Paths, as the route table has them, that answer only the server's own pages, whatever the method. */
  sameOriginOnly: ReadonlySet<string>
}

/** Applies the rule to every request before its credentials are checked. */
export function holdBrowsers(app: FastifyInstance, rule: BrowserRule, paths: BrowserPaths): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(ANSWERS_DIFFER)
    const page = callingPage(request.headers, rule)
    const isOwnOnly = paths.sameOriginOnly.has(request.routeOptions.url ?? '')
    if (isOwnOnly) checkOwn(request, page)
    else if (page === 'friend' && request.headers.origin !== undefined)
      reply.header('access-control-allow-origin', request.headers.origin)
    if (isPreflight(request)) {
      if (page === 'foreign') throw foreign(request)
      if (page === 'friend') return answerPreflight(reply, paths)
    }
    if (page === 'foreign' && !LOOKS.has(request.method)) throw foreign(request)
  })
}

/** The same for a request that matches no route: pages of other sites change nothing. @throws Fault `foreign_origin` */
export function checkPage(request: Pick<IncomingMessage, 'method' | 'headers'>, rule: BrowserRule): void {
  if (!LOOKS.has(request.method ?? '') && callingPage(request.headers, rule) === 'foreign') throw foreign(request)
}

/** Whoever reads this answer can act as the signed-in user, so not even another board's page may. */
function checkOwn(request: FastifyRequest, page: Page): void {
  if ((page !== 'own' && page !== 'none') || isForeignFetch(request.headers))
    throw new Fault('foreign_origin', 'this is for pages of this box itself, opened under the very name that is asked')
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

/** Browsers send it without credentials, so it is answered without them; pages of this box send none. */
function answerPreflight(reply: FastifyReply, { methods }: BrowserPaths): FastifyReply {
  return reply
    .headers({
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': 'authorization, content-type, if-match',
      'access-control-max-age': String(PREFLIGHT_S),
    })
    .code(204)
    .send()
}

function foreign({ headers }: { headers: IncomingHttpHeaders }): Fault {
  const from = headers.origin ?? headers.referer
  const named = from === undefined ? 'another site' : JSON.stringify(from.slice(0, 100))
  return new Fault(
    'foreign_origin',
    `this was sent by a page of ${named}; only pages of this box and of boards it has found may do that`,
  )
}
