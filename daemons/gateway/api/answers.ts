/** The shapes of the gateway's replies, for its API description. */
import { Type } from 'typebox'
import { roles } from '#kit/auth/credentials.ts'
import { licenceList } from '#kit/http/licence-routes.ts'
import { count, fault, instant, object, orNull, text } from '#kit/http/route.ts'
import { lineSettings } from '#kit/pure/line.ts'
import { pointDefinition, recordPoint } from '../core/points/definition.ts'
import { protocols } from '../core/protocols.ts'
import { pointKinds } from '../wire/dnp3/objects.ts'
import { orders, pointTypes } from '../wire/point-value.ts'

const portState = Type.Enum(['closed', 'opening', 'open', 'absent', 'failed'])

export const duration = Type.Number({ minimum: 0, description: 'milliseconds' })

export const meAnswer = object({
  username: text,
  role: Type.Enum([...roles]),
  isKey: Type.Boolean(),
  ports: orNull(Type.Array(text, { description: 'of a key: the only ones it may see and touch' })),
})

export const ticketAnswer = object({ ticket: text, expiresInMs: count })

export const statusAnswer = object({
  product: text,
  name: text,
  version: text,
  uptimeMs: duration,
  adminConfigured: Type.Boolean(),
})

export const systemAnswer = object({
  product: text,
  version: text,
  name: text,
  startedAt: instant,
  uptimeMs: duration,
  epochMs: instant,
  hostname: text,
  os: text,
  kernel: text,
  arch: text,
  node: text,
  systemUptimeMs: duration,
  timeZone: text,
  memory: object({ rssBytes: count, totalBytes: count, freeBytes: count }),
  load: Type.Array(Type.Number(), { minItems: 3, maxItems: 3 }),
  addresses: Type.Array(object({ name: text, address: text, family: Type.Union([text, count]) })),
  temperatures: Type.Array(object({ name: text, celsius: Type.Number() }), {
    description: 'what the machine has sensors for',
  }),
  serialLines: Type.Array(object({ path: text, product: orNull(text), state: orNull(portState) }), {
    description: 'found on this machine or configured; `state` is null of one that is not configured',
  }),
  tls: object({
    isOn: Type.Boolean(),
    rootName: orNull(text),
    rootFingerprint: orNull(
      Type.String({
        description:
          'SHA-256 of the root CA, pairs of hex digits with colons; without TLS null until it is downloaded, after each start',
      }),
    ),
    rootEndsAt: orNull(instant),
    leaf: orNull(object({ names: Type.Array(text), addresses: Type.Array(text), startsAt: instant, endsAt: instant })),
    outside: Type.Array(text, { description: 'names of the machine for which the root may not sign' }),
  }),
  licences: Type.Optional(licenceList),
})

const revision = Type.String({ description: 'also the ETag; a change with `If-Match` is refused once it is another' })

/** A line that is found, configured, or both. */
export const portShape = object({
  path: text,
  byId: orNull(text),
  maker: orNull(text),
  product: orNull(text),
  serialNumber: orNull(text),
  found: Type.Boolean(),
  configured: Type.Boolean(),
  state: orNull(portState),
  stateSince: orNull(instant),
  fault: orNull(fault),
  nextTryAt: orNull(instant),
  enabled: Type.Boolean(),
  protocol: orNull(Type.Enum([...protocols])),
  line: orNull(lineSettings),
  settings: orNull(Type.Record(Type.String(), Type.Unknown(), { description: 'keys of the protocol' })),
  revision: orNull(revision),
  counters: orNull(
    Type.Object(
      { driver: orNull(Type.Record(Type.String(), Type.Unknown())) },
      { additionalProperties: { type: 'number' }, description: 'counts of the line and of the protocol, by kind' },
    ),
  ),
  errorsLastHour: orNull(count),
  units: orNull(object({ total: count, well: count, slow: count, noisy: count, silent: count })),
  unsupported: Type.Array(text, { description: 'what the driver of this line cannot do' }),
  webhooks: count,
})

export const linesAnswer = object({ lines: Type.Array(portShape) })

export const eventsAnswer = Type.Array(
  object({ port: text, event: text, timestamp: instant, payload: Type.Unknown({ description: 'by the event' }) }),
)

const pointValue = orNull(Type.Union([Type.Number(), text, Type.Boolean()]))

