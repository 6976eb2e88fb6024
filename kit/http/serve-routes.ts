/** Carries a request to its route, once it is clear who calls, and the answer back. */

import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { bearerOf } from '../auth/credentials.ts'
import type { Clock } from '../clock.ts'
import type { HttpConfig } from '../config/tables.ts'
import { isOwnHost, plainAddress } from '../net/address.ts'
import { Fault } from '../pure/fault.ts'
import { hasProxySign } from '../pure/proxy-signs.ts'
import type { BodyTime } from './admission.ts'
import { type Checked, createCheck, fieldsFault } from './check.ts'
import { type Dialect, jsonDialect } from './dialect.ts'
import type { AnswerError } from './errors.ts'
import type { PlainHead, PlainRoute } from './plain-requests.ts'
import {
  type Ask,
  type Caller,
  endUpload,
  type Fence,
  type Identify,
  mayComeEmpty,
  openUpload,
  type Place,
  type RefusedAsk,
  Reply,
  type Route,
  type TakeTicket,
  type WhoMay,
  type Writing,
  WrittenBody,
} from './route.ts'
import type { FieldFault } from './schema.ts'
import type { LongAnswers } from './unsent.ts'

// Who calls: takes credentials, returns a caller or a refusal.

/** The caller that was recognized, and the token or ticket used. */
interface Recognized {
  caller: Caller | undefined
  token: string | undefined
}

/** What `recognize` needs of a request. */
interface Claim {
  headers: IncomingHttpHeaders
  who: WhoMay
  place: Place
  /** The response that will carry the answer. */
  response: ServerResponse
  /** A one-time ticket from the query, on routes that take one. */
  ticket?: string | undefined
  /** A lasting token from the query, on routes that take one. */
  queryToken?: string | undefined
}

/** How a server recognizes its callers. */
export interface Recognizer {
  identify: Identify
  takeTicket?: TakeTicket | undefined
  /** Limits some callers to less than their role allows. */
  fence?: Fence | undefined
  /** How credentials are sent; default: as a bearer token. */
  dialect?: Dialect
}

/**
 * Recognizes the caller and checks it against the route's rule. Routes for anyone look at no credentials, so that a
 * stale token does not keep its owner from signing in.
 * @throws Fault `unauthorized`, `forbidden`, and what `identify` and the fence throw
 */
export async function recognize(by: Recognizer, claim: Claim): Promise<Recognized> {
  const { who, ticket, headers, place, queryToken, response } = claim
  if (who === 'anyone') return { caller: undefined, token: undefined }
  const { authorization } = headers
  const isTicket = authorization === undefined && ticket !== undefined
  const { method, remoteAddress } = place
  const knock = {
    authorization,
    remoteAddress,
    headers,
    method,
    queryToken,
    get signal() {
      return hangUpSignal(response)
    },
  }
  const caller = isTicket ? by.takeTicket?.(ticket, knock) : await by.identify(knock)
  if (!caller) throw new Fault('unauthorized', refusal(isTicket, authorization, by.dialect ?? jsonDialect))
  try {
    checkRole(who, caller)
    by.fence?.check(caller, place)
  } catch (fault) {
    if (fault instanceof Fault) by.fence?.refused(caller, place, fault)
    throw fault
  }
  return { caller, token: isTicket ? ticket : bearerOf(authorization) }
}

function checkRole(who: WhoMay, caller: Caller): void {
  if (who === 'admin' && caller.role !== 'admin')
    throw new Fault('forbidden', `this needs an administrator, and ${caller.name} is none`)
}

function refusal(isTicket: boolean, authorization: string | undefined, { credentials }: Dialect): string {
  if (isTicket) return 'the ticket is not known: each is good once and for a short time'
  if (authorization === undefined) return `credentials are missing: ${credentials}`
  return 'the credentials are not valid, or no longer: sign in again'
}

/** A signal that is aborted when the client goes away before its answer is out. */
export function hangUpSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (response.destroyed) gone.abort()
  else response.once('close', () => response.writableFinished || gone.abort())
  return gone.signal
}

// Order: check everything, call the route's `handle`, answer.

