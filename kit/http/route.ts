/** What a route is: who may, what it takes and gives, uploads and revisions; and who is asking. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import type { Role } from '../auth/credentials.ts'
import type { Clock } from '../clock.ts'
import { Fault } from '../pure/fault.ts'
import { durationText } from '../pure/text.ts'
import { type Dialect, jsonDialect } from './dialect.ts'
import type { FieldFault } from './schema.ts'

// A body that is handed on as it arrives: too large to be held, too long under way for the time of a usual request.

/** Bounds of one upload. */
export interface UploadBounds {
  /** Larger is refused: at once where the client says how long it is, else where it grows too long. */
  maxBytes: number
  /** Time that may pass without a byte while the next one is waited for. What the reader takes for itself does not count. */
  idleMs: number
  /** Time from the head to the last byte, however lively the client is. */
  wholeMs: number
}

/** What a handler gets in place of a body. */
export interface Upload {
  /** As the client says; undefined where it sends in chunks of which it does not know the number. */
  lengthBytes: number | undefined
  /**
   * The bytes, once. Ends when the body is whole. Errors with a Fault: `body_cut` where the client left before, or
   * `request_timeout`, `body_too_large` by the bounds. What is left unread when the handler is done is thrown away.
   */
  stream: Readable
}

/** Time for which the rest of a refused upload is still taken in, so that its client gets to read why. */
const LINGER_MS = 2000

/**
 * @param body of which nothing was read yet
 * @throws Fault `body_too_large` where the client says so itself
 */
export function openUpload(body: IncomingMessage, bounds: UploadBounds, clock: Clock): Upload {
  const said = body.headers['content-length']
  const lengthBytes = said === undefined ? undefined : Number(said)
  if (lengthBytes !== undefined && lengthBytes > bounds.maxBytes) throw tooLarge(bounds, `is ${lengthBytes} bytes long`)
  const stream = Readable.from(bytesOf(body, { bounds, clock, lengthBytes }), { objectMode: false })
  return { lengthBytes, stream }
}

/** Lets go of what was not read: its client hears the answer and stops, or is cut off soon. */
export function endUpload(body: IncomingMessage, clock: Clock): void {
  if (body.complete || body.destroyed) return
  body.on('error', () => {}) // it is cut off below, or by its client
  body.resume()
  const timer = clock.after(LINGER_MS, () => body.destroy())
  body.once('close', () => timer.cancel())
}

/** Read by hand: an iterator of the stream's own would end the connection with itself, and the answer has yet to go out. */
async function* bytesOf(
  body: IncomingMessage,
  by: { bounds: UploadBounds; clock: Clock; lengthBytes: number | undefined },
): AsyncGenerator<Buffer> {
  const { bounds, clock, lengthBytes } = by
  const deadlineMs = clock.monotonicMs() + bounds.wholeMs
  for (let bytes = 0; ; ) {
    const chunk: Buffer | null = body.read()
    if (chunk !== null) {
      bytes += chunk.length
      if (bytes > bounds.maxBytes) throw tooLarge(bounds, 'goes on')
      yield chunk
      continue
    }
    if (body.readableEnded) return
    if (body.destroyed) throw cutAfter(bytes, lengthBytes)
    await moved(body, clock, bounds, deadlineMs)
  }
}

/** Resolves when there is something to read, or there never will be. @throws Fault `request_timeout` */
function moved(body: IncomingMessage, clock: Clock, bounds: UploadBounds, deadlineMs: number): Promise<void> {
  const leftMs = deadlineMs - clock.monotonicMs()
  const sentence =
    leftMs > bounds.idleMs
      ? `stood still for ${durationText(bounds.idleMs)}`
      : `took longer than ${durationText(bounds.wholeMs)}`
  return new Promise((resolve, reject) => {
    const timer = clock.after(Math.min(bounds.idleMs, leftMs), () => {
      end()
      reject(new Fault('request_timeout', `the upload ${sentence}`))
    })
    function end(): void {
      timer.cancel()
      for (const event of MOVES) body.off(event, onMove)
    }
    function onMove(): void {
      end()
      resolve()
    }
    for (const event of MOVES) body.on(event, onMove)
  })
}

const MOVES = ['readable', 'end', 'close', 'error'] as const

