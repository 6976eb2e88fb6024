/** What a unit of ours does with one request: the flowcharts of the standard, function by function. */
import {
  exceptionFrame,
  ILLEGAL_DATA_ADDRESS,
  ILLEGAL_DATA_VALUE,
  ILLEGAL_FUNCTION,
  identificationFrame,
  replyFrame,
  SERVER_DEVICE_FAILURE,
} from '../wire/modbus-answer.ts'
import { MAX_WRITTEN_BY_23, modbusFunctions } from '../wire/modbus-functions.ts'
import type { IdentificationObject } from '../wire/modbus-identification.ts'
import type { ModbusRequest } from '../wire/modbus-request.ts'
import type { RegisterMap, RegisterTable } from './register-map.ts'

/** What a request wrote. `values`: 0 or 1 per coil, 0..65535 per register, as they are now. */
export interface Written {
  table: RegisterTable
  address: number
  values: readonly number[]
}

/** What came of a request. */
export interface Outcome {
  reply: Uint8Array
  written?: Written
}

/** One unit: its values, and the objects of its identification in order of their ids. */
export interface OwnUnit {
  map: RegisterMap
  identity: readonly Pick<IdentificationObject, 'id' | 'value'>[]
}

/** Which table a function is about. */
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

/** Ends the carrying out of a request; nothing was changed by then. */
class Refusal extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exception ${code}`)
    this.code = code
  }
}

/**
 * Carries out a request that is well-formed. A refused one changes nothing.
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

/** A frame to a unit of ours that is no request known here: its function, or what it says of itself, is wrong. */
export function refusalOf(frame: Uint8Array, kind: 'malformed' | 'unknown'): Uint8Array {
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

/** Values that are there, each written at least once. */
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

/** The write comes first. What it writes need not have been there before. @source Modbus Application Protocol V1.1b3, 6.17 */
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