/** Serves one route. The caller was recognized before the body was read. */
type Serve = (request: FastifyRequest, reply: FastifyReply, by: Recognized) => Promise<unknown>

/** What every route of a server is served with. */
interface ServeNeeds {
  clock: Clock
  dialect: Dialect
  longAnswers: LongAnswers
  /** Whether a caller that was recognized is one still. */
  isStillSignedIn(caller: Caller): boolean
  /** Called once everything was checked, before the route's own `handle`. */
  onHandled?: (request: FastifyRequest) => void
}

/** @returns the route's handler: it checks parameters, query and body together, so that all faults come at once */
function createServe(route: Route, needs: ServeNeeds): Serve {
  const { dialect, longAnswers } = needs
  const checkParams = route.params && createCheck(route.params, 'text', ':')
  const checkQuery = createCheck(route.query ?? (route.method === 'GET' ? IGNORED : NOTHING), 'text', '?')
  const checkBody = createBodyCheck(route, dialect)
  const serve: Serve = async (request, reply, by) => {
    // A body may take its time: who was signed out meanwhile changes nothing any more.
    if (by.caller && request.body !== undefined && !needs.isStillSignedIn(by.caller))
      throw new Fault(
        'unauthorized',
        'the credentials were revoked or changed while the request came in: sign in again',
      )
    const faults: FieldFault[] = []
    const take = (checked: Checked) => {
      faults.push(...checked.faults)
      return checked.value
    }
    const params = checkParams ? take(checkParams(request.params)) : request.params
    const query = take(checkQuery(queryOf(route, request)))
    const checked = route.upload ? undefined : take(checkBody(request.body))
    if (faults.length > 0) throw fieldsFault(faults)
    const body = route.upload ? openUpload(request.raw, route.upload, needs.clock) : checked
    // Not spread: that would read the signal, and create one for every request.
    const ask = Object.assign(askOf(request, reply, by), { body, params, query })
    needs.onHandled?.(request)
    const result = await route.handle(ask as Ask<never, never, never>)
    if (by.caller && result instanceof Reply && isLong(result.body)) longAnswers.add(by.caller, reply.raw)
    return answer(reply, result)
  }
  if (!route.upload) return serve
  return (request, reply, by) => serve(request, reply, by).finally(() => endUpload(request.raw, needs.clock))
}

/** @returns checks a body, or undefined if none was sent */
function createBodyCheck(route: Route, dialect: Dialect): (sent: unknown) => Checked {
  const check = createCheck(route.body ?? NOTHING, dialect.source)
  const nothingSent = () => dialect.nothing() ?? (mayComeEmpty(route) ? {} : undefined)
  return (sent) => {
    if (route.body === undefined && sent === undefined) return { value: undefined, faults: [] }
    const { faults, value } = check(sent === undefined ? nothingSent() : sent)
    if (faults.length === 0 || !route.faultsBeside) return { faults, value }
    return { value, faults: [...faults, ...route.faultsBeside(value)] }
  }
}

/** The route for what is answered without Fastify: the same checks in the same order, the same handler, the same errors. */
export function createPlainRoute(
  route: Route & Required<Pick<Route, 'isPlain'>>,
  { answerError, dialect }: { answerError: AnswerError; dialect: Dialect },
): PlainRoute {
  const check = createBodyCheck(route, dialect)
  const { path } = route
  function sentIn(bytes: Uint8Array, headers: IncomingHttpHeaders): { sent: unknown } | undefined {
    try {
      return { sent: dialect.readBody(bytes, headers['content-type'] ?? '') }
    } catch {
      // Fastify ends a connection whose body it could not read.
      return undefined
    }
  }

  function answered({ sent }: { sent: unknown }, { headers, remoteAddress }: PlainHead): Reply | undefined {
    const { faults, value: body } = check(sent)
    if (faults.length > 0) throw fieldsFault(faults)
    if (!route.isPlain(body as never)) return undefined
    // Nothing waits, so nothing can be given up.
    const { signal } = NEVER
    const ask: Ask = {
      body,
      headers,
      remoteAddress,
      signal,
      params: {},
      query: {},
      caller: undefined,
      token: undefined,
    }
    const result = route.handle(ask as Ask<never, never, never>)
    if (result instanceof Promise) throw new TypeError(`${path} answers later what it called plain`)
    return result instanceof Reply ? result : new Reply(200, result)
  }
  return {
    path,
    answer(bytes, head) {
      const read = sentIn(bytes, head.headers)
      try {
        return read && answered(read, head)
      } catch (error) {
        return answerError(error, { method: 'POST', path, headers: head.headers })
      }
    },
  }
}