function cutAfter(bytes: number, lengthBytes: number | undefined): Fault {
  const of = lengthBytes === undefined ? '' : ` of ${lengthBytes}`
  return new Fault('body_cut', `the connection ended after ${bytes}${of} bytes of the body`)
}

function tooLarge({ maxBytes }: UploadBounds, seen: string): Fault {
  return new Fault('body_too_large', `the upload ${seen}, and at most ${maxBytes} bytes are taken`)
}

/** Who may call a route. `anyone` needs no credentials, `user` any valid ones, `admin` those of an administrator. */
export type WhoMay = 'anyone' | 'user' | 'admin'

/** Who calls, as the daemon's `identify` found it. */
export interface Caller {
  name: string
  role: Role
  /** A program with a key of its own rather than a person who signed in. */
  isKey?: boolean
  /** The only things it may see and touch, such as device paths; absent: everything its role allows. */
  only?: readonly string[]
}

/** What a handler is given. Bodies, parameters and queries are already checked against the schemas. */
export interface Ask<Body = unknown, Params = Record<string, string>, Query = Record<string, unknown>> {
  body: Body
  params: Params
  query: Query
  /** Who calls; undefined only on routes for anyone. */
  caller: Caller | undefined
  /** The bearer token or ticket that was used, for logout; never log it. */
  token: string | undefined
  /** Address of the peer, without port. */
  remoteAddress: string
  /** As they came, names in lower case; never log `authorization`. */
  headers: IncomingHttpHeaders
  /** Aborted when the client goes away. */
  signal: AbortSignal
}

/** A reply other than 200 with JSON. */
export class Reply {
  readonly status: number
  readonly body: unknown
  readonly headers: Record<string, string | string[]>

