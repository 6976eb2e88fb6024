/** Routes that every daemon has: OpenAPI, metrics, journal. */

import { Readable } from 'node:stream'
import { type TSchema, Type } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Journal } from '../records/journal.ts'
import { type Dialect, jsonDialect } from './dialect.ts'
import type { Metrics } from './metrics.ts'
import { type Described, type Fence, mayComeEmpty, Reply, type Route, route, type WhoMay } from './route.ts'
import { isPathBelow, type Surface } from './surface.ts'

// The OpenAPI 3.1 description of a route table. TypeBox schemas are JSON Schema 2020-12, which 3.1 takes as it is.

/** @source OpenAPI Specification 3.1.1 */
export function openApiOf(of: {
  title: string
  version: string
  routes: readonly Described[]
  dialect?: Dialect
}): unknown {
  const { dialect = jsonDialect } = of
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of of.routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, dialect) }
  }
  return {
    openapi: '3.1.1',
    info: { title: of.title, version: of.version },
    paths,
    components: {
      securitySchemes: {
        token: dialect.securityScheme,
        ...dialect.moreSchemes,
        ...(of.routes.some(({ token }) => token) && { query: { type: 'apiKey', in: 'query', name: 'token' } }),
        ...(of.routes.some(({ ticket }) => ticket) && { ticket: { type: 'apiKey', in: 'query', name: 'ticket' } }),
        ...Object.fromEntries(of.routes.flatMap(({ page }) => (page ? [['page', cookieScheme(page.cookie)]] : []))),
      },
      schemas: { Error: ERROR },
    },
  }
}

/** The client sends back the revision it read, so that two editors do not undo each other. */
const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'ETag that the change was made from; without it the change replaces whatever is there',
}

function cookieScheme(name: string): unknown {
  return { type: 'apiKey', in: 'cookie', name }
}

/** The body of every reply that is not 2xx. */
const ERROR = {
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: { type: 'string', description: 'stable code' },
    message: { type: 'string', description: 'one sentence for people' },
    fields: {
      type: 'array',
      description: 'each field that is wrong, with a sentence',
      items: {
        type: 'object',
        required: ['field', 'message'],
        properties: { field: { type: 'string' }, message: { type: 'string' } },
      },
    },
  },
}

function operationOf(given: Described, dialect: Dialect): unknown {
  const { mediaType } = dialect
  const route = given.reads ? { ...given, body: undefined, query: undefined, ...given.reads } : given
  return {
    operationId: operationId(route),
    summary: route.summary,
    description: { anyone: 'For anyone.', user: 'For any user.', admin: 'For administrators.' }[whoMay(route)],
    ...(whoMay(route) === 'anyone' ? {} : { security: securityOf(route, dialect) }),
    parameters: [
      ...pathParameters(route),
      ...parameters(route.query, 'query'),
      ...(route.takesIfMatch ? [IF_MATCH] : []),
    ],
    ...(route.body && {
      requestBody: { required: !mayComeEmpty(route), content: { [mediaType]: { schema: asSent(route.body) } } },
    }),
    // Unless its handler reads the bytes as JSON: then they are described as such.
    ...(route.upload &&
      !route.body && {
        requestBody: { required: true, content: { 'application/octet-stream': {} } },
      }),
    responses: { ...successOf(route), ...othersOf(route), ...refusalsOf(route) },
  }
}

/** A schema lists fields with a default as required: that is true of what is read, but not of what is sent. */
function asSent(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(asSent)
  if (typeof schema !== 'object' || schema === null) return schema
  const { required, properties, ...rest } = schema as { required?: unknown; properties?: object }
  const copy: Record<string, unknown> = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, asSent(value)]),
  )
  if (properties === undefined) return required === undefined ? copy : { required, ...copy }
  const fields = Object.entries(properties)
  const isLeft = (name: unknown) => fields.some(([key, field]) => key === name && field.default !== undefined)
  const left = Array.isArray(required) ? required.filter((name) => !isLeft(name)) : []
  return {
    ...copy,
    ...(left.length > 0 && { required: left }),
    properties: Object.fromEntries(fields.map(([key, field]) => [key, asSent(field)])),
  }
}

