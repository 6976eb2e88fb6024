/** Replies of a Modbus RTU unit, as bytes. */
import { sealed } from './modbus-crc.ts'
import { MEI_IDENTIFY, modbusFunctions } from './modbus-functions.ts'
import type { IdentificationObject } from './modbus-identification.ts'
import type { ModbusRequest } from './modbus-request.ts'

/** Exceptions that a unit answers with. @source Modbus Application Protocol V1.1b3, 7 */
export const ILLEGAL_FUNCTION = 1
export const ILLEGAL_DATA_ADDRESS = 2
export const ILLEGAL_DATA_VALUE = 3
export const SERVER_DEVICE_FAILURE = 4

/** Bytes of objects that fit in one reply to 43/14: a PDU of 253 without the 7 before the first object. */
const OBJECT_BYTES = 246

/** Basic objects, which can also be asked for one by one. @source Modbus Application Protocol V1.1b3, 6.21 */
const BASIC_AND_SINGLE = 0x81

/** An exception. @param code 1..255 */
export function exceptionFrame(unitId: number, fc: number, code: number): Uint8Array {
  return sealed([unitId, fc | 0x80, code])
}

/**
 * The reply to a request that was carried out; of 43/14 see `identificationFrame`.
 * @param values what was read: 0 or 1 per bit, 0..65535 per register, as many as were asked for; unused by writes
 * @source Modbus Application Protocol V1.1b3, 6.1 to 6.6, 6.11, 6.12, 6.16, 6.17
 */
export function replyFrame(request: ModbusRequest, values: readonly number[] = []): Uint8Array {
  const { unitId, fc, address } = request
  switch (modbusFunctions.get(fc)?.shape) {
    case 'readBits':
      return counted(unitId, fc, packedBits(values))
    case 'readWords':
    case 'readWriteWords':
      return counted(unitId, fc, values.flatMap(bytesOfWord))
    case 'writeBit':
      return sealed([unitId, fc, ...bytesOfWord(address), request.values?.[0] ? 0xff : 0, 0])
    case 'writeWord':
      return sealed([unitId, fc, ...bytesOfWord(address), ...bytesOfWord(request.values?.[0] ?? 0)])
    case 'maskWord': {
      const { andMask = 0, orMask = 0 } = request
      return sealed([unitId, fc, ...bytesOfWord(address), ...bytesOfWord(andMask), ...bytesOfWord(orMask)])
    }
    default:
      return sealed([unitId, fc, ...bytesOfWord(address), ...bytesOfWord(request.quantity)])
  }
}

/**
 * The reply to 43/14: the objects from the one asked for on, as many as fit; one alone where the request says so.
 * @param objects in order of their ids; texts of ISO 8859-1, at most 244 characters each
 * @source Modbus Application Protocol V1.1b3, 6.21: from an unknown object a stream begins anew
 */
export function identificationFrame(
  request: ModbusRequest,
  objects: readonly Pick<IdentificationObject, 'id' | 'value'>[],
): Uint8Array {
  const isSingle = request.quantity === 4
  const found = objects.findIndex(({ id }) => id === request.address)
  const from = Math.max(0, found)
  const bytes: number[] = []
  let at = from
  for (; at < objects.length && (!isSingle || at === from); at++) {
    const { id, value } = objects[at] as (typeof objects)[number]
    if (bytes.length + 2 + value.length > OBJECT_BYTES) break
    bytes.push(id, value.length, ...Array.from(value, (character) => character.charCodeAt(0)))
  }
  const next = isSingle ? undefined : objects[at]?.id
  const head = [MEI_IDENTIFY, request.quantity, BASIC_AND_SINGLE, next === undefined ? 0 : 0xff, next ?? 0, at - from]
  return sealed([request.unitId, request.fc, ...head, ...bytes])
}

function counted(unitId: number, fc: number, data: readonly number[]): Uint8Array {
  return sealed([unitId, fc, data.length, ...data])
}

/** Lowest bit of the first byte first; padding is zero. */
function packedBits(bits: readonly number[]): number[] {
  const bytes = new Array<number>(Math.ceil(bits.length / 8)).fill(0)
  for (const [at, bit] of bits.entries()) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (bit << (at & 7))
  return bytes
}

function bytesOfWord(word: number): number[] {
  return [word >> 8, word & 0xff]
}