const NEVER = new AbortController()

/** A route without a body or query schema takes an empty one: unknown names are refused here as everywhere. */
const NOTHING = { type: 'object', properties: {}, additionalProperties: false } as TSchema

/**
 * A GET without a query schema ignores its query: clients add `?_=1` to get past caches. A change refuses it, since
 * `?unitId=1` or `?dry_run=1` there is meant to have an effect.
 */
const IGNORED = { type: 'object' } as TSchema

function queryOf(route: Route, request: FastifyRequest): unknown {
  const query = { ...(request.query as Record<string, unknown>) }
  if (route.ticket) delete query.ticket
  if (route.token) delete query.token
  return query
}

function askOf(request: FastifyRequest, reply: FastifyReply, { caller, token }: Recognized) {
  let gone: AbortSignal | undefined
  return {
    caller,
    token,
    remoteAddress: plainAddress(request.ip),
    headers: request.headers,
    // Few handlers wait for anything, so the signal is created on first use.
    get signal() {
      gone ??= hangUpSignal(reply.raw)
      return gone
    },
  }
}

function isLong(body: unknown): boolean {
  return body instanceof Readable || body instanceof WrittenBody
}

/** Sends a handler's result: a Reply as it is, undefined as 204, anything else as 200 with JSON. */
export function answer(reply: FastifyReply, result: unknown): FastifyReply {
  const body = result instanceof Reply ? result.body : result
  if (result instanceof Reply) reply.code(result.status).headers(result.headers)
  else reply.code(result === undefined ? 204 : 200)
  if (body === undefined) return reply.send()
  if (body instanceof WrittenBody) return writeOut(reply, body)
  if (body instanceof Readable) reply.raw.once('close', () => body.destroy()) // the reply to a HEAD ends without it
  if (body instanceof Uint8Array || body instanceof Readable) return reply.send(body)
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
}

/** Past Fastify, which takes streams alone. */
function writeOut(reply: FastifyReply, body: WrittenBody): FastifyReply {
  const { raw, request } = reply
  reply.hijack()
  raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders)
  let onGone: ((fault: Fault) => void) | undefined
  const isOver = () => raw.destroyed || request.method === 'HEAD'
  const gone = () => new Fault('client_gone', 'the client left before it had the whole answer')
  raw.once('close', () => onGone?.(gone()))
  const writing: Writing = {
    write: (piece) =>
      new Promise((resolve, reject) => {
        if (isOver()) return reject(gone())
        onGone = reject
        raw.write(piece, (error) => (error ? reject(gone()) : resolve()))
      }),
    cut: () => void raw.destroy(),
  }
  void body.writeAll(writing).then(
    () => raw.end(),
    () => (request.method === 'HEAD' ? raw.end() : raw.destroy()),
  )
  return reply
}

/** Options given to the server. */
interface RouteOptions extends Recognizer {
  config: HttpConfig
}

/** What routes are served with. */
interface RouteNeeds extends ServeNeeds {
  routes: readonly Route[]
  bodies: BodyTime
}

/** Adds each route with its limits; the caller is recognized before the body is read. */
export function addRoutes(app: FastifyInstance, by: RouteOptions, needs: RouteNeeds): void {
  for (const route of needs.routes.filter(({ upload }) => !upload)) addRoute(app, by, { route, ...needs })
  // Uploads get their own scope, since body parsers belong to a scope.
  app.register((scope, _options, done) => {
    takeAnyType(scope)
    for (const route of needs.routes.filter(({ upload }) => upload)) addRoute(scope, by, { route, ...needs })
    done()
  })
}