/** Which callers are allowed, by the header or by the cookie of a page. */
export function whoMay({ page, who }: Pick<Described, 'page' | 'who'>): WhoMay {
  return page?.who ?? who
}

function securityOf({ page, ticket, token }: Described, { moreSchemes = {} }: Dialect): unknown[] {
  if (page) return [{ page: [] }]
  const more = Object.keys(moreSchemes).map((name) => ({ [name]: [] }))
  return [{ token: [] }, ...more, ...(token ? [{ query: [] }] : []), ...(ticket ? [{ ticket: [] }] : [])]
}

function successOf({
  partial,
  refuses,
  reply,
  replyType = JSON_TYPE,
  status = 200,
}: Described): Record<string, unknown> {
  if (refuses !== undefined) return {}
  if (status === 204) return { 204: { description: 'done' } }
  const content = { [replyType]: reply ? { schema: reply } : {} }
  return { [status]: { description: 'done', content }, ...(partial && { 206: { description: 'a part', content } }) }
}

function othersOf({ replies = {} }: Described): Record<string, unknown> {
  const entries = Object.entries(replies)
  return Object.fromEntries(
    entries.map(([status, schema]) => [status, { description: 'answered so', content: { [JSON_TYPE]: { schema } } }]),
  )
}

/** Lists statuses that often need telling apart, and ranges for the rest: docs/ERRORS.md has the codes. */
function refusalsOf(route: Described): Record<string, unknown> {
  const found = ['400', '403', '500', '503', '4XX', '5XX']
  if (route.refuses) found.push(String(route.refuses))
  if (whoMay(route) !== 'anyone') found.push('401')
  if (route.path.includes(':')) found.push('404')
  if (route.takesIfMatch) found.push('412')
  if (route.body || route.upload) found.push('408', '413', '415')
  if (route.method !== 'GET') found.push('507')
  const schema = route.refusal ?? { $ref: '#/components/schemas/Error' }
  const taken = new Set(Object.keys(route.replies ?? {}))
  const own = found.filter((status) => !taken.has(status))
  const content = { [JSON_TYPE]: { schema } }
  return Object.fromEntries(own.map((status) => [status, { description: WORDS[status] ?? 'refused', content }]))
}

const JSON_TYPE = 'application/json'

/** `POST /api/ports/:path/open` as `post_api_ports_path_open`: unique because method and path are. */
function operationId({ method, path }: Described): string {
  return `${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+/g, '_').replace(/_$/, '')}`
}

const WORDS: Readonly<Record<string, string>> = {
  400: 'not what was expected',
  401: 'no valid credentials',
  403: 'not allowed for this user, key or page',
  404: 'nothing of this name is here',
  409: 'not as things are now',
  408: 'the body came too slowly',
  412: 'changed by somebody else since the revision of If-Match',
  413: 'the body is too large',
  415: 'the body is declared as another type',
  500: 'failed',
  501: 'not there yet',
  503: 'too much to do: try again after Retry-After',
  507: 'the disk did not take it: as before',
  '4XX': 'refused',
  '5XX': 'failed',
}

/** Every name in the path is a parameter, with or without a schema. */
function pathParameters(route: Described): unknown[] {
  const schemas = (route.params as { properties?: Record<string, unknown> } | undefined)?.properties ?? {}
  const names = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '')
  return names.map((name) => ({ name, in: 'path', required: true, schema: schemas[name] ?? { type: 'string' } }))
}

function parameters(schema: TSchema | undefined, where: 'query'): unknown[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, { default?: unknown }>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    required: required.includes(name) && property.default === undefined,
    schema: property,
  }))
}

/** Path of the description; below a surface that covers this path, it is moved beside it. */
const DESCRIPTION = '/api/openapi.json'

