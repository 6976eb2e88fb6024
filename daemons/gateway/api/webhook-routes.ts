/** Routes of webhooks: list, create, change, delete, test. All are for administrators only. */
import { type Static, Type } from 'typebox'
import { type Ask, type Caller, Reply, type Route, route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Journal } from '#kit/records/journal.ts'
import type { WebhookBook, WebhookEntry } from '../core/webhooks/book.ts'

/** What the routes need. */
export interface WebhookRouteParts {
  book: WebhookBook
  journal: Pick<Journal, 'record'>
}

const path = Type.String({ minLength: 1, maxLength: 4096, description: 'device path, URL-encoded' })
const portParams = Type.Object({ path })
const hookParams = Type.Object({ path, id: Type.String({ minLength: 1, maxLength: 128, description: 'opaque' }) })

const url = Type.String({ minLength: 1, description: 'http or https address that events are sent to by POST' })
const settable = {
  events: Type.Optional(Type.Array(Type.String(), { description: 'names of events to send; empty means all' })),
  secret: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      writeOnly: true,
      description: 'signs each body with HMAC-SHA-256; left out: as it was; null: none',
    }),
  ),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: 'headers sent with each event, replaced as a whole' }),
  ),
  enabled: Type.Optional(Type.Boolean({ description: 'true for a new webhook; false sends nothing' })),
}
const newBody = Type.Object({ url, ...settable }, { additionalProperties: false })
const changeBody = Type.Object({ url: Type.Optional(url), ...settable }, { additionalProperties: false })

const count = Type.Integer({ minimum: 0 })
const instant = Type.Union([Type.Integer({ description: 'epoch milliseconds' }), Type.Null()])
const status = Type.Union([Type.Integer({ description: 'HTTP status of the answer' }), Type.Null()])
const entry = Type.Object({
  id: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.String()),
  headers: Type.Record(Type.String(), Type.String()),
  enabled: Type.Boolean(),
  hasSecret: Type.Boolean(),
  counters: Type.Object({ delivered: count, failed: count, dropped: count, retried: count, queued: count }),
  lastError: Type.Union([Type.Object({ at: Type.Integer(), message: Type.String(), status }), Type.Null()]),
  lastDeliveredAt: instant,
  pausedUntil: instant,
})
const testReply = Type.Object({ delivered: Type.Boolean(), status, message: Type.String(), tookMs: count })

const listPath = '/api/ports/:path/webhooks'
const hookPath = `${listPath}/:id`

/** The webhook routes of the gateway. */
export function webhookRoutes({ book, journal }: WebhookRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: listPath,
      who: 'admin',
      summary: 'List the webhooks of a port, with their delivery state',
      params: portParams,
      reply: Type.Array(entry),
      handle: async ({ params, caller }) => (await book.list(params.path)).map((each) => shownTo(caller, each)),
    }),
    route({
      method: 'POST',
      path: listPath,
      who: 'admin',
      status: 201,
      summary: 'Create a webhook',
      params: portParams,
      body: newBody,
      reply: entry,
      handle: (ask) => create({ book, journal }, ask),
    }),
    route({
      method: 'PUT',
      path: hookPath,
      who: 'admin',
      summary: 'Change some fields of a webhook',
      params: hookParams,
      body: changeBody,
      reply: entry,
      handle: (ask) => change({ book, journal }, ask),
    }),
    route({
      method: 'DELETE',
      path: hookPath,
      who: 'admin',
      status: 204,
      summary: 'Delete a webhook; events that wait for it are dropped',
      params: hookParams,
      handle: (ask) => remove({ book, journal }, ask),
    }),
    route({
      method: 'POST',
      path: `${hookPath}/test`,
      who: 'admin',
      summary: 'Send one sample event now and say what came of it',
      params: hookParams,
      reply: testReply,
      handle: (ask) => test({ book, journal }, ask),
    }),
  ]
}

async function create(
  { book, journal }: WebhookRouteParts,
  ask: Ask<Static<typeof newBody>, { path: string }, unknown>,
) {
  const created = await book.create(ask.params.path, ask.body)
  journal.record({ ...whoOf(ask), what: 'webhook created', detail: { id: created.id } })
  return new Reply(201, shownTo(ask.caller, created))
}

async function change({ book, journal }: WebhookRouteParts, ask: Ask<Static<typeof changeBody>, HookParams, unknown>) {
  const { path, id } = ask.params
  if (ask.caller?.only) await refuseToCarryOff(book, ask)
  const changed = await book.change(path, id, ask.body)
  journal.record({ ...whoOf(ask), what: 'webhook changed', detail: { id, fields: Object.keys(ask.body) } })
  return shownTo(ask.caller, changed)
}

async function remove({ book, journal }: WebhookRouteParts, ask: Ask<unknown, HookParams, unknown>) {
  const { path, id } = ask.params
  await book.remove(path, id)
  journal.record({ ...whoOf(ask), what: 'webhook deleted', detail: { id } })
  return new Reply(204)
}

async function test({ book, journal }: WebhookRouteParts, ask: Ask<unknown, HookParams, unknown>) {
  const { path, id } = ask.params
  const result = await book.test(path, id)
  journal.record({ ...whoOf(ask), what: 'webhook tested', detail: { id, delivered: result.delivered } })
  return result
}

/**
 * A key for single ports belongs to a program. Headers configured by others are credentials for their systems, so the
 * program sees only their names.
 */
function shownTo(caller: Caller | undefined, hook: WebhookEntry): WebhookEntry {
  if (!caller?.only) return hook
  return { ...hook, headers: Object.fromEntries(Object.keys(hook.headers).map((name) => [name, HIDDEN])) }
}

const HIDDEN = '***'

/** Nor may such a key redirect headers or secret of others to another address. @throws Fault `not_for_keys` */
async function refuseToCarryOff(
  book: WebhookBook,
  { body, params, caller }: Ask<Static<typeof changeBody>, HookParams, unknown>,
): Promise<void> {
  const hook = (await book.list(params.path)).find(({ id }) => id === params.id)
  if (hook === undefined || body.url === undefined || body.url === hook.url) return
  const keepsHeaders = body.headers === undefined && Object.keys(hook.headers).length > 0
  const keepsSecret = body.secret === undefined && hook.hasSecret
  if (keepsHeaders || keepsSecret)
    throw new Fault(
      'not_for_keys',
      `${caller?.name} is for single ports, and may change the address of a webhook only if it sends its headers and its secret with it.`,
    )
}

type HookParams = Static<typeof hookParams>

/** Who calls, for the journal. It gets no field values: addresses, headers and secrets are credentials. */
function whoOf(ask: Ask<unknown, { path: string }, unknown>) {
  return { who: ask.caller?.name ?? '', from: ask.remoteAddress, target: ask.params.path }
}
