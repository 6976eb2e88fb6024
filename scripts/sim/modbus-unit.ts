/** A simulated Modbus unit: coils and registers in memory, answered as the standard says. */
import { sealed } from '../../daemons/gateway/wire/modbus-crc.ts'
import { MEI_IDENTIFY, modbusFunctions } from '../../daemons/gateway/wire/modbus-functions.ts'
import type { ModbusRequest } from '../../daemons/gateway/wire/modbus-request.ts'

/** What a unit has. A table that is left out is not there: its functions answer exception 1. */
export interface UnitTables {
  unitId: number
  /** 0 or 1 each. */
  coils?: number[]
  discreteInputs?: readonly number[]
  /** 0..65535 each. */
  holding?: number[]
  /** Made anew for each request, so that values move. */
  input?: () => readonly number[]
  /** Texts of device identification, from object 0 on. */
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
      return counted(part(request.fc === 3 ? tables.holding : tables.input?.(), request).flatMap(bytesOfWord))
    case 'writeBit':
      write(tables.coils, address, values)
      return [...bytesOfWord(address), values[0] ? 0xff : 0, 0]
    case 'writeWord':
      write(tables.holding, address, values)
      return [...bytesOfWord(address), ...bytesOfWord(values[0] ?? 0)]
    case 'writeBits':
    case 'writeWords':
      write(request.fc === 15 ? tables.coils : tables.holding, address, values)
      return [...bytesOfWord(address), ...bytesOfWord(quantity)]
    case 'maskWord':
      return masked(tables, request)
    case 'readWriteWords':
      write(tables.holding, request.writeAddress ?? 0, values)
      return counted(part(tables.holding, request).flatMap(bytesOfWord))
    case 'identify':
      return identified(tables.identity, request)
    default:
      throw new Refusal(ILLEGAL_FUNCTION)
  }
}

function part(table: readonly number[] | undefined, { address, quantity }: ModbusRequest): readonly number[] {
  if (!table) throw new Refusal(ILLEGAL_FUNCTION)
  if (quantity < 1) throw new Refusal(ILLEGAL_VALUE)
  if (address + quantity > table.length) throw new Refusal(ILLEGAL_ADDRESS)
  return table.slice(address, address + quantity)
}

function write(table: number[] | undefined, address: number, values: readonly number[]): void {
  if (!table) throw new Refusal(ILLEGAL_FUNCTION)
  if (address + values.length > table.length) throw new Refusal(ILLEGAL_ADDRESS)
  table.splice(address, values.length, ...values)
}

/** @source Modbus Application Protocol V1.1b3, 6.16 */
function masked({ holding }: UnitTables, request: ModbusRequest): number[] {
  const { address, andMask = 0, orMask = 0 } = request
  const [now = 0] = part(holding, request)
  write(holding, address, [((now & andMask) | (orMask & ~andMask)) & 0xffff])
  return [...bytesOfWord(address), ...bytesOfWord(andMask), ...bytesOfWord(orMask)]
}

/** One object per reply, so that a master has to ask on. @source Modbus Application Protocol V1.1b3, 6.21 */
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
