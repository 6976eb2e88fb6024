/** What a route is: who may call it, what it takes and returns, uploads and revisions; and who the caller is. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import type { Role } from '../auth/credentials.ts'
import type { Clock } from '../clock.ts'
import { Fault } from '../pure/fault.ts'
import { durationText } from '../pure/text.ts'
import type { FieldFault } from './schema.ts'

// Uploads: a body passed on as it arrives, too large to hold in memory and too slow for the usual request timeout.

/** Limits of one upload. */
export interface UploadBounds {
  /** Larger uploads are refused: at once if the client declares the length, else when the limit is passed. */
  maxBytes: number
  /** Longest wait for the next byte. Time that the reader itself takes does not count. */
  idleMs: number
  /** Longest time from the head to the last byte, however steadily the client sends. */
  wholeMs: number
  /** A form around the file is passed on as it arrives too, for a handler that opens it; else it is refused. */
  takesForm?: true
}

/** What a handler gets instead of a body. */
export interface Upload {
  /** As the client declares it; undefined if it sends chunks of unknown total length. */
  lengthBytes: number | undefined
  /**
   * The bytes, readable once. Ends when the body is whole. Errors with a Fault: `body_cut` if the client left early, or
   * `request_timeout` or `body_too_large` at a limit. Bytes left unread when the handler is done are discarded.
   */
  stream: Readable
}

/** The whole body, where its bound is small enough for memory. @throws Fault as `Upload.stream` */
export async function wholeUpload({ stream }: Upload): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

/** How long the rest of a refused upload is still read, so that its client gets to see the reason. */
const LINGER_MS = 2000

/**
 * @param body nothing of it may have been read yet
 * @throws Fault `body_too_large` if the client declares too great a length
 */
export function openUpload(body: IncomingMessage, bounds: UploadBounds, clock: Clock): Upload {
  const said = body.headers['content-length']
  const lengthBytes = said === undefined ? undefined : Number(said)
  if (lengthBytes !== undefined && lengthBytes > bounds.maxBytes) throw tooLarge(bounds, `is ${lengthBytes} bytes long`)
  const stream = Readable.from(bytesOf(body, { bounds, clock, lengthBytes }), { objectMode: false })
  return { lengthBytes, stream }
}

/** Discards what was not read: the client sees the answer and stops, or is cut off soon. */
export function endUpload(body: IncomingMessage, clock: Clock): void {
  if (body.complete || body.destroyed) return
  body.on('error', () => {}) // it is cut off below, or by its client
  body.resume()
  const timer = clock.after(LINGER_MS, () => body.destroy())
  body.once('close', () => timer.cancel())
}

/**
 * Reads by hand: the stream's own iterator would destroy the connection when it ends, and the answer must still go out.
 */
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

/** Resolves when there is something to read, or never will be. @throws Fault `request_timeout` */
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

/** The caller, as the daemon's `identify` recognized it. */
export interface Caller {
  name: string
  role: Role
  /** A program with a key of its own rather than a person who signed in. */
  isKey?: boolean
  /** The only things it may see and touch, such as device paths; absent: everything its role allows. */
  only?: readonly string[]
}

/** A handler's input. Bodies, parameters and queries are already checked against the schemas. */
export interface Ask<Body = unknown, Params = Record<string, string>, Query = Record<string, unknown>> {
  body: Body
  params: Params
  query: Query
  /** Undefined only on routes for anyone. */
  caller: Caller | undefined
  /** The bearer token or ticket that was used, for logout; never log it. */
  token: string | undefined
  /** Address of the peer, without port. */
  remoteAddress: string
  /** As sent, names in lower case; never log `authorization`. */
  headers: IncomingHttpHeaders
  /** Aborted when the client goes away. */
  signal: AbortSignal
}

/** How a `WrittenBody` is written. */
export interface Writing {
  /** Resolves when the kernel has the bytes, whose memory may then be used again. @throws Fault `client_gone` */
  write(piece: Uint8Array): Promise<void>
  /** Ends the connection: the answer stays a part of itself. */
  cut(): void
}

/**
 * The body of a reply that is written piece by piece: for long files, of which one buffer then takes piece after piece. A
 * stream needs a new one for each.
 */
