/** Shapes of the board's answers, for its description. */
import { Type } from 'typebox'
import { count, fault, instant, object, orNull, text } from '#kit/http/answer-shapes.ts'
import { roleNames } from '../wire/role-name.ts'
import { roleStates, serialPortAnswer } from './role-answers.ts'

const role = Type.Enum([...roleNames])

export const boardStatusAnswer = object({
  role,
  set_up: Type.Boolean(),
  name: text,
  hostname: text,
  version: text,
  verdict: object({ state: Type.Enum(['ok', 'busy', 'warn', 'fault', 'off']), text }),
  uptime_s: count,
  started_at: instant,
  machine: object({ owned: Type.Boolean(), model: orNull(text) }),
  addresses: Type.Array(object({ interface: text, address: text, prefix: count, family: Type.Enum(['IPv4', 'IPv6']) })),
  temperature_c: orNull(Type.Number()),
  memory: object({ total_bytes: count, available_bytes: count, process_bytes: count }),
  load: Type.Array(Type.Number(), { minItems: 3, maxItems: 3 }),
  time: object({ now: instant, synchronised: orNull(Type.Boolean()) }),
  last_start: object({ at: instant, reason: text }),
  identify_until: orNull(instant),
  password_set: Type.Boolean(),
  network: object({ state: text, confirm_until: orNull(instant), text }),
  ota: object({
    state: Type.Enum(['idle', 'receiving', 'verifying', 'installing', 'installed', 'failed']),
    received_bytes: count,
    total_bytes: orNull(count),
    version: orNull(text),
    fault: orNull(fault),
    at: orNull(instant),
  }),
  ...roleStates,
})

export const peersAnswer = Type.Array(
  object({
    hostname: text,
    IP: text,
    ip: text,
    role,
    name: text,
    stream: orNull(text),
    port: count,
    url: text,
    path: text,
    version: text,
    id: orNull(text),
    self: Type.Boolean(),
    state: text,
    last_heard_at: orNull(instant),
    last_answer_at: orNull(instant),
  }),
)

export const dismissedAnswer = object({ dismissed: text })

const settingValue = Type.Union([text, Type.Number(), Type.Boolean()])

const formField = object({
  name: text,
  kind: Type.Enum(['text', 'address', 'number', 'choice', 'switch']),
  default: settingValue,
  value: settingValue,
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
  decimals: Type.Optional(count),
  max_length: Type.Optional(count),
  unit: Type.Optional(text),
  choices: Type.Optional(Type.Array(text)),
  meaning: text,
  roles: Type.Optional(Type.Array(role)),
})

export const formAnswer = object({
  revision: Type.String({ description: 'also the ETag; a change with `If-Match` is refused once it is another' }),
  groups: Type.Array(object({ title: text, fields: Type.Array(formField) })),
  roles: Type.Array(
    object({ role, can: Type.Boolean({ description: 'whether this machine has what it needs' }), text }),
  ),
})

export const otaReadyAnswer = object({
  takes_images: Type.Boolean(),
  missing: orNull(fault),
})

export const otaAnswer = object({
  installed: Type.Literal(true),
  version: text,
  reboots: Type.Boolean(),
  about_s: count,
})

/** By name a value for each second, null where none was measured. */
export const historyAnswer = object({
  step_s: Type.Integer(),
  from_at: instant,
  series: Type.Record(Type.String(), Type.Array(orNull(Type.Number()))),
})

export const toneAnswer = object({ tone_until: orNull(instant) })

const adapterDevice = object({
  port: count,
  path: text,
  found: Type.Boolean(),
  maker: orNull(text),
  product: orNull(text),
  serial_number: orNull(text),
})

export const serialAnswer = object({
  adapter: object({ devices: Type.Array(adapterDevice), text }),
  ports: Type.Array(serialPortAnswer),
})

export const droppedAnswer = object({ dropped: count })
