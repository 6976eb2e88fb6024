/** Settings of a line that speaks Modbus: as its master, as units of ours, or listening to another master. */
import { type Static, type TSchema, Type } from 'typebox'
import { type RegisterBlock, registerTables } from './slave-registers.ts'

const block = Type.Object(
  {
    table: Type.Enum([...registerTables], { description: 'which table' }),
    address: Type.Integer({ minimum: 0, maximum: 65_535, description: 'first address, counted from 0' }),
    quantity: Type.Integer({ minimum: 1, maximum: 65_536, description: 'addresses served from there' }),
    initial: Type.Union([Type.Integer({ minimum: 0, maximum: 65_535 }), Type.Null()], {
      default: null,
      description: 'what they hold at start; null: nothing, so that a read is exception 4 until they were written',
    }),
  },
  { additionalProperties: false },
)

/** Taken over into the settings of modbus-rtu. */
const slaveKeys = {
  slave_units: Type.Array(Type.Integer({ minimum: 1, maximum: 247 }), {
    default: [1],
    minItems: 1,
    maxItems: 247,
    uniqueItems: true,
    description: 'slave: units served here; each has values of its own',
  }),
  slave_blocks: Type.Array(block, {
    default: [],
    maxItems: 64,
    description: 'slave: addresses that every unit serves; any other is exception 2',
  }),
  slave_values_max: Type.Integer({
    default: 65_536,
    minimum: 1,
    maximum: 1_048_576,
    description: 'slave: coils and registers served in all, blocks times units; each takes 12 bytes of memory',
  }),
} satisfies Record<string, TSchema>

/** What the check looks at. */
export interface SlaveSettings {
  slave_units: readonly number[]
  slave_blocks: readonly RegisterBlock[]
  slave_values_max: number
}

/** What no schema says. @returns a fault for each field, none where all is well */
export function slaveSettingsFaults(settings: SlaveSettings): { field: string; message: string }[] {
  const { slave_blocks: blocks, slave_units: units, slave_values_max: most } = settings
  const faults = blocks.flatMap((one, at) => {
    const message = beyondEnd(one) ?? notABit(one) ?? overlap(one, blocks.slice(0, at))
    return message === undefined ? [] : [{ field: `slave_blocks[${at}]`, message }]
  })
  const served = servedValues(settings)
  if (served > most) {
    const message = `serve ${served} values over ${units.length} units; slave_values_max allows ${most}`
    faults.push({ field: 'slave_blocks', message })
  }
  return faults
}

/** Coils and registers: blocks times units. */
export function servedValues({ slave_units: units = [], slave_blocks: blocks = [] }: Partial<SlaveSettings>): number {
  return units.length * blocks.reduce((sum, { quantity }) => sum + quantity, 0)
}

function beyondEnd({ address, quantity }: RegisterBlock): string | undefined {
  if (address + quantity <= 65_536) return undefined
  return `has ${quantity} addresses from ${address}, so that the last is ${address + quantity - 1}; 65535 is the end`
}

function notABit({ table, initial }: RegisterBlock): string | undefined {
  const isBits = table === 'coils' || table === 'discrete_inputs'
  return isBits && (initial ?? 0) > 1 ? `has initial ${initial}; ${table} hold 0 or 1` : undefined
}

function overlap(one: RegisterBlock, before: readonly RegisterBlock[]): string | undefined {
  const at = before.findIndex(
    (other) =>
      other.table === one.table &&
      one.address < other.address + other.quantity &&
      other.address < one.address + one.quantity,
  )
  const other = before[at]
  if (!other) return undefined
  return `overlaps slave_blocks[${at}], which has ${other.table} ${other.address} to ${other.address + other.quantity - 1}`
}

// Settings of modbus-rtu.

/** `copy_answers` where nobody has set it. */
export const COPY_ANSWERS = 1024

