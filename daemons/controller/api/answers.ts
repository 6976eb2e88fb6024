/** Schemas of the controller's answers: those that several of its surfaces share, and those of its page. */
import { Type } from 'typebox'
import { count, instant, number, object, orNull, text, yesNo } from '#kit/http/route.ts'
import { foundDrivers } from '../core/drivers/found.ts'

/**
 * Every refusal contains `error`; clients check for it in every answer, since several refusals come with status 200.
 */
export const refusal = Type.Object(
  {
    error: Type.String({ description: 'what clients compare' }),
    message: Type.Optional(Type.String({ description: 'for people' })),
    detail: Type.Optional(Type.String({ description: 'what is wrong with a body, and where' })),
    fields: Type.Optional(
      Type.Array(object({ field: text, message: text }), { description: 'which fields are wrong' }),
    ),
    retryAfterMs: Type.Optional(Type.Integer()),
    logId: Type.Optional(Type.String()),
  },
  { description: 'a refusal, or a failure' },
)

/** @source document 1, Error envelope; Two-factor challenge */
export const envelope = object({
  error: Type.String({ description: '`two_factor_auth` asks for the code that was mailed' }),
  message: text,
  ttl_seconds: Type.Optional(Type.Integer({ description: 'of `two_factor_auth`: how long the code is accepted' })),
})

const step = Type.Object({ step: Type.Unknown(), type: text, state: text })

/** The answer to a command or a macro. */
export const commanded = object({
  success: Type.Boolean({ description: 'false: a driver refused it, or the macro failed; `error` says why' }),
  zone_id: Type.Optional(Type.Integer()),
  device_id: Type.Optional(Type.Integer()),
  command: Type.Optional(Type.String({ description: 'the verb that was carried out' })),
  answer: Type.Optional(Type.Unknown({ description: 'what the device answered, where it did' })),
  run_id: Type.Optional(
    orNull(Type.Integer({ description: 'of a macro; null where it could not be written down and was not begun' })),
  ),
  state: Type.Optional(
    Type.String({ description: 'of a macro: done, failed, stopped, running, queued, refused, ...' }),
  ),
  steps: Type.Optional(Type.Array(step, { description: 'of a macro that has ended' })),
  error: Type.Optional(text),
  message: Type.Optional(text),
  code: Type.Optional(text),
})

const site = { name: orNull(text), time_zone: orNull(text) }

const person = {
  username: text,
  full_name: orNull(text),
  roles: Type.Array(text),
  elevated: yesNo,
  must_change_password: yesNo,
  site: object(site),
}

/** The person signed in to the page. */
export const personAnswer = object(person)

const signedIn = object({ signed_in: Type.Literal(true), ...person })

/** The answer to a sign-in, and to the first account: as in `POST /api/token`, refusals come with status 200. */
export const signInAnswer = Type.Union([signedIn, envelope])

export const handoffAnswer = Type.Union([signedIn, object({ signed_in: Type.Literal(false) })])

export const doneAnswer = object({ success: Type.Literal(true) })

export const siteAnswer = object({
  ...site,
  me: orNull(personAnswer),
  setup: Type.Optional(Type.Literal(true, { description: 'the first account is to be made' })),
})

export const ticketAnswer = object({ ticket: text })

const value = Type.Optional(Type.Union([text, number, yesNo]))

const zone = object({
  id: Type.Integer(),
  values: object({
    ...{ state: value, on: value, level: value, setpoint: value, temperature: value, humidity: value },
    ...{ value, mode: value, position: value, volume: value, mute: value, source: value },
  }),
  device: orNull(object({ state: Type.Enum(['online', 'offline', 'unknown']), lastSeenAt: orNull(instant) })),
  name: text,
  type: orNull(text),
  unit: orNull(text),
  min: orNull(number),
  max: orNull(number),
  verbs: Type.Array(text, { description: 'what may be asked of it' }),
  refused: orNull(Type.Enum(['role', 'elevation'])),
  sourceId: Type.Optional(orNull(Type.Integer({ description: 'what a sound zone plays' }))),
  sources: Type.Optional(Type.Array(object({ id: Type.Integer(), name: text }), { description: 'what it may play' })),
  maxVolume: Type.Optional(number),
})

const place = object({
  zone_id: Type.Integer(),
  x: Type.Number({ description: 'thousandths of the width, from the left' }),
  y: Type.Number({ description: 'thousandths of the height, from the top' }),
})

export const zonesAnswer = object({
  site: object(site),
  now: instant,
  still_ms: Type.Integer({ description: 'how often to ask for the picture of a camera that is shown' }),
  groups: Type.Array(
    object({ id: orNull(Type.Integer()), name: orNull(text), within: Type.Array(text), zones: Type.Array(zone) }),
  ),
  macros: Type.Array(object({ id: Type.Integer(), name: text, description: orNull(text) })),
  favourites: object({ zones: Type.Array(Type.Integer()), macros: Type.Array(Type.Integer()) }),
  plans: Type.Array(
    object({
      ...{ id: Type.Integer(), name: text, width: count, height: count },
      version: Type.String({ description: 'another one for another picture' }),
      zones: Type.Array(place, { description: 'of those above, where they are' }),
    }),
    { description: 'floor plans with any of these zones' },
  ),
})

const plan = {
  name: text,
  ui_id: Type.Integer({ description: 'the UI whose people see it' }),
  picture: object({ name: text, width: count, height: count }),
  zones: Type.Array(place),
}

export const pictureAnswer = plan.picture

