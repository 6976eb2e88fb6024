/** A simulated Modbus unit: coils and registers in memory, answered by the standard. */
import { MEI_IDENTIFY, type ModbusRequest, modbusFunctions, sealed } from '../../daemons/gateway/wire/modbus-request.ts'

/**
 * Contents of a unit. An omitted table does not exist: its functions answer exception 1. A hole in a table is a missing
 * address: exception 2.
 */
export interface UnitTables {
  unitId: number
  /** 0 or 1 each. */
  coils?: number[]
  discreteInputs?: readonly number[]
  /** 0..65535 each; a function computes them for each request, so that values change. */
  holding?: number[] | (() => number[])
  /** Computed for each request, so that values change. */
  input?: () => readonly number[]
  /** Most registers per request; more answers exception 3. Default: the limit of a frame. */
  maxWords?: number
  /** Whether a holding register is writable; default: all are. A refused write answers exception 2. */
  isWritable?(address: number): boolean
  /** Called after each successful write. */
  wrote?(table: 'coils' | 'holding', address: number, values: readonly number[]): void
  /** Texts for device identification, from object 0 on. */
  identity?: readonly string[]
}

/** One unit on a line. */
export interface SimulatedUnit {
  readonly unitId: number
  /** @returns the whole reply, with its checksum */
  answer(request: ModbusRequest): Uint8Array
}

const ILLEGAL_FUNCTION = 1
const ILLEGAL_ADDRESS = 2
const ILLEGAL_VALUE = 3

class Refusal extends Error {
  readonly exception: number
  constructor(exception: number) {
    super(`exception ${exception}`)
    this.exception = exception
  }
}

/** @source Modbus Application Protocol V1.1b3, 6 */
export function simulatedUnit(tables: UnitTables): SimulatedUnit {
  return {
    unitId: tables.unitId,
    answer(request) {
      try {
        return sealed([tables.unitId, request.fc, ...dataOf(tables, request)])
      } catch (error) {
        if (error instanceof Refusal) return sealed([tables.unitId, request.fc | 0x80, error.exception])
        throw error
      }
    },
  }
}

function dataOf(tables: UnitTables, request: ModbusRequest): number[] {
  const { address, quantity, values = [] } = request
  switch (modbusFunctions.get(request.fc)?.shape) {
    case 'readBits':
      return counted(packed(part(request.fc === 1 ? tables.coils : tables.discreteInputs, request)))
    case 'readWords':
      return words(tables, request.fc === 3 ? holdingOf(tables) : tables.input?.(), request)
    case 'writeBit':
      write(tables, 'coils', address, values)
      return [...bytesOfWord(address), values[0] ? 0xff : 0, 0]
    case 'writeWord':
      write(tables, 'holding', address, values)
      return [...bytesOfWord(address), ...bytesOfWord(values[0] ?? 0)]
    case 'writeBits':
    case 'writeWords':
      write(tables, request.fc === 15 ? 'coils' : 'holding', address, values)
      return [...bytesOfWord(address), ...bytesOfWord(quantity)]
    case 'maskWord':
      return masked(tables, request)
    case 'readWriteWords':
      write(tables, 'holding', request.writeAddress ?? 0, values)
      return words(tables, holdingOf(tables), request)
    case 'identify':
      return identified(tables.identity, request)
    default:
      throw new Refusal(ILLEGAL_FUNCTION)
  }
}

function holdingOf({ holding }: UnitTables): number[] | undefined {
  return typeof holding === 'function' ? holding() : holding
}

function words(tables: UnitTables, table: readonly number[] | undefined, request: ModbusRequest): number[] {
  if (request.quantity > (tables.maxWords ?? Number.POSITIVE_INFINITY)) throw new Refusal(ILLEGAL_VALUE)
  return counted(part(table, request).flatMap(bytesOfWord))
}

function part(table: readonly number[] | undefined, { address, quantity }: ModbusRequest): readonly number[] {
  if (!table) throw new Refusal(ILLEGAL_FUNCTION)
  if (quantity < 1) throw new Refusal(ILLEGAL_VALUE)
  if (!isThere(table, address, quantity)) throw new Refusal(ILLEGAL_ADDRESS)
  return table.slice(address, address + quantity)
}

function write(tables: UnitTables, name: 'coils' | 'holding', address: number, values: readonly number[]): void {
  const table = name === 'coils' ? tables.coils : holdingOf(tables)
  if (!table) throw new Refusal(ILLEGAL_FUNCTION)
  const takes = name === 'coils' || values.every((_, at) => tables.isWritable?.(address + at) ?? true)
  if (!takes || !isThere(table, address, values.length)) throw new Refusal(ILLEGAL_ADDRESS)
  table.splice(address, values.length, ...values)
  tables.wrote?.(name, address, values)
}

function isThere(table: readonly number[], address: number, quantity: number): boolean {
  for (let at = address; at < address + quantity; at++) if (table[at] === undefined) return false
  return true
}

/** @source Modbus Application Protocol V1.1b3, 6.16 */
function masked(tables: UnitTables, request: ModbusRequest): number[] {
  const { address, andMask = 0, orMask = 0 } = request
  const [now = 0] = part(holdingOf(tables), request)
  write(tables, 'holding', address, [((now & andMask) | (orMask & ~andMask)) & 0xffff])
  return [...bytesOfWord(address), ...bytesOfWord(andMask), ...bytesOfWord(orMask)]
}

/** One object per reply, so that a master has to continue. @source Modbus Application Protocol V1.1b3, 6.21 */
function identified(identity: readonly string[] | undefined, { address, quantity }: ModbusRequest): number[] {
  if (!identity) throw new Refusal(ILLEGAL_FUNCTION)
  if (quantity < 1 || quantity > 4) throw new Refusal(ILLEGAL_VALUE)
  const isSingle = quantity === 4
  if (isSingle && address >= identity.length) throw new Refusal(ILLEGAL_ADDRESS)
  const id = address < identity.length ? address : 0
  const last = quantity === 1 ? Math.min(3, identity.length) : identity.length
  const text = [...Buffer.from(identity[id] ?? '', 'latin1')]
  const hasMore = !isSingle && id + 1 < last
  return [MEI_IDENTIFY, quantity, 0x83, hasMore ? 0xff : 0, hasMore ? id + 1 : 0, 1, id, text.length, ...text]
}

function counted(data: readonly number[]): number[] {
  return [data.length, ...data]
}

function packed(bits: readonly number[]): number[] {
  const bytes = new Array<number>(Math.ceil(bits.length / 8)).fill(0)
  for (const [at, bit] of bits.entries()) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (bit << (at & 7))
  return bytes
}

function bytesOfWord(word: number): number[] {
  return [word >> 8, word & 0xff]
}
