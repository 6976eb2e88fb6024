/** The endpoints of document 1 as a table, and their OpenAPI descriptions. */
import { type TSchema, Type } from 'typebox'
import type { Described } from '#kit/http/route.ts'
import { commanded, doneAnswer, envelope, refusal } from './answers.ts'

/** One row of the table. `allow` is the header of a 405. */
export interface RestEndpoint {
  name: 'token' | 'logout' | 'me' | 'session_handoff' | 'health' | 'version' | 'control' | 'data'
  method: 'GET' | 'POST'
  path: string
  who: 'anyone' | 'user'
  summary: string
  allow: string
}

const READ = 'GET, HEAD'

/** @source document 1, Endpoints */
export const restEndpoints: readonly RestEndpoint[] = [
  {
    name: 'token',
    method: 'POST',
    path: '/api/token',
    who: 'anyone',
    summary: 'Exchanges username and password for a session token',
    allow: 'POST',
  },
  { name: 'logout', method: 'POST', path: '/api/logout', who: 'anyone', summary: 'Revokes the token', allow: 'POST' },
  { name: 'me', method: 'GET', path: '/api/me', who: 'user', summary: 'Who the token is', allow: READ },
  {
    name: 'session_handoff',
    method: 'POST',
    path: '/api/session_handoff',
    who: 'user',
    summary: 'Exchanges the token for a nonce that signs into the page',
    allow: 'POST',
  },
  { name: 'health', method: 'GET', path: '/api/health', who: 'anyone', summary: 'Whether it lives', allow: READ },
  { name: 'version', method: 'GET', path: '/api/version', who: 'anyone', summary: 'Its version', allow: READ },
  {
    name: 'control',
    method: 'POST',
    path: '/api/control/:action',
    who: 'user',
    summary: 'Runs a command or a macro',
    allow: 'POST',
  },
  {
    name: 'data',
    method: 'GET',
    path: '/api/data/:entity',
    who: 'user',
    summary: 'Rows of one entity',
    allow: READ,
  },
]

// OpenAPI: bodies, queries and answers of the endpoints.

const closed = { additionalProperties: false }

const named = Type.Object({ id: Type.Integer(), name: Type.Union([Type.String(), Type.Null()]) }, closed)

/** @source document 1, Token response */
const token = Type.Object(
  {
    token: Type.String({ minLength: 32, maxLength: 32 }),
    expires: Type.Integer({ description: 'life in milliseconds' }),
    sites: Type.Array(named),
  },
  closed,
)

/** @source document 1, Identity */
const identity = Type.Object(
  {
    id: Type.Integer(),
    username: Type.String(),
    roles: Type.Array(Type.String()),
    sites: Type.Array(Type.Object({ id: Type.Integer() }, closed)),
    two_factor_auth: Type.Boolean(),
    issued: Type.Union([Type.Integer({ description: 'epoch milliseconds' }), Type.Null()]),
  },
  closed,
)

/** An optional field that may also be null, since some clients write every field there is. */
const field = (schema: TSchema, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { description }))

/** The body of a command or of a macro. @source document 1, Command payload; Macro payload */
export const controlBody = Type.Object(
  {
    zone_id: field(Type.Integer(), 'of a command: one target of four'),
    zone: field(Type.String(), 'by its name'),
    device_id: field(Type.Integer(), 'the device as a whole'),
    device: field(Type.String(), 'by its name'),
    command: field(
      Type.String(),
      'the verb; may be left out where a zone stands with exactly one further key, which is it',
    ),
    args: field(Type.Record(Type.String(), Type.Unknown()), 'of the verb or of the macro'),
    macro_id: field(Type.Integer(), 'runs a macro, for `command` too'),
    macro: field(Type.String(), 'for `macro`: by its name'),
  },
  { description: 'null stands for a field that is left out' },
)

/** The body of a sign-in. @source document 1, POST /api/token */
export const credentials = Type.Object({
  username: Type.String(),
  password: Type.String(),
  two_factor_token: Type.Optional(
    Type.Unknown({ description: 'the code that was mailed, a text; where none is asked for it is not looked at' }),
  ),
})

const modifier = (description: string) => Type.Optional(Type.String({ description }))

/** @source document 1, GET /api/data/:entity, Modifiers */
const query = Type.Object(
  {
    _instance: modifier('true merges rows with live objects'),
    _limit: modifier('rows at most: 1 to 10000, 1000 unless given'),
    _offset: modifier('rows to skip'),
    _orderby: modifier('columns, each with =desc where it goes down'),
    _order: modifier('the same as _orderby'),
    _fields: modifier('columns to answer, a list'),
    _count: modifier('true answers {count}'),
    _like: modifier('text with % and _'),
    _in: modifier('any of a list'),
    _gt: modifier('greater'),
    _between: modifier('from and to'),
    _contains: modifier('holds this text'),
    _notequal: modifier('anything else'),
    _or: modifier('one of several conditions'),
  },
  { description: 'any other name is a column, and its value what it has to be' },
)

const rows = Type.Union([
  Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'rows; secret columns are null' }),
  Type.Object({ count: Type.Integer() }, { ...closed, description: 'with _count' }),
  Type.Object(
    { error: Type.String(), message: Type.String() },
    { ...closed, description: 'an entity or a column that there is not' },
  ),
])

interface Shapes {
  reply: TSchema
  body?: TSchema
  query?: TSchema
}

const shapes: Readonly<Record<RestEndpoint['name'], Shapes>> = {
  token: {
    body: credentials,
    reply: Type.Union([token, envelope]),
  },
  logout: { reply: doneAnswer },
  me: { reply: identity },
  session_handoff: {
    reply: Type.Object(
      { nonce: Type.String({ minLength: 48, maxLength: 48 }), expires_in: Type.Integer({ description: 'seconds' }) },
      closed,
    ),
  },
  health: { reply: Type.Object({ ok: Type.Literal(true) }, closed) },
  version: { reply: Type.Object({ version: Type.String() }, closed) },
  control: { body: controlBody, reply: commanded },
  data: { query, reply: rows },
}

/**
 * The eight endpoints. `/api/sync`, for paired controllers, belongs to another interface and answers that it is not
 * built yet.
 */
export const restDescription: readonly Described[] = restEndpoints.map(({ name, method, path, who, summary }) => ({
  ...{ method, path, who, summary, refusal },
  ...shapes[name],
}))