function addRoute(app: FastifyInstance, by: RouteOptions, { route, ...needs }: RouteNeeds & { route: Route }): void {
  const handled = new WeakSet<FastifyRequest>()
  const serve = createServe(route, { ...needs, onHandled: (request) => void handled.add(request) })
  const recognized = new WeakMap<FastifyRequest, Recognized>()
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit: Math.max(by.config.body_bytes, route.bodyBytes ?? 0),
    config: { takesForm: route.upload?.takesForm },
    // Runs before the body is read: a caller that may not use a route does not get to send it 64 KiB.
    onRequest: async (request, reply) => {
      const { headers } = request
      if (route.ownHostOnly && !isOwnHost(headers.host, hostname(), by.config.hosts))
        throw new Fault(
          'foreign_host',
          `this is done under the box's address or its name, ${hostname()}; other names go into http.hosts`,
        )
      if (route.directOnly && hasProxySign(headers))
        throw new Fault('relayed', 'this is done on the page of the box itself, and not through a proxy')
      const { ticket, token } = request.query as Record<string, unknown>
      const claim = {
        ...{ who: route.who, headers, place: placeOf(route, request), response: reply.raw },
        ...(route.ticket === true && typeof ticket === 'string' && { ticket }),
        ...(route.token === true && typeof token === 'string' && { queryToken: token }),
      }
      recognized.set(request, await recognize(by, claim))
      route.page?.check({ remoteAddress: claim.place.remoteAddress, headers })
      if (route.upload) needs.bodies.exempt(request.raw)
    },
    handler: (request, reply) => serve(request, reply, recognized.get(request) ?? NOBODY),
    ...(route.onRefused && tellRefused(route.onRefused, handled)),
  })
}

function tellRefused(onRefused: (refused: RefusedAsk) => void, handled: WeakSet<FastifyRequest>) {
  const codes = new WeakMap<FastifyRequest, string>()
  return {
    async onError(request: FastifyRequest, _reply: FastifyReply, error: Error) {
      if (error instanceof Fault) codes.set(request, error.code)
    },
    async onResponse(request: FastifyRequest, { statusCode: status }: FastifyReply) {
      if (handled.has(request)) return
      const { headers, ip } = request
      onRefused({ remoteAddress: plainAddress(ip), headers, status, code: codes.get(request) })
    },
  }
}

/**
 * Programs declare any type for the bytes of a file; curl declares a form. A multipart form around the file is refused,
 * but by a route that opens it.
 */
function takeAnyType(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', ({ headers, routeOptions }, _body, done) => {
    const { takesForm } = routeOptions.config as { takesForm?: true }
    const isWrapped = !takesForm && /^\s*multipart\//i.test(headers['content-type'] ?? '')
    const sentence = 'the body is a form that holds a file, expected the bytes of the file alone (curl -X POST -T FILE)'
    done(isWrapped ? new Fault('unsupported_media_type', sentence) : null)
  })
}

function placeOf({ method, path }: Route, request: FastifyRequest): Place {
  const params = request.params as Record<string, string>
  return { method, path, params, remoteAddress: plainAddress(request.ip) }
}

const NOBODY: Recognized = { caller: undefined, token: undefined }

/** Fastify answers a method that a path does not have with 404; we answer 405 with Allow. */
export function refuseOtherMethods(
  app: FastifyInstance,
  routes: readonly { method: string; path: string }[],
  checkUnrouted: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  const byPath = Map.groupBy(routes, (route) => route.path)
  for (const [url, those] of byPath) {
    const has: string[] = those.map((route) => route.method)
    if (has.includes('GET')) has.push('HEAD')
    const allow = [...has, 'OPTIONS'].join(', ')
    app.route({
      method: app.supportedMethods.filter((method) => !has.includes(method)),
      url,
      // No Access-Control headers, so pages of other sites get nothing here.
      onRequest: async (request, reply) => {
        await checkUnrouted(request, reply)
        return refuseMethod(request, reply, allow)
      },
      handler: () => undefined,
    })
  }
}

/** Answers OPTIONS with the allowed methods; refuses anything else and names them. */
export function refuseMethod(request: FastifyRequest, reply: FastifyReply, allow: string): FastifyReply {
  reply.header('allow', allow)
  if (request.method === 'OPTIONS') return reply.code(204).send()
  throw new Fault('method_not_allowed', `${request.method} is not known on this path, only ${allow}`)
}
