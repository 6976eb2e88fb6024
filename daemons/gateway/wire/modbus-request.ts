/** Requests of a Modbus RTU master: what they ask, opened from their bytes. */
import { Fault } from '#kit/fault.ts'
import { hasGoodCrc, wordAt } from './modbus-crc.ts'
import { type FunctionShape, MEI_IDENTIFY, modbusFunctions } from './modbus-functions.ts'

/**
 * What one request asks. For function 43/14 `address` is the first object and `quantity` the read device id code.
 * `values`: 0 or 1 per coil, 0..65535 per register.
 */
export interface ModbusRequest {
  unitId: number
  fc: number
  address: number
  quantity: number
  values?: readonly number[]
  andMask?: number
  orMask?: number
  writeAddress?: number
}

/** Bytes a frame needs in all, or that more bytes must come to know, or that these bytes begin no such frame. */
export type Need = number | 'more' | 'impossible'

/** Where the byte count stands in requests that have one, else the fixed length. */
const lengths: Readonly<Record<FunctionShape, { bytes: number; countAt?: number }>> = {
  readBits: { bytes: 8 },
  readWords: { bytes: 8 },
  writeBit: { bytes: 8 },
  writeWord: { bytes: 8 },
  writeBits: { bytes: 9, countAt: 6 },
  writeWords: { bytes: 9, countAt: 6 },
  maskWord: { bytes: 10 },
  readWriteWords: { bytes: 13, countAt: 10 },
  identify: { bytes: 7 },
}

/** How long the request is that begins with these bytes. Unit 0 (broadcast) to 247. */
export function requestLength(head: Uint8Array): Need {
  const [unitId, fc] = head
  if (unitId === undefined) return 'more'
  if (unitId > 247) return 'impossible'
  if (fc === undefined) return 'more'
  const known = modbusFunctions.get(fc)
  if (!known) return 'impossible'
  const { bytes, countAt } = lengths[known.shape]
  if (countAt === undefined) return bytes
  const count = head[countAt]
  return count === undefined ? 'more' : bytes + count
}

/**
 * Opens one request, as it went out or was heard.
 * @param frame unit, function, data, CRC
 * @throws Fault `modbus_short`, `modbus_long`, `modbus_crc`, `modbus_unknown_function`, `modbus_malformed`
 * @source Modbus Application Protocol V1.1b3, 6
 */
export function openRequest(frame: Uint8Array): ModbusRequest {
  if (frame.length < 4) throw new Fault('modbus_short', `request has ${frame.length} bytes, needs at least 4`)
  if (!hasGoodCrc(frame)) throw new Fault('modbus_crc', 'request fails its checksum')
  const need = requestLength(frame)
  if (need === 'impossible')
    throw new Fault('modbus_unknown_function', `unit ${frame[0]} function ${frame[1]} is no request known here`)
  if (need === 'more' || frame.length < need)
    throw new Fault('modbus_short', `request has ${frame.length} bytes, needs ${need === 'more' ? 'more' : need}`)
  if (frame.length > need) throw new Fault('modbus_long', `request has ${frame.length} bytes, needs ${need}`)
  return opened(frame)
}

function opened(frame: Uint8Array): ModbusRequest {
  const base = { unitId: frame[0] ?? 0, fc: frame[1] ?? 0, address: wordAt(frame, 2), quantity: wordAt(frame, 4) }
  switch (modbusFunctions.get(base.fc)?.shape) {
    case 'writeBit':
      return { ...base, quantity: 1, values: [coilOf(base.quantity)] }
    case 'writeWord':
      return { ...base, quantity: 1, values: [base.quantity] }
    case 'maskWord':
      return { ...base, quantity: 1, andMask: wordAt(frame, 4), orMask: wordAt(frame, 6) }
    case 'writeBits':
      checkCount(frame[6], Math.ceil(base.quantity / 8))
      return { ...base, values: bitsOf(frame.subarray(7), base.quantity) }
    case 'writeWords':
      checkCount(frame[6], base.quantity * 2)
      return { ...base, values: wordsOf(frame.subarray(7), base.quantity) }
    case 'readWriteWords':
      checkCount(frame[10], wordAt(frame, 8) * 2)
      return { ...base, writeAddress: wordAt(frame, 6), values: wordsOf(frame.subarray(11), wordAt(frame, 8)) }
    case 'identify':
      if (frame[2] !== MEI_IDENTIFY) throw new Fault('modbus_malformed', `MEI type ${frame[2]} is not ${MEI_IDENTIFY}`)
      return { ...base, address: frame[4] ?? 0, quantity: frame[3] ?? 0 }
    default:
      return base
  }
}

/** @source Modbus Application Protocol V1.1b3, 6.5: FF00 is on, 0000 is off, all else is illegal */
function coilOf(word: number): number {
  if (word !== 0xff00 && word !== 0) throw new Fault('modbus_malformed', `coil value ${word} is neither 65280 nor 0`)
  return word === 0 ? 0 : 1
}

function checkCount(found: number | undefined, wanted: number): void {
  if (found !== wanted) throw new Fault('modbus_malformed', `byte count is ${found}, its quantity asks for ${wanted}`)
}

/** Bits of a packed field, lowest bit of the first byte first, without the padding of the last byte. */
export function bitsOf(bytes: Uint8Array, quantity: number): number[] {
  return Array.from({ length: quantity }, (_, at) => ((bytes[at >> 3] ?? 0) >> (at & 7)) & 1)
}

/** Big-endian words of a field, 0..65535 each. */
export function wordsOf(bytes: Uint8Array, quantity: number): number[] {
  return Array.from({ length: quantity }, (_, at) => wordAt(bytes, at * 2))
}
