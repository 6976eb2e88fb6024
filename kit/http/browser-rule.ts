/** What a server holds browsers to: under which names it is called, and for pages of whom. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isOriginOf, isOwnOrigin, originOfReferer, parseOrigin } from '../net/address.ts'
import { Fault } from '../pure/fault.ts'

/**
 * Who may call from within a browser. Browsers add passwords they were told once to whatever a page makes them send, and
 * a board that has no password yet takes what comes: so the page itself is asked where it comes from.
 */
export interface BrowserRule {
  /** Whether a request may name this host, as sent, with its port. Everything else is a name bent to this address. */
  takesHost(host: string | undefined): boolean
  /**
   * Whether pages of this origin may call, beside those served under the very Host of the request.
   * @param origin as browsers write it: `http://10.0.0.7:8080`
   */
  takesOrigin(origin: string): boolean
}

/** Where a request comes from: no page at all, one of this server, one that may call, or any other. */
export type Page = 'none' | 'own' | 'friend' | 'foreign'

/**
 * Goes by Origin, and where there is none by Referer. Browsers send Origin with every request that changes something; a
 * page cannot leave it out, and cannot write another. @source Fetch Standard, 3.1 and 4.9
 */
export function pageOf(headers: IncomingHttpHeaders, rule: Pick<BrowserRule, 'takesOrigin'>): Page {
  const { origin, referer, host } = headers
  if (origin === undefined && referer === undefined) return isForeignFetch(headers) ? 'foreign' : 'none'
  const from = origin === undefined ? originOfReferer(referer ?? '') : parseOrigin(origin)
  if (!from) return 'foreign'
  if (isOriginOf(from, host)) return 'own'
  return rule.takesOrigin(from.text) ? 'friend' : 'foreign'
}

/** Whether a WebSocket is opened for whoever asks: browsers ask nobody before they open one to another site. */
export function opensSocket(headers: IncomingHttpHeaders, rule: BrowserRule | undefined): boolean {
  return rule ? pageOf(headers, rule) !== 'foreign' : isOwnOrigin(headers.origin, headers.host)
}

/** Told by the browser itself, where it tells nothing else. @source W3C Fetch Metadata, 2.4 */
function isForeignFetch(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  return site !== undefined && site !== 'same-origin' && site !== 'none'
}

/** Methods that change nothing: links from anywhere lead here, and what they show stays with who followed them. */
const LOOKS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** A found board may leave, or move: its pages ask again soon. */
const PREFLIGHT_S = 600

/** What is added to the rule for one server. */
export interface BrowserPaths {
  /** Methods of the server's routes, for the answer to a preflight. */
  methods: readonly string[]
  /** Paths, as the route table has them, that answer no page but the server's own, whatever they are asked. */
  sameOriginOnly: ReadonlySet<string>
}

/** Holds every request to the rule, before its credentials are looked at. */
export function holdBrowsers(app: FastifyInstance, rule: BrowserRule, paths: BrowserPaths): void {
  app.addHook('onRequest', async (request, reply) => {
    // No cache between may give the answer for one page to another.
    reply.header('vary', 'origin')
    const page = pageOf(request.headers, rule)
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

/** The same for a request that meets no route: pages of other sites change nothing. @throws Fault `foreign_origin` */
export function checkPage(request: Pick<IncomingMessage, 'method' | 'headers'>, rule: BrowserRule): void {
  if (!LOOKS.has(request.method ?? '') && pageOf(request.headers, rule) === 'foreign') throw foreign(request)
}

/** Whoever reads what this gives can do everything in the name of who signed in: another board's page may not either. */
function checkOwn(request: FastifyRequest, page: Page): void {
  if ((page !== 'own' && page !== 'none') || isForeignFetch(request.headers))
    throw new Fault('foreign_origin', 'this is for pages of this box itself, opened under the very name that is asked')
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

/** Browsers send it without credentials, so it is answered without; a page of this box's own sends none. */
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