export class WrittenBody {
  /** Called once, whatever became of the client. The answer is cut if it throws; its length is that of the reply's headers. */
  readonly writeAll: (writing: Writing) => Promise<void>

  constructor(writeAll: (writing: Writing) => Promise<void>) {
    this.writeAll = writeAll
  }
}

/** A reply other than 200 with JSON. */
export class Reply {
  readonly status: number
  readonly body: unknown
  readonly headers: Record<string, string | string[]>

  /**
   * @param body JSON value, or undefined for an empty body, or a Buffer, Readable or WrittenBody for raw bytes (set content-type)
   * @param headers a list sends one header of that name per entry, as `set-cookie` needs
   */
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
  /** Accepted only under a name of this box itself: for what may be done before anybody can sign in. */
  ownHostOnly?: boolean
  /** Accepted only from a direct caller, not through a proxy: behind a proxy could be anyone. */
  directOnly?: boolean
  /** Answers only pages of this server, opened under the very host of the request: for what holds credentials. */
  sameOriginOnly?: boolean
  /** Accepts a one-time `?ticket=` instead of the header: for what a browser opens by address, such as a download. */
  ticket?: boolean
  /** Accepts a lasting `?token=` beside the header: for players, which are given an address and no header. */
  token?: boolean
  body?: TSchema
  /**
   * Further faults of a body that does not fit its schema, so that all are reported together. For a body that fits,
   * `handle` finds them.
   */
  faultsBeside?: (body: unknown) => FieldFault[]
  /** Largest body if larger than `http.body_bytes`: for a list that is sent whole. */
  bodyBytes?: number
  /** The body, of any type, is passed on as it arrives: see `uploadRoute`. */
  upload?: UploadBounds
  params?: TSchema
  query?: TSchema
  /** Body and query that `handle` reads by itself, for OpenAPI; instead of those that are checked before. */
  reads?: { body?: TSchema | undefined; query?: TSchema | undefined }
  /** Body of a successful reply, for OpenAPI; replies are not filtered through it, tests compare them. */
  reply?: TSchema
  /** Status of a successful reply, for OpenAPI; default: 200. With 204 there is no body. */
  status?: 200 | 201 | 202 | 204
  /** Set on a route that only ever refuses: the status it gives once everything else is in order. */
  refuses?: 409 | 501
  /** Other replies it may give, by status, beside refusals in the common form. */
  replies?: Readonly<Record<number, TSchema>>
  /** It takes `If-Match` and is refused with 412 if the revision has changed since, for OpenAPI. */
  takesIfMatch?: true
  /** It may answer with a part of the reply, 206, for OpenAPI. */
  partial?: true
  /** Content type of the reply if it is not JSON, for OpenAPI. */
  replyType?: string
  /** Body of its refusals, if not the common one. */
  refusal?: TSchema
  /**
   * The caller is identified by a page's cookie instead of the header, so `who` is anyone and this says who may call.
   * `check` runs before the body is read.
   */
  page?: PageRule & {
    /** @throws Fault if the caller may not */
    check(head: Pick<Ask, 'remoteAddress' | 'headers'>): void
  }
  /**
   * Whether `handle` answers such a body at once, without a promise and in less than 64 KiB of JSON: plain requests are then answered without Node's HTTP
   * and Fastify, for a route that is asked tens of thousands of times a second. Only for POST, JSON and anyone.
   */
  isPlain?: (body: never) => boolean
  /**
   * Called when a request was answered without `handle`: refused for its head, its caller or its body. Must not throw.
   */
  onRefused?: (refused: RefusedAsk) => void
  handle: (ask: Ask<never, never, never>) => unknown
}

/** Who may call for a page, and the cookie that identifies them. */
interface PageRule {
  cookie: string
  who: WhoMay
}

/** An operation as OpenAPI describes it; that of a surface has no `handle`. */
export type Described = Omit<Route, 'handle' | 'isPlain' | 'faultsBeside' | 'onRefused' | 'page'> & { page?: PageRule }

