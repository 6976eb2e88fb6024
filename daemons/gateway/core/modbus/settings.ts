/** Settings of a Modbus line: as its master, as a slave, or listening to another master. */
import { type Static, type TSchema, Type } from 'typebox'
import { askingKeys, echoKeys, framingKeys, pollingKeys } from '../bus/settings.ts'
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

/** Keys for mode slave, merged into the settings of modbus-rtu. */
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

/** The settings that the check reads. */
export interface SlaveSettings {
  slave_units: readonly number[]
  slave_blocks: readonly RegisterBlock[]
  slave_values_max: number
}

/** Checks what a schema cannot express. @returns one fault per bad field, none if all is well */
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

/** The number of coils and registers served: blocks times units. */
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

/** Keys of `settings` for `modbus-rtu`. */
export const modbusSettings = Type.Object(
  {
    mode: Type.Enum(['master', 'slave', 'listen'], {
      default: 'master',
      description:
        'master: asks units and hands up their answers; slave: serves registers to a master on the line; listen: hears requests and replies of others, and never sends. Keys of the other modes are kept and not used',
    }),
    ...slaveKeys,
    ...askingKeys,
    gap_us: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 1_000_000,
      description: 'silence before each request, microseconds; 0: 3.5 characters, 1750 above 19200 bits per second',
    }),
    ...framingKeys,
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
    ...pollingKeys,
    ...echoKeys,
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

// Keys of the table `modbus` in gateway.toml: the bounds of what finds out about units.

export const modbusKeys = Type.Object(
  {
    test_registers: Type.Integer({
      default: 32,
      minimum: 1,
      maximum: 125,
      description:
        'registers that one test read shows at most, each with some fifty meanings; of coils and inputs sixteen times as many',
    }),
    identify_replies: Type.Integer({
      default: 4,
      minimum: 1,
      maximum: 16,
      description: 'replies to function 43/14 that are read of one unit, which may put each name into its own',
    }),
    identify_reads: Type.Integer({
      default: 40,
      minimum: 0,
      maximum: 500,
      description: 'reads of registers by which one unit is compared with the devices that are known',
    }),
    identify_silent: Type.Integer({
      default: 3,
      minimum: 1,
      maximum: 100,
      description: 'questions in a row without an answer after which a unit is asked no more what it is',
    }),
  },
  { additionalProperties: false, default: {}, description: 'finding out what is on a Modbus line' },
)

export type ModbusLimits = Static<typeof modbusKeys>

/** The keys as they are where nothing is set. */
export const defaultLimits: ModbusLimits = Object.fromEntries(
  Object.entries(modbusKeys.properties).map(([name, schema]) => [name, (schema as { default?: number }).default]),
) as ModbusLimits