/** Keys of `settings` for `modbus-rtu`. */
export const modbusSettings = Type.Object(
  {
    mode: Type.Enum(['master', 'slave', 'listen'], {
      default: 'master',
      description:
        'master: asks units and hands up their answers; slave: serves registers to a master on the line; listen: hears requests and replies of others, and never sends. Keys of the other modes are kept and not used',
    }),
    ...slaveKeys,
    response_timeout_ms: Type.Integer({
      default: 300,
      minimum: 10,
      maximum: 60_000,
      description:
        'how long a unit may take to begin its answer, from the end of the request, ms; slave: an answer that cannot go out within it is dropped; listen: no longer than the master on the line waits',
    }),
    quarantine_ms: Type.Optional(
      Type.Integer({
        minimum: 100,
        maximum: 600_000,
        description:
          'how long a unit that did not answer is asked nothing more, so that a late answer is not taken for another, ms; listen: how long after its time an answer is told from that to another request; left out: the larger of 1000 and three response timeouts',
      }),
    ),
    late_limit_ms: Type.Integer({
      default: 60_000,
      minimum: 1000,
      maximum: 600_000,
      description:
        'how long after a request without an answer its answer is still reckoned with, unless the unit has answered something asked later, ms; twice the longest lateness seen of the unit where that is more',
    }),
    copy_window_ms: Type.Integer({
      default: 1000,
      minimum: 0,
      maximum: 10_000,
      description:
        'how long after an answer the same one may come again, from a repeater or a unit that says everything twice, ms; 0: nothing on the line does so',
    }),
    copy_answers: Type.Integer({
      default: COPY_ANSWERS,
      minimum: 16,
      maximum: 65_536,
      description:
        'answers of the line that are kept for that time, and last answers to requests; of more the oldest go, with 0.6 kB each at most',
    }),
    copy_trust_after: Type.Integer({
      default: 50,
      minimum: 1,
      maximum: 100_000,
      description: 'answers of a unit without a copy after which none of it is doubted, until a copy is seen',
    }),
    queue: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 1024,
      description: 'requests waiting before the next is refused',
    }),
    queue_reserve: Type.Integer({
      default: 8,
      minimum: 0,
      maximum: 256,
      description:
        'places of the queue that polls leave free to operators, and background work to polls and to operators each; as many polls find a place even where operators fill the queue',
    }),
    operator_row: Type.Integer({
      default: 4,
      minimum: 1,
      maximum: 1000,
      description:
        'requests of operators in a row that go before a poll that waits; then it has a turn, so that who writes without pause does not keep polls away',
    }),
    request_deadline_ms: Type.Integer({
      default: 10_000,
      minimum: 100,
      maximum: 600_000,
      description:
        'how long a request may take in all, waiting and asking, ms; it may wait for two response timeouts in any case',
    }),
    breaker_failures: Type.Integer({
      default: 3,
      minimum: 1,
      maximum: 1000,
      description:
        'requests in a row without an answer after which a unit is silent: polls and background work for it are refused at once until it is tried again',
    }),
    breaker_retry_ms: Type.Integer({
      default: 10_000,
      minimum: 100,
      maximum: 3_600_000,
      description: 'after which time a silent unit is tried again; doubles with each try, ms',
    }),
    breaker_retry_max_ms: Type.Integer({
      default: 60_000,
      minimum: 100,
      maximum: 3_600_000,
      description: 'longest time between tries of a silent unit, ms',
    }),
    background_wait_ms: Type.Integer({
      default: 5000,
      minimum: 100,
      maximum: 600_000,
      description:
        'how long background work, and what asks a unit that did not answer, waits for a gap between polls before it goes all the same, ms',
    }),
    scan_tries: Type.Integer({
      default: 5,
      minimum: 1,
      maximum: 100,
      description:
        'how often a scan asks for one unit on a line that has no place for it, background_wait_ms apart, before it fails',
    }),
    noisy_window: Type.Integer({
      default: 100,
      minimum: 10,
      maximum: 1000,
      description: 'exchanges with a unit by which it is judged noisy, the last ones',
    }),
    noisy_from_percent: Type.Integer({
      default: 10,
      minimum: 1,
      maximum: 100,
      description: 'of these, how many in a hundred without an answer that holds, or answered twice, make a unit noisy',
    }),
    noisy_until_percent: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 99,
      description:
        'how many in a hundred a unit that is noisy may have at most to be well again; 0: none within noisy_window exchanges',
    }),
    noisy_least: Type.Integer({
      default: 5,
      minimum: 1,
      maximum: 1000,
      description: 'how many of them make a unit noisy at least, however few exchanges there were',
    }),
    slow_unit_ms: Type.Integer({
      default: 300_000,
      minimum: 1000,
      maximum: 86_400_000,
      description: 'how long a unit counts as slow after an answer that came too late, ms',
    }),
    forget_unit_ms: Type.Integer({
      default: 600_000,
      minimum: 10_000,
      maximum: 604_800_000,
      description:
        'how long a unit that never answered, and that no point names, stays in the list after it was last asked, ms',
    }),
    gap_us: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 1_000_000,
      description: 'silence before each request, microseconds; 0: 3.5 characters, 1750 above 19200 bits per second',
    }),
    byte_gap_ms: Type.Integer({
      default: 100,
      minimum: 5,
      maximum: 10_000,
      description:
        'longest pause inside an answer, and the silence after which one behind noise is taken, ms; generous, as USB adapters hand bytes on in pieces',
    }),
    reply_limit_ms: Type.Integer({
      default: 2000,
      minimum: 100,
      maximum: 60_000,
      description:
        'how long an answer that has begun may take beyond the response timeout and its time on the wire, ms',
    }),
    send_limit_ms: Type.Integer({
      default: 1000,
      minimum: 100,
      maximum: 60_000,
      description: 'how long the driver may take to send a request beyond twice its time on the wire, ms',
    }),
    turnaround_ms: Type.Integer({
      default: 100,
      minimum: 0,
      maximum: 10_000,
      description: 'pause after a broadcast, in which units carry it out, ms',
    }),
    merge_gap: Type.Integer({
      default: 8,
      minimum: 0,
      maximum: 124,
      description:
        'registers that no point asks for, read along to save a request; for coils and inputs sixteen times as many',
    }),
    merge_registers: Type.Integer({
      default: 125,
      minimum: 1,
      maximum: 125,
      description: 'registers that one read of points asks for at most; for coils and inputs sixteen times as many',
    }),
    reread_ms: Type.Integer({
      default: 250,
      minimum: 0,
      maximum: 60_000,
      description:
        'points that a write touched are read again at once, but not sooner than this after they last were for that reason, ms; 0: never',
    }),
    stale_after_ms: Type.Optional(
      Type.Integer({
        minimum: 100,
        maximum: 604_800_000,
        description: 'age at which the value of a point is stale, ms; left out: three of its poll intervals',
      }),
    ),
    local_echo: Type.Enum(['auto', 'present', 'absent'], {
      default: 'auto',
      description: 'whether the adapter gives our own bytes back; auto: learned from the first transactions',
    }),
    tcp_port: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 65_535,
      description: 'Modbus TCP to the units of the line, without login; 0 is off, 502 is usual',
    }),
    tcp_clients: Type.Integer({ default: 8, minimum: 1, maximum: 64, description: 'Modbus TCP clients at once' }),
    tcp_pipeline: Type.Integer({
      default: 16,
      minimum: 1,
      maximum: 64,
      description: 'requests of one Modbus TCP client that may be unanswered before it is read no further',
    }),
  },
  { additionalProperties: false },
)

export type ModbusSettings = Static<typeof modbusSettings>

/** How long a unit is held back after a request it did not answer. @see docs/decisions/late-replies.md */
export function quarantineMs(settings: ModbusSettings): number {
  return settings.quarantine_ms ?? Math.max(1000, 3 * settings.response_timeout_ms)
}
