/** What a daemon says of one HTTP route: path, who may, shapes, and what is done. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Static, TSchema } from 'typebox'
import type { Role } from '../auth/roles.ts'
import type { FieldFault } from './sentences.ts'
import type { Upload, UploadBounds } from './upload.ts'

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
