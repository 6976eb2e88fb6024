/** Coils and registers of our own units: stores their values and carries out requests on them. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  exceptionFrame,
  ILLEGAL_DATA_ADDRESS,
  ILLEGAL_DATA_VALUE,
  ILLEGAL_FUNCTION,
  identificationFrame,
  replyFrame,
  SERVER_DEVICE_FAILURE,
} from '../../wire/modbus-reply.ts'
import {
  type IdentificationObject,
  MAX_WRITTEN_BY_23,
  type ModbusRequest,
  modbusFunctions,
} from '../../wire/modbus-request.ts'

// The coils and registers that a unit of ours serves.

/** The four tables of the Modbus data model. @source Modbus Application Protocol V1.1b3, 4.3 */
export const registerTables = ['coils', 'discrete_inputs', 'holding_registers', 'input_registers'] as const
export type RegisterTable = (typeof registerTables)[number]

/** Served addresses of one table. `initial`: their value at start; null: no value until written. */
export interface RegisterBlock {
  table: RegisterTable
  address: number
  quantity: number
  initial: number | null
}

/** Marks a place that was never written; values are 0..65535. */
const NEVER = -1

/** A block, and the index of its first value in the map. */
interface Served {
  block: RegisterBlock
  first: number
}

/** All units of a port serve the same blocks, so their layout is computed once. */
const servedOf = new WeakMap<readonly RegisterBlock[], { all: readonly Served[]; size: number }>()

/** The values of one unit. Each call is atomic: nobody sees a part of a write. */
export class RegisterMap {
  readonly #clock: Clock
  readonly #blocks: readonly Served[]
  readonly #values: Int32Array
  /** Epoch milliseconds; 0 if never written. */
  readonly #writtenAt: Float64Array

  /** @param blocks checked: within 0..65535, none overlaps another of its table; not to be changed afterwards */
  constructor(blocks: readonly RegisterBlock[], clock: Clock) {
    this.#clock = clock
    const { all, size } = servedBy(blocks)
    this.#blocks = all
    // Shared by all blocks: with thousands of one-value blocks, two arrays each would cost a hundred times the value.
    this.#values = new Int32Array(size)
    this.#writtenAt = new Float64Array(size)
    for (const { block, first } of all) this.#values.fill(block.initial ?? NEVER, first, first + block.quantity)
  }

  /** @returns the values, null for each never written; undefined if not all addresses are served */
  read(table: RegisterTable, address: number, quantity: number): (number | null)[] | undefined {
    const places = this.#places(table, address, quantity)
    return places?.map((at) => {
      const value = this.#values[at] ?? NEVER
      return value === NEVER ? null : value
    })
  }

  /**
   * Writes all or nothing.
   * @param values 0..65535; null removes a value, as if it had never been written
   * @returns false if not all addresses are served
   */
  write(table: RegisterTable, address: number, values: readonly (number | null)[]): boolean {
    const places = this.#places(table, address, values.length)
    const nowMs = this.#clock.epochMs()
    for (const [index, at] of places?.entries() ?? []) {
      this.#values[at] = values[index] ?? NEVER
      this.#writtenAt[at] = nowMs
    }
    return places !== undefined
  }