export const plansAnswer = object({
  plans: Type.Array(object({ id: Type.Integer(), ...plan, pending: orNull(Type.Enum(['add', 'change', 'remove'])) })),
  uis: Type.Array(object({ id: Type.Integer(), name: text })),
  zones: Type.Array(object({ id: Type.Integer(), name: text, room: orNull(text) })),
})

export const stagedAnswer = object({ success: Type.Literal(true), pending: count })

export const auditAnswer = object({
  rows: Type.Array(
    object({
      id: Type.Integer(),
      at: instant,
      request_type: Type.Enum(['rest_api', 'ui', 'socket', 'hook', 'schedule', 'trigger']),
      method: text,
      path: text,
      status: Type.Integer(),
      elapsed_ms: number,
      client_ip: text,
      user_id: orNull(Type.Integer()),
      username: orNull(text),
      granted: yesNo,
      reason: orNull(text),
      target: orNull(text),
      run_id: orNull(Type.Integer()),
      action: orNull(text),
      unit: orNull(Type.String({ description: 'of the zone that was asked, as it is now' })),
      outcome: orNull(Type.Enum(['done', 'partly', 'failed', 'refused', 'running'])),
      detail: orNull(text),
    }),
  ),
  before: orNull(Type.Integer({ description: 'older ones have not been looked at: ask for those before this id' })),
})

const automated = {
  ...{
    id: Type.Integer(),
    name: orNull(text),
    kind: text,
    macro_id: Type.Integer(),
    macro: orNull(text),
    enabled: yesNo,
  },
  last_at: orNull(Type.Integer({ description: 'epoch milliseconds of the time that was run last' })),
  flaw: orNull(Type.String({ description: 'why it does nothing' })),
}

export const automationAnswer = object({
  schedules: Type.Array(object({ ...automated, next_at: orNull(instant) })),
  triggers: Type.Array(object(automated)),
})

export const restSwitchAnswer = object({ enabled: yesNo, running: yesNo, waits_for_restart: yesNo })

export const foundAnswer = object({
  looking: Type.Boolean({ description: 'whether mDNS is on here' }),
  found: Type.Array(
    object({
      id: text,
      role: text,
      driver: Type.Enum([...foundDrivers]),
      name: text,
      host: text,
      address: text,
      port: count,
      version: orNull(text),
      heard_at: instant,
      tls: yesNo,
      device: orNull(object({ id: count, name: text, moved: yesNo, has_root: yesNo })),
    }),
  ),
})

export const foundRootAnswer = object({
  fingerprint: Type.String({ description: 'SHA-256, pairs of hex digits with colons' }),
  ends_at: instant,
  adopted: orNull(Type.String({ description: 'fingerprint of the root CA that its device trusts now' })),
})

const progress = object({
  done_bytes: count,
  of_bytes: orNull(Type.Integer({ description: 'of about so many; null where it is not known' })),
})

export const backupAnswer = object({
  state: Type.Enum(['idle', 'making', 'made', 'taking', 'checking', 'checked', 'restarting']),
  progress: orNull(progress),
  backup: orNull(
    object({
      made_at: instant,
      version: text,
      files: count,
      size_bytes: count,
      all_secrets: Type.Boolean({ description: 'whether secrets of other machines are in it' }),
      site: orNull(text),
      zones: count,
      people: count,
    }),
  ),
  failed: orNull(Type.String({ description: 'why the last backup was not made' })),
  former: orNull(object({ by: text, at: instant, what: Type.Enum(['backup', 'undo']), made_at: instant })),
  name: Type.String({ description: 'what has to be typed to confirm a restore' }),
  most_bytes: count,
})

const toldLine = object({ at: instant, text })

export const updateAnswer = object({
  state: Type.Enum(['unknown', 'apt', 'foreign', 'absent', 'idle', 'looking', 'applying']),
  why: orNull(Type.String({ description: 'why no update can be started, and what to do; null if one can' })),
  version: text,
  window: orNull(Type.String({ description: 'hours in which the newest is applied by itself' })),
  looked: orNull(object({ at: instant, newest: orNull(text), bad: orNull(text) })),
  run: orNull(
    object({
      task: Type.Enum(['check', 'apply', 'handed', 'settle']),
      begun_at: instant,
      lines: Type.Array(toldLine),
      is_cut: Type.Boolean({ description: 'it has no end, and does not run' }),
      end: orNull(object({ at: instant, outcome: text, text, code: orNull(text) })),
    }),
  ),
  last: orNull(object({ at: instant, outcome: Type.Enum(['applied', 'rolled_back', 'failed']), text })),
})

export const notDrivenAnswer = object({
  rows: Type.Array(object({ row: text, why: text })),
  count: Type.Integer({ minimum: 0, description: 'all of them, of which an answer tells some' }),
})

const column = Type.Union([
  object({ column: text, secret: Type.Literal(true) }),
  object({
    column: text,
    secret: Type.Literal(false),
    before: Type.Unknown(),
    after: Type.Unknown(),
    kind: Type.Optional(Type.Enum(['time', 'row'])),
    names: Type.Optional(object({ before: orNull(text), after: orNull(text) })),
  }),
])

export const pendingAnswer = object({
  revision: Type.Integer(),
  undoable: Type.Integer({ minimum: 0, description: 'changes of the last Apply All that can be taken back' }),
  changes: Type.Array(
    object({
      id: Type.Integer(),
      at: instant,
      by: text,
      kind: Type.Enum(['add', 'change', 'remove']),
      table: text,
      row_id: orNull(Type.Integer()),
      name: orNull(text),
      columns: Type.Array(column),
    }),
  ),
})

export const appliedAnswer = object({ applied: count })

export const undoneAnswer = object({ pending: count })