  /** @param body JSON value, or undefined for an empty body, or a Buffer or Readable for raw bytes (set content-type)
   * @param headers a list stands for as many headers of that name, as `set-cookie` needs */
  constructor(status: number, body?: unknown, headers: Record<string, string | string[]> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** One route of a daemon's table in `api/routes.ts`. Schemas are validation, type and OpenAPI text at once. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Fastify path, `/api/ports/:path/rest/tx`; parameters arrive decoded. */
  path: string
  who: WhoMay
  summary: string
  /** Taken only under a name of this box itself: for what may be done before anybody can sign in. */
  ownHostOnly?: boolean
  /** Taken only from who calls himself, through no proxy: behind one stands the whole world. */
  directOnly?: boolean
  /** Answers no page but those of this server, opened under the very host that is asked: for what holds credentials. */
  sameOriginOnly?: boolean
  /** Takes a one-time `?ticket=` in place of the header: for what a browser opens by address, such as a download. */
  ticket?: boolean
  body?: TSchema
  /**
   * What else is wrong with a body that does not fit its schema, so that it is told with the rest. Of one that fits,
   * `handle` finds it.
   */
  faultsBeside?: (body: unknown) => FieldFault[]
  /** Largest body, where it is larger than `http.body_bytes`: for a list that is sent whole. */
  bodyBytes?: number
  /** The body, of whatever type, is handed on as it arrives: see `uploadRoute`. */
  upload?: UploadBounds
  params?: TSchema
  query?: TSchema
  /** Shapes of a body and a query that `handle` reads by itself, for OpenAPI; in place of those that are checked before. */
  reads?: { body?: TSchema | undefined; query?: TSchema | undefined }
  /** Shape of the reply where all went well, for OpenAPI; replies are not filtered through it, tests compare them. */
  reply?: TSchema
  /** Its status, for OpenAPI; default: 200. With 204 there is none. */
  status?: 200 | 201 | 202 | 204
  /** It answers nothing but refusals, of which this is the status once everything else is well. */
  refuses?: 409 | 501
  /** Other shapes that it may answer, by status, beside refusals in the form that all have. */
  replies?: Readonly<Record<number, TSchema>>
  /** It takes `If-Match` and is refused with 412 where another revision is there by now, for OpenAPI. */
  takesIfMatch?: true
  /** Content type of the reply where it is not JSON, for OpenAPI. */
  replyType?: string
  /** Shape of its refusals, where it is not that of all others. */
  refusal?: TSchema
  /**
   * Who calls is known by a cookie of a page rather than by the header, so `who` is anyone and this says who may. `check`
   * is asked before the body is read.
   */
  page?: PageRule & {
    /** @throws Fault where whoever calls may not */
    check(head: Pick<Ask, 'remoteAddress' | 'headers'>): void
  }
  /** Told of a call that was answered without `handle`: for its head, its caller or its body. Must not throw. */
  onRefused?: (refused: RefusedAsk) => void
  handle: (ask: Ask<never, never, never>) => unknown
}

/** Who may call for a page, and the cookie that tells who somebody is. */
interface PageRule {
  cookie: string
  who: WhoMay
}

/** What OpenAPI says of an operation; that of a surface has no `handle`. */
export type Described = Omit<Route, 'handle' | 'faultsBeside' | 'onRefused' | 'page'> & { page?: PageRule }

/** A call that came no further. */
export interface RefusedAsk extends Pick<Ask, 'remoteAddress' | 'headers'> {
  status: number
  /** Of the fault that it was refused with, where it was one. */
  code: string | undefined
}

/** Types a route from its schemas; adds nothing at run time. */
export function route<
  Body extends TSchema = TSchema,
  Params extends TSchema = TSchema,
  Query extends TSchema = TSchema,
>(
  spec: Omit<Route, 'handle' | 'body' | 'params' | 'query'> & {
    body?: Body
    params?: Params
    query?: Query
    handle: (ask: Ask<Static<Body>, Static<Params>, Static<Query>>) => unknown
  },
): Route {
  return spec as Route
}

/** A route whose body is handed on as it arrives, in place of being read and checked. */
export function uploadRoute(
  spec: Omit<Route, 'handle' | 'body' | 'bodyBytes' | 'upload'> & {
    upload: UploadBounds
    handle: (ask: Ask<Upload>) => unknown
  },
): Route {
  return spec as Route
}

/**
 * Whether nothing at all may be sent in place of `{}`: a POST of which every field has a default or may be left out. Of a
 * change (PUT, PATCH) a body that got lost on the way is rather named than taken for a wish to change nothing.
 */
export function mayComeEmpty({ method, body }: Pick<Route, 'method' | 'body'>): boolean {
  if (method !== 'POST' || body === undefined) return false
  const { required = [], properties = {} } = body as ObjectSchema
  return required.every((name) => properties[name]?.default !== undefined)
}

interface ObjectSchema {
  /** TypeBox names fields with a default here too. */
  required?: readonly string[]
  properties?: Readonly<Record<string, { default?: unknown }>>
}

// What holds a caller to less than its role allows: a program's key that is for some things only.

/** Where somebody knocks. */
export interface Place {
  method: string
  /** As the route table has it: `/api/ports/:path/rest/tx`. */
  path: string
  /** Parameters of the path, decoded once. */
  params: Readonly<Record<string, string>>
  /** Address of the peer, without port. */
  remoteAddress: string
}

/** The one place of a daemon where that is decided. Routes for anyone are not asked about. */
export interface Fence {
  /** Asked of every route and socket after the role. @throws Fault with a status of 403 */
  check(caller: Caller, place: Place): void
  /** Whether a measurement with these labels is this caller's to see. */
  showsSample(caller: Caller, labels: Readonly<Record<string, unknown>>): boolean
  /** Told of every known caller that was refused, by its role or by `check`. Must not throw. */
  refused(caller: Caller, place: Place, fault: Fault): void
}

// Whether the client of a request is still there.

/** A signal that is aborted when the client goes away before its answer is out. */
export function hangUpSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (response.destroyed) gone.abort()
  else response.once('close', () => response.writableFinished || gone.abort())
  return gone.signal
}

// Two who edit the same thing: an answer names its revision, and a change may say which one it was made from.

/**
 * Asked in the moment of a change, with the revision of what is there; undefined where nothing is.
 * @throws Fault `changed_meanwhile`
 */
type Expected = (revision: string | undefined) => void

/**
 * What the caller's `If-Match` allows; without one, everything. `*` is whatever is there. Quotes may be missing: shells
 * take them away.
 * @source RFC 9110, 13.1.1; weak ones never match
 */