  /** The time of the newest write to these addresses, epoch milliseconds; null if never written or not served. */
  writtenAt(table: RegisterTable, address: number, quantity: number): number | null {
    const places = this.#places(table, address, quantity) ?? []
    return places.reduce((newest, at) => Math.max(newest, this.#writtenAt[at] ?? 0), 0) || null
  }

  /** Blocks may stand side by side, so a range may lie in several. */
  #places(table: RegisterTable, address: number, quantity: number): number[] | undefined {
    const places: number[] = []
    for (let place = address; place < address + quantity; place++) {
      const served = this.#blocks.find(({ block }) => isIn(block, table, place))
      if (!served) return undefined
      places.push(served.first + place - served.block.address)
    }
    return places
  }
}

function servedBy(blocks: readonly RegisterBlock[]): { all: readonly Served[]; size: number } {
  const known = servedOf.get(blocks)
  if (known) return known
  let size = 0
  const all = blocks.map((block) => {
    const first = size
    size += block.quantity
    return { block, first }
  })
  servedOf.set(blocks, { all, size })
  return { all, size }
}

function isIn(block: RegisterBlock, table: RegisterTable, address: number): boolean {
  return block.table === table && address >= block.address && address < block.address + block.quantity
}

// How our unit carries out one request: the flowcharts of the standard, function by function.

/** The values that a request wrote. `values`: 0 or 1 per coil, 0..65535 per register, as they are now. */
export interface Written {
  table: RegisterTable
  address: number
  values: readonly number[]
}

/** The result of a request: its reply, and what it wrote. */
interface Outcome {
  reply: Uint8Array
  written?: Written
}

/** One unit: its values, and the objects of its identification in order of their ids. */
export interface OwnUnit {
  map: RegisterMap
  identity: readonly Pick<IdentificationObject, 'id' | 'value'>[]
}

/** The table that each function reads or writes. */
const tableOf: Readonly<Record<number, RegisterTable>> = {
  1: 'coils',
  2: 'discrete_inputs',
  3: 'holding_registers',
  4: 'input_registers',
  5: 'coils',
  6: 'holding_registers',
  15: 'coils',
  16: 'holding_registers',
  22: 'holding_registers',
  23: 'holding_registers',
}

/** Stops a request with an exception; nothing has been changed by then. */
class Refusal extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exception ${code}`)
    this.code = code
  }
}

/**
 * Carries out a well-formed request. A refused request changes nothing.
 * @source Modbus Application Protocol V1.1b3, 6: function, then quantity, then address, then the value itself
 */
export function carryOut(unit: OwnUnit, request: ModbusRequest): Outcome {
  try {
    return carriedOut(unit, request)
  } catch (error) {
    if (error instanceof Refusal) return { reply: exceptionFrame(request.unitId, request.fc, error.code) }
    throw error
  }
}

/** The exception for a frame to our unit that is no valid request: unknown function, or malformed. */
export function exceptionFor(frame: Uint8Array, kind: 'malformed' | 'unknown'): Uint8Array {
  const [unitId = 0, fc = 0] = frame
  return exceptionFrame(unitId, fc, kind === 'malformed' ? ILLEGAL_DATA_VALUE : ILLEGAL_FUNCTION)
}

function carriedOut({ map, identity }: OwnUnit, request: ModbusRequest): Outcome {
  const { fc, address, quantity, values = [] } = request
  const table = tableOf[fc]
  if (fc === 43 || table === undefined) return { reply: identified(identity, request) }
  checkQuantity(request)
  if (fc <= 4) return { reply: replyFrame(request, known(map, table, address, quantity)) }
  if (fc === 22) return masked(map, request)
  if (fc === 23) return readAndWritten(map, request)
  return { reply: replyFrame(request), written: write(map, { table, address, values }) }
}

function checkQuantity({ fc, quantity, values = [] }: ModbusRequest): void {
  const most = modbusFunctions.get(fc)?.maxQuantity ?? 0
  const isWrongCount = fc === 23 && (values.length < 1 || values.length > MAX_WRITTEN_BY_23)
  if (quantity < 1 || quantity > most || isWrongCount) throw new Refusal(ILLEGAL_DATA_VALUE)
}

/** Reads values; refuses if an address is not served or has no value yet. */
function known(map: RegisterMap, table: RegisterTable, address: number, quantity: number): number[] {
  const values = map.read(table, address, quantity)
  if (!values) throw new Refusal(ILLEGAL_DATA_ADDRESS)
  return values.map(orFailure)
}

function orFailure(value: number | null): number {
  if (value === null) throw new Refusal(SERVER_DEVICE_FAILURE)
  return value
}

function write(map: RegisterMap, written: Written): Written {
  if (!map.write(written.table, written.address, written.values)) throw new Refusal(ILLEGAL_DATA_ADDRESS)
  return written
}

/** @source Modbus Application Protocol V1.1b3, 6.16 */
function masked(map: RegisterMap, request: ModbusRequest): Outcome {
  const { address, andMask = 0, orMask = 0 } = request
  const [now = 0] = known(map, 'holding_registers', address, 1)
  const values = [((now & andMask) | (orMask & ~andMask)) & 0xffff]
  return { reply: replyFrame(request), written: write(map, { table: 'holding_registers', address, values }) }
}

/**
 * The write comes first. The registers it writes need no value before.
 * @source Modbus Application Protocol V1.1b3, 6.17
 */
function readAndWritten(map: RegisterMap, request: ModbusRequest): Outcome {
  const { address, quantity, values = [], writeAddress = 0 } = request
  const before = map.read('holding_registers', address, quantity)
  if (!before || !map.read('holding_registers', writeAddress, values.length)) throw new Refusal(ILLEGAL_DATA_ADDRESS)
  const after = before.map((value, at) => values[address + at - writeAddress] ?? value).map(orFailure)
  const written = write(map, { table: 'holding_registers', address: writeAddress, values })
  return { reply: replyFrame(request, after), written }
}

/** @source Modbus Application Protocol V1.1b3, 6.21 */
function identified(identity: OwnUnit['identity'], request: ModbusRequest): Uint8Array {
  const { address, quantity: code } = request
  if (code < 1 || code > 4) throw new Refusal(ILLEGAL_DATA_VALUE)
  if (code === 4 && !identity.some(({ id }) => id === address)) throw new Refusal(ILLEGAL_DATA_ADDRESS)
  return identificationFrame(request, identity)
}

/** A range in one table of a unit. */
interface RegisterRange {
  unitId: number
  table: RegisterTable
  address: number
  quantity: number
}

/** The values of a range. `values`: null if never written; `writtenAt`: the newest write, epoch milliseconds. */
export interface RegisterView {
  unitId: number
  table: RegisterTable
  address: number
  values: (number | null)[]
  writtenAt: number | null
}

declare module '../lines/adapter.ts' {
  interface AdapterFaces {
    registers?: RegistersFace
  }
}

/** Access to the registers of a port in mode slave. */
interface RegistersFace {
  /** @throws Fault `unknown_registers` if not all of them are served */
  read(range: RegisterRange): RegisterView
  /**
   * Writes atomically, between two frames of the line: a value of two registers is never seen half written.
   * @param values 0 or 1 per bit, 0..65535 per register; null removes a value
   * @throws Fault `unknown_registers`, `bad_fields`
   */
  write(range: Omit<RegisterRange, 'quantity'>, values: readonly (number | null)[]): RegisterView
}

export function registersFace(units: ReadonlyMap<number, OwnUnit>): RegistersFace {
  function mapOf(unitId: number) {
    const unit = units.get(unitId)
    if (!unit)
      throw new Fault(
        'unknown_registers',
        `Unit ${unitId} is not served here; settings.slave_units has ${[...units.keys()].join(', ')}.`,
      )
    return unit.map
  }

  function read(range: RegisterRange): RegisterView {
    const { unitId, table, address, quantity } = range
    const map = mapOf(unitId)
    const values = map.read(table, address, quantity)
    if (!values) throw notServed(range)
    return { unitId, table, address, values, writtenAt: map.writtenAt(table, address, quantity) }
  }

  return {
    read,
    write(target, values) {
      const range = { ...target, quantity: values.length }
      const isBits = target.table === 'coils' || target.table === 'discrete_inputs'
      const wrongAt = isBits ? values.findIndex((value) => value !== null && value > 1) : -1
      if (wrongAt >= 0) {
        const message = `is ${values[wrongAt]}; ${target.table} hold 0 or 1`
        const fields = [{ field: `values[${wrongAt}]`, message }]
        throw new Fault('bad_fields', `values[${wrongAt}] ${message}`, { details: { fields } })
      }
      if (!mapOf(target.unitId).write(target.table, target.address, values)) throw notServed(range)
      return read(range)
    },
  }
}

function notServed({ unitId, table, address, quantity }: RegisterRange): Fault {
  const last = address + quantity - 1
  const sentence = `Unit ${unitId} does not serve all of ${table} ${address} to ${last}; settings.slave_blocks says what it serves.`
  return new Fault('unknown_registers', sentence)
}