/** A request refused before its handler ran. */
export interface RefusedAsk extends Pick<Ask, 'remoteAddress' | 'headers'> {
  status: number
  /** Code of the fault, if it was refused with one. */
  code: string | undefined
}

/** Types a route from its schemas; adds nothing at run time. */
export function route<
  Body extends TSchema = TSchema,
  Params extends TSchema = TSchema,
  Query extends TSchema = TSchema,
>(
  spec: Omit<Route, 'handle' | 'isPlain' | 'body' | 'params' | 'query'> & {
    isPlain?: (body: Static<Body>) => boolean
    body?: Body
    params?: Params
    query?: Query
    handle: (ask: Ask<Static<Body>, Static<Params>, Static<Query>>) => unknown
  },
): Route {
  return spec as Route
}

/** A route whose body is passed on as it arrives, instead of being read and checked. */
export function uploadRoute(
  spec: Omit<Route, 'handle' | 'body' | 'bodyBytes' | 'upload'> & {
    upload: UploadBounds
    handle: (ask: Ask<Upload>) => unknown
  },
): Route {
  return spec as Route
}

/**
 * Whether an empty body may stand for `{}`: a POST whose fields all have a default or are optional. For a change (PUT,
 * PATCH) a body that got lost on the way must be an error, not a change of nothing.
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

// Limits a caller to less than its role allows: a program's key that is for some things only.

/** The route a caller asks for, and where the call comes from. */
export interface Place {
  method: string
  /** As the route table has it: `/api/ports/:path/rest/tx`. */
  path: string
  /** Parameters of the path, decoded once. */
  params: Readonly<Record<string, string>>
  /** Address of the peer, without port. */
  remoteAddress: string
}

/** The one place of a daemon where such limits are decided. Not asked about routes for anyone. */
export interface Fence {
  /** Called for every route and socket after the role check. @throws Fault with a status of 403 */
  check(caller: Caller, place: Place): void
  /** Whether this caller may see a measurement with these labels. */
  showsSample(caller: Caller, labels: Readonly<Record<string, unknown>>): boolean
  /** Called for every known caller that was refused, by its role or by `check`. Must not throw. */
  refused(caller: Caller, place: Place, fault: Fault): void
}

// Concurrent edits: an answer names its revision, and a change may say which revision it was made from.

/**
 * Called at the moment of a change with the current revision; undefined if there is none.
 * @throws Fault `changed_meanwhile`
 */
type Expected = (revision: string | undefined) => void

/**
 * The check that the caller's `If-Match` asks for; without one, anything passes. `*` matches any revision. Quotes may
 * be missing: shells strip them.
 * @source RFC 9110, 13.1.1; weak tags never match
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

/** An answer with its revision, from which the next change may be made. */
export function withRevision(body: unknown, revision: string | null, status = 200): Reply {
  return new Reply(status, body, revision === null ? {} : { etag: `"${revision}"` })
}

// Building blocks of reply schemas: objects that have these fields and no others.

/** Fields not named here are not allowed, so a test finds what a description leaves out. */
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
/** In a question. Up to the last moment that JavaScript tells: beyond, numbers are so coarse that adding a day may change nothing. */
export const moment = Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000, description: 'epoch milliseconds' })
export const fault = object({ code: text, message: text })

// What a daemon decides about a caller.

/** What a daemon recognizes a caller by. */
export interface Credentials {
  /** The Authorization header as sent. */
  authorization: string | undefined
  /** Address of the peer, without port. */
  remoteAddress: string
  /** Created on first use; aborted when the client hangs up. */
  readonly signal?: AbortSignal
}

/** Credentials with the whole head, for checks that look at what proxies and tunnels add. */
export interface Knock extends Credentials {
  headers: IncomingHttpHeaders
  method: string
  /** What stands in `?token=`, on the routes that take it. */
  queryToken?: string | undefined
}

/** Provided by the daemon: the caller these credentials belong to, or undefined. May throw a Fault, such as a wait. */
export type Identify = (knock: Knock) => Caller | undefined | Promise<Caller | undefined>

/** `take` of a ticket store. @param knock where the ticket is used, which may differ from where it was issued */
export type TakeTicket = (ticket: string, knock: Knock) => Caller | undefined
