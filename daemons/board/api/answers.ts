/** Shapes of the board's answers, for its description. What a role measures grows: of that the names that stay are listed. */
import { type TProperties, type TSchema, Type } from 'typebox'
import { roleNames } from '../wire/role-name.ts'

function object<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false })
}

function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

const text = Type.String()
const count = Type.Integer({ minimum: 0 })
const instant = Type.Integer({ description: 'epoch milliseconds' })
const role = Type.Enum([...roleNames])
const fault = object({ code: text, message: text })
const anything = Type.Record(Type.String(), Type.Unknown())

/** What a role says of itself, under its name, and `ptp` in the roles that have sound. */
const ofRoles = Object.fromEntries([...roleNames, 'ptp'].map((name) => [name, Type.Optional(anything)]))

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
  ...ofRoles,
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

const formField = Type.Object({
  name: text,
  kind: text,
  default: Type.Unknown(),
  value: Type.Unknown(),
  meaning: text,
})

export const formAnswer = object({
  groups: Type.Array(object({ title: text, fields: Type.Array(formField) })),
  roles: Type.Array(anything, { description: 'each role, and whether this machine can be it' }),
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

export const streamsAnswer = Type.Array(anything, { description: 'each stream that is announced' })

/** @source Interface 2, B, Route */
export const routeAnswer = object({
  mcast: text,
  port: count,
  source: orNull(text),
  link_ms: Type.Number(),
  ext_link_ms: Type.Number(),
  effective_link_ms: Type.Number(),
  mclk_offset: count,
  encoding: text,
  channels: orNull(count),
  packet_ms: orNull(Type.Number()),
  name: orNull(text),
  sender: orNull(text),
  sync: orNull(text),
  given: object({ link_ms: orNull(Type.Number()), mclk_offset: orNull(count), encoding: orNull(text) }),
})

/** @source Interface 2, B, Volume */
export const volumeAnswer = object({
  volume: Type.Integer({ minimum: 0, maximum: 100 }),
  volume_db: Type.Number({ minimum: -80, maximum: 12 }),
  mute: Type.Boolean(),
})

/** One port: its settings, and how it is. @source Interface 2, B, Serial port settings */
export const serialPortAnswer = Type.Object({
  port: Type.Integer({ minimum: 1, maximum: 4 }),
  enabled: Type.Boolean(),
  mode: Type.Enum(['raw', 'rfc2217']),
  tcp_port: count,
  baud: count,
  data_bits: count,
  parity: text,
  stop_bits: Type.Number(),
  label: text,
  allow: text,
  clients: Type.Array(anything),
  counters: anything,
})

export const serialAnswer = object({
  adapter: object({ devices: Type.Array(Type.Object({ port: count, path: text, found: Type.Boolean() })), text }),
  ports: Type.Array(serialPortAnswer),
})

export const droppedAnswer = object({ dropped: count })

export const usbipAnswer = object({
  enabled: Type.Boolean(),
  allow: text,
  choice: text,
  supported: Type.Boolean(),
  text,
  device: orNull(anything),
  devices: Type.Array(anything),
  attached: orNull(anything),
  traffic: orNull(anything),
  hold_until: orNull(instant),
  last_error: orNull(anything),
})