const liveValue = {
  revision,
  value: pointValue,
  text: orNull(text),
  quality: Type.Enum(['unknown', 'good', 'stale', 'bad']),
  ageMs: orNull(duration),
  changedAt: orNull(instant),
  readAt: orNull(instant),
  fault: orNull(fault),
}

/** Registers that were read once, with every meaning of each. */
export const testReadAnswer = object({
  unitId: count,
  fc: count,
  address: count,
  quantity: count,
  registers: Type.Array(
    object({
      address: count,
      value: count,
      readings: Type.Array(
        object({
          type: Type.Enum([...pointTypes]),
          wordOrder: Type.Enum([...orders]),
          byteOrder: Type.Enum([...orders]),
          bit: orNull(count),
          length: orNull(count),
          value: pointValue,
          text: orNull(text),
          doubt: orNull(Type.String({ description: 'why it is hardly what the device means' })),
        }),
        { description: 'each with the fields of a point that gives this value' },
      ),
    }),
  ),
})

export const pointAnswer = Type.Union([
  object({ ...pointDefinition.properties, ...liveValue }),
  object({ ...recordPoint.properties, ...liveValue }),
])

export const pointsAnswer = object({
  revision,
  points: Type.Array(pointAnswer),
  polling: object({
    reads: count,
    pointsPerRead: orNull(Type.Number()),
    periodSlipMs: orNull(Type.Number()),
    overruns: count,
  }),
})

export const unitsAnswer = Type.Array(
  object({
    unitId: count,
    state: Type.Enum(['unknown', 'well', 'slow', 'noisy', 'failing', 'silent', 'probing']),
    stateSince: instant,
    requests: count,
    replies: count,
    exceptions: count,
    timeouts: count,
    crcErrors: count,
    badReplies: count,
    lateReplies: count,
    copies: Type.Integer({ minimum: 0, description: 'answers that came a second time' }),
    lately: Type.Object(
      { exchanges: count, damaged: count, missing: count, twice: count, lastBadAt: orNull(instant) },
      {
        additionalProperties: false,
        description: 'the last exchanges, at most settings.noisy_window: what noisy is judged by',
      },
    ),
    lastReplyAt: orNull(instant),
    lastError: orNull(object({ code: text, message: text, at: instant })),
    latencyMs: orNull(object({ last: duration, p50: duration, p95: duration, max: duration })),
    histogram: Type.Array(object({ leMs: orNull(Type.Number()), count })),
    heldUntil: orNull(instant),
    nextTryAt: orNull(instant),
  }),
)

export const registersAnswer = object({
  unitId: count,
  table: text,
  address: count,
  values: Type.Array(orNull(count)),
  writtenAt: orNull(instant),
})

/** Who a meter is, and how it is reached. */
export const meterAnswer = object({
  id: text,
  manufacturer: orNull(text),
  version: orNull(count),
  medium: object({ code: count, name: text }),
})

const mbusScanAnswer = object({
  by: Type.Enum(['primary', 'secondary']),
  from: orNull(count),
  to: orNull(count),
  mask: orNull(text),
  state: Type.Enum(['running', 'done', 'cancelled', 'failed']),
  asked: count,
  progress: Type.Number({ minimum: 0, maximum: 1 }),
  current: orNull(text),
  found: Type.Array(
    object({
      unitId: count,
      address: orNull(count),
      secondary: orNull(text),
      meter: orNull(meterAnswer),
      tookMs: orNull(Type.Number()),
    }),
  ),
  collisions: Type.Array(text, { description: 'addresses where several answer that cannot be told apart' }),
  startedAt: instant,
  endedAt: orNull(instant),
  etaMs: orNull(Type.Number()),
  fault: orNull(fault),
})

const candidateAnswer = object({
  template: text,
  maker: text,
  model: text,
  signs: count,
  fit: count,
  by: Type.Enum(['codes', 'values'], {
    description: 'codes that its maker documents, or values at its addresses that are plausible, which proves little',
  }),
})

const identity = {
  kind: Type.Enum(['said', 'possible', 'unknown'], {
    description: 'said by the unit itself, which is certain; possible: signs of devices fit; or neither',
  }),
  objects: Type.Array(object({ id: count, name: text, value: text })),
  candidates: Type.Array(candidateAnswer, { description: 'devices that it could be, never more than that' }),
  tried: text,
}