export function ifMatch({ headers }: { headers: IncomingHttpHeaders }): Expected {
  const given = headers['if-match']
  if (given === undefined) return () => {}
  const tags = given.split(',').map((tag) => tag.trim())
  return (revision) => {
    if (revision !== undefined && tags.some((tag) => tag === '*' || tag === revision || tag === `"${revision}"`)) return
    throw new Fault('changed_meanwhile', changedSentence(revision), { details: { revision: revision ?? null } })
  }
}

function changedSentence(revision: string | undefined): string {
  if (revision === undefined) return 'Nothing is there any more: it was removed meanwhile. Nothing was changed.'
  return 'It was changed meanwhile, so nothing of yours was saved. Read it again, then send your change with its new ETag.'
}

/** An answer under the revision that the next change of it may be made from. */
export function withRevision(body: unknown, revision: string | null, status = 200): Reply {
  return new Reply(status, body, revision === null ? {} : { etag: `"${revision}"` })
}

// What shapes of answers are made of: objects that have these fields and no others.

/** A field that is not named here may not be there: a test finds what a description leaves out. */
export function object<Properties extends TProperties>(properties: Properties, options: { description?: string } = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

export function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

export const text = Type.String()
export const count = Type.Integer({ minimum: 0 })
export const number = Type.Number()
export const yesNo = Type.Boolean()
export const instant = Type.Integer({ description: 'epoch milliseconds' })
export const fault = object({ code: text, message: text })

// The bearer token of an Authorization header.

/** RFC 6750, 2.1: `b64token`. The length bounds what is hashed for a stranger. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]{1,512}=*)$/i

/** @returns undefined where there is no header, or one of another scheme or form */
export function bearerOf(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header.trim())?.[1]
}

// Who may call a route: credentials in, a caller or a refusal out.

/** What a daemon is asked to recognize a caller by. */
export interface Credentials {
  /** The Authorization header as sent. */
  authorization: string | undefined
  /** Address of the peer, without port. */
  remoteAddress: string
  /** Made when it is asked for; aborted when the client hangs up. */
  readonly signal?: AbortSignal
}

/** The same with the whole head, for who judges by what proxies and tunnels say of a caller. */
export interface Knock extends Credentials {
  headers: IncomingHttpHeaders
}

/** Given by the daemon: who these credentials belong to, undefined where to nobody. May throw a Fault, such as a wait. */
export type Identify = (knock: Knock) => Caller | undefined | Promise<Caller | undefined>

/** `take` of a ticket store. @param knock from where it is shown, which may be elsewhere than where it was given */
export type TakeTicket = (ticket: string, knock: Knock) => Caller | undefined

/** Who was recognized, and by which token or ticket. */
export interface Recognized {
  caller: Caller | undefined
  token: string | undefined
}

/** What `recognize` needs of a request. */
interface Claim {
  headers: IncomingHttpHeaders
  who: WhoMay
  place: Place
  /** What the answer will go out by. */
  response: ServerResponse
  /** A one-time ticket from the query, on routes that take one. */
  ticket?: string | undefined
}

/** How a server recognizes its callers. */
export interface Recognizer {
  identify: Identify
  takeTicket?: TakeTicket | undefined
  /** Holds some callers to less than their role. */
  fence?: Fence | undefined
  /** How credentials are sent; default: as a bearer token. */
  dialect?: Dialect
}

/**
 * Recognizes the caller and holds the route's rule against it. Routes for anyone look at no credentials, so that
 * a stale token does not keep its owner from signing in.
 * @throws Fault `unauthorized`, `forbidden`, and what `identify` and the fence throw
 */
export async function recognize(by: Recognizer, claim: Claim): Promise<Recognized> {
  const { who, ticket, headers, place, response } = claim
  if (who === 'anyone') return { caller: undefined, token: undefined }
  const { authorization } = headers
  const isTicket = authorization === undefined && ticket !== undefined
  const { remoteAddress } = place
  const knock = {
    authorization,
    remoteAddress,
    headers,
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
    throw new Fault('forbidden', `this needs an administrator, and ${caller.name} is signed in as ${caller.role}`)
}

function refusal(isTicket: boolean, authorization: string | undefined, { credentials }: Dialect): string {
  if (isTicket) return 'the ticket is not known: each is good once and for a short time'
  if (authorization === undefined) return `credentials are missing: ${credentials}`
  return 'the credentials are not valid, or no longer: sign in again'
}
