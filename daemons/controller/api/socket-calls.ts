/** The requests that a socket takes: the fields of each, the function of a role that it needs, and what answers it. */
import { type TSchema, Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import { Fault } from '#kit/pure/fault.ts'
import { nearestName } from '#kit/pure/text.ts'
import { type Origin, personView, type Session, type SocketFunction } from '../core/access/accounts.ts'
import type { Outcome } from '../core/audit.ts'
import type { Json } from '../core/json.ts'
import { FEED_KINDS, type FeedWish } from '../core/live/socket-feed.ts'
import type { Book } from '../core/site/book.ts'
import type { RowsWish, Rules, SocketPeople, SocketWrites, UiControl } from '../core/surfaces.ts'
import { readPassword } from './password-form.ts'
import { tokenOf } from './ui-gate.ts'

/** What requests reach. */
export interface SocketCalls {
  people: SocketPeople
  control: Pick<UiControl, 'command' | 'macro'>
  /** As on the REST surface. */
  answerData: Rules['answerData']
  writes: SocketWrites
  book: Book
  limits: { ids: number }
}

/** The socket that a request came over. */
export interface SocketLink {
  /** Takes a place until the request is answered; `adopt` keeps it. @throws Fault `too_many_sockets` */
  claimRoom(userId: number, token: string): void
  adopt(token: string, session: Session): void
  /** Ends the session; somebody else may sign in then. */
  leave(): void
  /** @param isWhole also tells the present state */
  subscribe(wish: FeedWish, isWhole: boolean): void
  unsubscribe(): void
}

/** One request, with its fields checked. */
interface SocketAsk<Fields> {
  fields: Fields
  from: Origin
  /** Aborted when the socket closes. */
  signal: AbortSignal
  link: SocketLink
}

/** An answer, and what happens to the socket once it has gone out. */
export interface SocketAnswer {
  outcome: Outcome
  settle?(): void
}

type Answering = SocketAnswer | Promise<SocketAnswer>

/** One kind of request. */
export interface SocketCall {
  type: string
  /** `anyone` is not signed in, or is about to sign in again. */
  who: 'anyone' | 'user'
  /** The function that the roles have to allow. */
  needs?: SocketFunction
  /** Started only while the audit takes records, and answered once its own is on disk. */
  isRecordedFirst?: true
  /** Answered also while this person has to change the password first. */
  isForOldPassword?: true
  /** @throws Fault `bad_fields` */
  run(calls: SocketCalls, ask: SocketAsk<unknown>, session: Session | undefined): Answering
}

interface Spec<Schema extends TSchema> extends Omit<SocketCall, 'run' | 'who'> {
  fields: Schema
}

type FieldsOf<Schema extends TSchema> = ReturnType<ReturnType<typeof createReader<Schema>>>

function openCall<Schema extends TSchema>(
  { fields, ...facts }: Spec<Schema>,
  handle: (calls: SocketCalls, ask: SocketAsk<FieldsOf<Schema>>) => Answering,
): SocketCall {
  const read = createReader(fields)
  return { ...facts, who: 'anyone', run: (calls, ask) => handle(calls, { ...ask, fields: read(ask.fields) }) }
}

function signedCall<Schema extends TSchema>(
  { fields, ...facts }: Spec<Schema>,
  handle: (calls: SocketCalls, ask: SocketAsk<FieldsOf<Schema>>, session: Session) => Answering,
): SocketCall {
  const read = createReader(fields)
  return {
    ...facts,
    who: 'user',
    run: (calls, ask, session) => handle(calls, { ...ask, fields: read(ask.fields) }, session as Session),
  }
}

const closed = { additionalProperties: false }
const anything = () => Type.Optional(Type.Unknown())
const id = () => Type.Optional(Type.Integer())

// Sessions: signing in and out over the socket.

const login = openCall(
  {
    type: 'login',
    isRecordedFirst: true,
    fields: Type.Object(
      {
        ...{ username: anything(), password: anything(), pin: anything(), two_factor_token: anything() },
        token: Type.Optional(Type.String()),
      },
      closed,
    ),
  },
  async (calls, { fields, from, signal, link }) => {
    if (fields.token !== undefined) return resume(calls, fields.token, from, link)
    const outcome = await calls.people.signIn(fields, from, signal)
    if (outcome.reason !== null) return { outcome }
    const { token, expires } = tokenOf(outcome)
    return entered(calls, { token, from, link }, { token, expires })
  },
)

function resume(calls: SocketCalls, token: string, from: Origin, link: SocketLink): SocketAnswer {
  return entered(calls, { token, from, link }, {})
}

function entered(
  { people, book }: SocketCalls,
  { token, from, link }: { token: string; from: Origin; link: SocketLink },
  more: object,
): SocketAnswer {
  const session = people.sessionOf(token, from, true)
  if (session === undefined) return { outcome: NO_SESSION }
  link.claimRoom(session.userId, token)
  const { userId: id, username } = session
  const outcome: Outcome = { ...granted({ ...more, ...personView(book, session) }), user: { id, username } }
  return { outcome, settle: () => link.adopt(token, session) }
}

const NO_SESSION: Outcome = {
  status: 401,
  body: {
    json: { error: 'invalid_session', message: 'The token is not known, or its session has ended. Sign in again.' },
  },
  reason: 'invalid_session',
}

const logout = signedCall(
  { type: 'logout', isForOldPassword: true, fields: Type.Object({}, closed) },
  (_calls, { link }) => ({
    outcome: granted({ success: true }),
    settle: () => link.leave(),
  }),
)

const password = signedCall(
  { type: 'password', isForOldPassword: true, isRecordedFirst: true, fields: readPassword.schema },
  async (calls, { fields, from, signal, link }, session) => {
    const outcome = await calls.people.changePassword(session, fields, from, signal)
    if (outcome.reason !== null) return { outcome }
    const { token, expires } = tokenOf(outcome)
    return entered(calls, { token, from, link }, { success: true, token, expires })
  },
)

const me = signedCall(
  { type: 'me', isForOldPassword: true, fields: Type.Object({}, closed) },
  ({ book }, _ask, session) => ({
    outcome: granted(personView(book, session)),
  }),
)

// Commands, macros and reads, by the rules of REST.

const command = signedCall(
  { type: 'command', isRecordedFirst: true, fields: Type.Object({ body: Type.Unknown() }, closed) },
  async ({ control }, { fields }, session) => ({ outcome: await control.command(session, fields.body) }),
)

const macro = signedCall(
  { type: 'macro', needs: 'macro', isRecordedFirst: true, fields: Type.Object({ body: Type.Unknown() }, closed) },
  async ({ control }, { fields }, session) => ({ outcome: await control.macro(session, fields.body) }),
)

const query = signedCall(
  {
    type: 'query',
    needs: 'query',
    fields: Type.Object(
      {
        entity: Type.String({ maxLength: 128 }),
        query: Type.String({ default: '', pattern: '^[\\x21-\\x7e]*$', description: 'as behind the question mark' }),
      },
      closed,
    ),
  },
  async ({ answerData }, { fields }, session) => ({ outcome: await answerData(session, fields.entity, fields.query) }),
)

// Subscriptions.

const wanted = () => Type.Optional(Type.Union([Type.Literal(true), Type.Array(Type.Integer(), { description: 'ids' })]))

const subscribe = signedCall(
  {
    type: 'subscribe',
    needs: 'subscribe',
    fields: Type.Object(
      { zones: wanted(), devices: wanted(), attributes: wanted(), snapshot: Type.Boolean({ default: false }) },
      closed,
    ),
  },
  ({ limits }, { fields, link }) => {
    const ids = FEED_KINDS.flatMap((kind) => (Array.isArray(fields[kind]) ? fields[kind] : []))
    if (FEED_KINDS.every((kind) => fields[kind] === undefined))
      throw bad('a subscription names zones, devices or attributes: true for all, or a list of ids')
    if (ids.length > limits.ids) throw bad(`${ids.length} ids in one subscription, at most ${limits.ids} are taken`)
    const wish: FeedWish = Object.fromEntries(
      FEED_KINDS.flatMap((kind) => {
        const said = fields[kind]
        return said === undefined ? [] : [[kind, said === true ? said : new Set(said)]]
      }),
    )
    return { outcome: granted({ success: true }), settle: () => link.subscribe(wish, fields.snapshot) }
  },
)

const unsubscribe = signedCall({ type: 'unsubscribe', fields: Type.Object({}, closed) }, (_calls, { link }) => ({
  outcome: granted({ success: true }),
  settle: () => link.unsubscribe(),
}))

// Writing.

const setAttribute = signedCall(
  {
    type: 'set_attribute',
    needs: 'set_attribute',
    isRecordedFirst: true,
    fields: Type.Object(
      {
        attribute_id: id(),
        name: Type.Optional(
          Type.String({ description: 'beside a zone or a device; alone it is one of the controller' }),
        ),
        zone_id: id(),
        device_id: id(),
        value: Type.Unknown(),
      },
      closed,
    ),
  },
  async ({ writes }, { fields }, session) => {
    const { attribute_id, name, zone_id, device_id } = fields
    const isById = attribute_id !== undefined
    if (
      isById === (name !== undefined) ||
      (isById && (zone_id ?? device_id) !== undefined) ||
      (zone_id !== undefined && device_id !== undefined)
    )
      throw bad('an attribute is named by attribute_id, or by name with zone_id or device_id')
    return { outcome: await writes.setAttribute(session, { ...fields, value: fields.value as Json }) }
  },
)

const write = signedCall(
  {
    type: 'write',
    needs: 'write',
    isRecordedFirst: true,
    fields: Type.Object(
      {
        rows: Type.Record(Type.String(), Type.Array(Type.Unknown()), { default: {}, description: 'by table' }),
        remove: Type.Record(Type.String(), Type.Array(Type.Integer()), { default: {}, description: 'ids by table' }),
        seen: Type.Record(Type.String(), Type.Array(Type.Object({ id: Type.Integer() })), {
          default: {},
          description: 'rows as they were read: a column of `rows` that is another by now is refused',
        }),
      },
      closed,
    ),
  },
  async ({ writes }, { fields }, session) => {
    const { rows, remove, seen } = fields as typeof fields & Pick<RowsWish, 'rows' | 'seen'>
    return { outcome: await writes.write(session, { rows, remove, seen }) }
  },
)

function bad(sentence: string): Fault {
  return new Fault('bad_message', sentence)
}

function granted(json: unknown): Outcome {
  return { status: 200, body: { json }, reason: null }
}

const ALL = [login, logout, password, me, command, macro, query, subscribe, unsubscribe, setAttribute, write]
const BY_TYPE = new Map(ALL.map((call) => [call.type, call]))

/** @throws Fault `bad_message` that names the nearest type */
export function socketCallOf(type: unknown): SocketCall {
  const call = typeof type === 'string' ? BY_TYPE.get(type) : undefined
  if (call !== undefined) return call
  const known = [...BY_TYPE.keys()]
  if (typeof type !== 'string') throw bad(`a message has a type, one of ${known.join(', ')}`)
  const near = nearestName(type, known)
  const hint = near === undefined ? `known are ${known.join(', ')}` : `the nearest is ${near}`
  throw bad(`there is no message ${JSON.stringify(type.slice(0, 40))}; ${hint}`)
}