const openApiDocument = Type.Object({
  openapi: Type.String(),
  info: Type.Object({ title: Type.String(), version: Type.String() }),
  paths: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())),
  components: Type.Record(Type.String(), Type.Unknown()),
})

/** @returns `GET /api/openapi.json` over the routes given and these two, and `GET /metrics` */
export function kitRoutes(of: {
  title: string
  version: string
  routes: readonly Route[]
  metrics: Metrics
  fence?: Fence
  dialect?: Dialect
  surface?: Pick<Surface, 'prefix' | 'describes'>
}): Route[] {
  let description: unknown
  const own: Route[] = [
    {
      method: 'GET',
      path: of.surface && isPathBelow(DESCRIPTION, of.surface.prefix) ? '/openapi.json' : DESCRIPTION,
      who: 'user',
      summary: 'This description, OpenAPI 3.1',
      reply: openApiDocument,
      handle: () => {
        description ??= openApiOf({ ...of, routes: [...(of.surface?.describes ?? []), ...of.routes, ...own] })
        return description
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      who: 'user',
      summary: 'Counts and gauges, Prometheus text',
      replyType: 'text/plain',
      async handle({ caller }) {
        const { fence } = of
        // Only the few callers limited to some ports get filtered text; all others get the library's own.
        const isWhole = !fence || !caller?.only
        const text = await (isWhole
          ? of.metrics.text()
          : of.metrics.textOf((labels) => fence.showsSample(caller, labels)))
        return new Reply(200, Buffer.from(text), { 'content-type': of.metrics.contentType })
      },
    },
  ]
  return own
}

// Journal routes: who changed or sent what, and who was refused.

const part = Type.String({ minLength: 1, maxLength: 128 })
const query = Type.Object(
  {
    limit: Type.Integer({ default: 100, minimum: 1, maximum: 1000, description: 'entries at most' }),
    before: Type.Optional(
      Type.Integer({ minimum: 1, description: 'only entries with a smaller `seq`: that of the last one seen' }),
    ),
    who: Type.Optional({ ...part, description: 'part of the name of who did it, whatever its case' }),
    what: Type.Optional({ ...part, description: 'part of what was done, whatever its case' }),
  },
  { additionalProperties: false },
)
const entry = Type.Object({
  seq: Type.Integer({ description: 'grows by each entry' }),
  at: Type.Integer({ description: 'epoch milliseconds' }),
  who: Type.String({
    description: 'user, `key:` and the name of a key, `plantroom` for the command line, or `nobody`',
  }),
  from: Type.String({ description: 'address, or `console`' }),
  what: Type.String(),
  target: Type.Optional(Type.String()),
  detail: Type.Optional(Type.Unknown()),
  kind: Type.Optional(Type.Enum(['sign-in', 'sent', 'refusal'], { description: 'absent: a change' })),
})

export function journalRoutes({ journal, clock }: { journal: Journal; clock: Clock }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/journal',
      who: 'admin',
      summary: 'Who changed or sent what, and who was turned away, newest first',
      query,
      reply: Type.Array(entry),
      handle: (ask) => journal.list(ask.query),
    }),
    route({
      method: 'GET',
      path: '/api/journal/export',
      who: 'admin',
      ticket: true,
      summary: 'The whole journal as a file, one entry a line, oldest first',
      replyType: 'application/x-ndjson',
      handle() {
        const day = new Date(clock.epochMs()).toISOString().slice(0, 10)
        return new Reply(200, Readable.from(journal.lines(), { objectMode: false }), {
          'content-type': 'application/x-ndjson; charset=utf-8',
          'content-disposition': `attachment; filename="journal-${day}.ndjson"`,
        })
      },
    }),
  ]
}

/** One operation of a description as parsed. Two roles of a board may have the same. */
export interface DescribedAnswers {
  method: string
  /** `{name}` matches anything. */
  path: string
  requestBody?: { required: boolean; content: Record<string, { schema?: object }> }
  responses: Record<string, { content?: Record<string, { schema?: object }> }>
}

/** `components.schemas` of every description. */
export type SharedSchemas = Record<string, object>