/** What a unit is. */
export const identityAnswer = object({ unitId: count, ...identity })

const modbusScanAnswer = object({
  from: count,
  to: count,
  fc: count,
  address: count,
  identify: Type.Boolean(),
  state: Type.Enum(['running', 'done', 'cancelled', 'failed']),
  asked: count,
  total: count,
  current: orNull(count),
  found: Type.Array(
    object({
      unitId: count,
      tookMs: orNull(Type.Number()),
      exception: orNull(object({ code: count, name: text })),
      identity: orNull(object(identity)),
    }),
  ),
  startedAt: instant,
  endedAt: orNull(instant),
  etaMs: orNull(Type.Number()),
  fault: orNull(fault),
})

export const scanAnswer = Type.Union([modbusScanAnswer, mbusScanAnswer])

/** Speed and framing of a line. */
const huntSetting = object({
  baud: count,
  data_bits: lineSettings.properties.data_bits,
  parity: lineSettings.properties.parity,
  stop_bits: lineSettings.properties.stop_bits,
})

export const huntAnswer = object({
  state: Type.Enum(['running', 'done', 'cancelled', 'failed']),
  startedAt: instant,
  endedAt: orNull(instant),
  fault: orNull(fault),
  protocols: Type.Array(text),
  ask: Type.Boolean(),
  from: orNull(count),
  to: orNull(count),
  phase: orNull(Type.Enum(['listen', 'ask'])),
  current: orNull(Type.String({ description: 'what is tried: `19200 8E1`, or `19200 8E1, unit 7`' })),
  tried: Type.Integer({ minimum: 0, description: 'settings tried, of `total`, listening and asking' }),
  total: count,
  etaMs: orNull(Type.Number({ description: 'milliseconds to the end if nothing is found' })),
  found: Type.Array(
    object({
      protocol: text,
      line: huntSetting,
      also: Type.Array(huntSetting, { description: 'settings that cannot be told from these' }),
      how: Type.Enum(['heard', 'answered']),
      isSure: Type.Boolean({ description: 'false: it may be chance' }),
      frames: Type.Integer({ minimum: 0, description: 'frames heard, or answers' }),
      units: Type.Array(count),
      gave: Type.Array(text, {
        description: 'what units gave that do not answer what is asked for first: `input registers`, `coils`',
      }),
      wrong: orNull(Type.Integer({ minimum: 0, description: 'errors that the driver counted; null: it counts none' })),
      evidence: text,
    }),
    { description: 'the best first' },
  ),
  refused: Type.Array(text, { description: 'settings that the driver refused' }),
  verdict: orNull(Type.String({ description: 'what came of it, in words; null while it runs' })),
})

const pointShown = {
  kind: Type.Enum([...pointKinds]),
  index: count,
  value: Type.Union([Type.Boolean(), Type.Number(), text], { description: 'of an octet string hex pairs' }),
  flags: Type.Array(text),
  time: Type.Integer({ minimum: 0, description: 'when it changed, epoch milliseconds; 0: it was never set' }),
}

export const setPointAnswer = object({
  ...pointShown,
  isEvent: Type.Boolean({ description: 'the value changed, so an event waits for each master' }),
})

const indications = Type.Array(text, { description: 'names such as need_time, class_1 or device_restart' })

export const indicationsAnswer = object({ indications })

export const outstationAnswer = object({
  address: count,
  timeMs: instant,
  indications,
  points: object(Object.fromEntries(pointKinds.map((kind) => [kind, count])) as Record<string, typeof count>),
  masters: Type.Array(
    object({
      address: count,
      state: Type.Enum(['unheard', 'present', 'unconfirming', 'left', 'gone']),
      via: orNull(Type.String({ description: '`line`, or the address of a TCP client' })),
      indications,
      waiting: object({ class1: count, class2: count, class3: count }),
      isOverflown: Type.Boolean({ description: 'events were lost' }),
      assigned: Type.Integer({ minimum: 0, description: 'points that it has put into another class of events' }),
      unsolicited: Type.Array(count, { description: 'classes of events that are sent to it without a poll' }),
    }),
  ),
  kind: Type.Enum([...pointKinds], { description: 'of the points that are shown' }),
  shown: Type.Array(object(pointShown)),
})
