/**
 * Modbus replies as bytes: builds them, checks them against their request, describes them, and judges requests.
 * @source Modbus Application Protocol V1.1b3, 6 and 7; Modbus over Serial Line V1.02, 2.5.1
 */

import { isPrefixOf } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  bitsOf,
  exceptionName,
  type FunctionShape,
  functionName,
  hasGoodCrc,
  type IdentificationObject,
  identificationFlaw,
  identificationLength,
  MAX_WRITTEN_BY_23,
  MEI_IDENTIFY,
  type ModbusRequest,
  modbusFunctions,
  type Need,
  openIdentification,
  readModbusRequest,
  sealed,
  wordsOf,
} from './modbus-request.ts'

// Replies of a Modbus RTU unit, as bytes.

/** Exceptions that a unit answers with. @source Modbus Application Protocol V1.1b3, 7 */
export const ILLEGAL_FUNCTION = 1
export const ILLEGAL_DATA_ADDRESS = 2
export const ILLEGAL_DATA_VALUE = 3
export const SERVER_DEVICE_FAILURE = 4

/** Bytes of objects that fit in one reply to 43/14: a PDU of 253 bytes minus the 7 before the first object. */
const OBJECT_BYTES = 246

/**
 * Conformity level: basic objects, which can also be read one by one. @source Modbus Application Protocol V1.1b3, 6.21
 */
const BASIC_AND_SINGLE = 0x81

/** An exception. @param code 1..255 */
export function exceptionFrame(unitId: number, fc: number, code: number): Uint8Array {
  return sealed([unitId, fc | 0x80, code])
}

/**
 * The reply to a request that was carried out; for 43/14 see `identificationFrame`.
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
 * The reply to 43/14: as many objects as fit, from the requested one on; a single one if the request says so.
 * @param objects in order of their ids; texts of ISO 8859-1, at most 244 characters each
 * @source Modbus Application Protocol V1.1b3, 6.21: an unknown object starts the stream over
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

/** The high byte first. */
function bytesOfWord(word: number): number[] {
  return [word >> 8, word & 0xff]
}

/** A request together with the bytes that were sent. */
export interface SentRequest {
  frame: Uint8Array
  request: ModbusRequest
}

/** Why a frame is not the reply to a request. */
export type ReplyFlaw = 'crc' | 'wrong_unit' | 'wrong_function' | 'short' | 'long' | 'mismatch' | 'malformed'

/** Unit, function with its top bit set, exception code, CRC. @source Modbus Application Protocol V1.1b3, 7 */
const EXCEPTION_BYTES = 5

/** How many bytes of the request the reply repeats; functions that are not listed reply with a byte count. */
const echoedBytes: Readonly<Partial<Record<FunctionShape, number>>> = {
  writeBit: 6,
  writeWord: 6,
  writeBits: 6,
  writeWords: 6,
  maskWord: 8,
}

/** The length of the valid reply that begins with these bytes; `impossible` if no valid reply does. */
export function replyLength(sent: SentRequest, head: Uint8Array): Need {
  const { unitId, fc } = sent.request
  if (unitId === 0) return 'impossible'
  if (head.length > 0 && head[0] !== unitId) return 'impossible'
  if (head.length < 2) return 'more'
  if (head[1] === (fc | 0x80)) return EXCEPTION_BYTES
  if (head[1] !== fc) return 'impossible'
  if (modbusFunctions.get(fc)?.shape === 'identify') return identificationLength(head)
  const echoed = echoedLength(fc)
  if (echoed !== undefined) return isPrefixOf(head.subarray(0, echoed), sent.frame) ? echoed + 2 : 'impossible'
  const count = dataBytes(sent.request)
  return head.length > 2 && head[2] !== count ? 'impossible' : count + 5
}

/**
 * The length of a reply of any unit that begins with these bytes; `more` for an unknown function, which ends only with
 * silence.
 */
export function anyReplyLength(head: Uint8Array): Need {
  const [unitId, fc, count] = head
  if (unitId === undefined) return 'more'
  if (unitId === 0 || unitId > 247) return 'impossible'
  if (fc === undefined) return 'more'
  if ((fc & 0x7f) === 0) return 'impossible'
  if (fc & 0x80) return EXCEPTION_BYTES
  const shape = modbusFunctions.get(fc)?.shape
  if (!shape) return 'more'
  if (shape === 'identify') return identificationLength(head)
  const echoed = echoedBytes[shape]
  if (echoed !== undefined) return echoed + 2
  if (count === undefined) return 'more'
  return count + 5 > 256 ? 'impossible' : count + 5
}

/** @returns why this frame is not the reply to that request; undefined if it is (an exception is a reply) */
export function replyFlaw(sent: SentRequest, frame: Uint8Array): ReplyFlaw | undefined {
  const { unitId, fc } = sent.request
  const isException = frame[1] === (fc | 0x80)
  const isFixed = isException || fc !== 43
  const wanted = isException ? EXCEPTION_BYTES : fixedLength(sent.request)
  if (!hasGoodCrc(frame)) {
    if (frame.length < (isFixed ? wanted : EXCEPTION_BYTES)) return 'short'
    return isFixed && frame.length > wanted ? 'long' : 'crc'
  }
  if (frame[0] !== unitId) return 'wrong_unit'
  if (frame[1] !== fc && !isException) return 'wrong_function'
  if (isFixed && frame.length !== wanted) return frame.length < wanted ? 'short' : 'long'
  return isException ? undefined : dataFlaw(sent, frame)
}

/** Checks the data of the function: echoed fields, byte count, or the list of objects. */
function dataFlaw(sent: SentRequest, frame: Uint8Array): ReplyFlaw | undefined {
  const shape = modbusFunctions.get(sent.request.fc)?.shape
  if (shape === 'identify') {
    // Function 43 repeats the requested code; another code belongs to another request.
    if (frame[3] !== sent.request.quantity) return 'mismatch'
    return identificationFlaw(frame) ? 'malformed' : undefined
  }
  const echoed = echoedLength(sent.request.fc)
  if (echoed !== undefined) return isPrefixOf(frame.subarray(0, echoed), sent.frame) ? undefined : 'mismatch'
  return frame[2] === dataBytes(sent.request) ? undefined : 'mismatch'
}

const flawSentences: Readonly<Record<ReplyFlaw, string>> = {
  crc: 'fails its checksum',
  wrong_unit: 'comes from another unit',
  wrong_function: 'answers another function',
  short: 'is too short',
  long: 'is too long',
  mismatch: 'does not repeat what was asked',
  malformed: 'has parts that do not fit together',
}

/** The fault for a frame after a request. Codes: `modbus_crc`, `modbus_wrong_unit`, ... */
export function flawFault(flaw: ReplyFlaw, sent: SentRequest | undefined, frame: Uint8Array): Fault {
  const asked = sent ? ` to unit ${sent.request.unitId} function ${sent.request.fc}` : ''
  return new Fault(`modbus_${flaw}`, `frame of ${frame.length} bytes after the request${asked} ${flawSentences[flaw]}`)
}

/**
 * Names what unusable bytes were: their flaw as a reply to the request, or plain noise (undefined). Used when a
 * transaction ends, and for bytes outside a transaction.
 */
export function flawOfJunk(bytes: Uint8Array, sent: SentRequest | undefined): ReplyFlaw | undefined {
  if (sent && bytes.length >= 2 && bytes[0] === sent.request.unitId && ((bytes[1] ?? 0) & 0x7f) === sent.request.fc)
    return replyFlaw(sent, bytes)
  const need = anyReplyLength(bytes)
  return typeof need === 'number' && need === bytes.length ? 'crc' : undefined
}

/**
 * Proves that a frame answers a request: checksum, unit, function, exact length, byte count, echoed fields.
 * @returns the exception code, or null for a normal reply
 * @throws Fault `modbus_crc`, `modbus_wrong_unit`, `modbus_wrong_function`, `modbus_short`, `modbus_long`,
 * `modbus_mismatch`, `modbus_malformed`
 * @source Modbus over Serial Line V1.02, 2.4.1 and 2.5.1; Modbus Application Protocol V1.1b3, 6 and 7
 * @internal tests do both steps at once; the receiver checks for a flaw first, and opens the reply later
 */
export function checkReply(sent: SentRequest, frame: Uint8Array): number | null {
  const flaw = replyFlaw(sent, frame)
  if (flaw) throw flawFault(flaw, sent, frame)
  return exceptionCode(frame)
}

/** Whether a frame, other than an exception, exists that is a valid reply to both: their replies could be confused. */
export function isMistakable(one: SentRequest, other: SentRequest): boolean {
  const { unitId, fc, quantity } = one.request
  if (other.request.unitId !== unitId || other.request.fc !== fc) return false
  const echoed = echoedLength(fc)
  if (echoed !== undefined) return isPrefixOf(one.frame.subarray(0, echoed), other.frame)
  return fc === 43 ? quantity === other.request.quantity : isMistakableRead(one.request, other.request)
}

/** The same for a read that has no frame yet. @param read of function 1 to 4 */
export function isMistakableRead(read: ModbusRequest, other: ModbusRequest): boolean {
  return read.unitId === other.unitId && read.fc === other.fc && dataBytes(read) === dataBytes(other)
}

/** The valid reply to a write, known before it comes; undefined if the reply carries values of the unit. */
export function knownReply({ frame, request }: SentRequest): Uint8Array | undefined {
  const echoed = echoedLength(request.fc)
  return echoed === undefined ? undefined : sealed([...frame.subarray(0, echoed)])
}

/**
 * What every valid reply to a request begins with, and its length, exceptions apart. Undefined for 43/14, whose replies
 * differ in length.
 */
export function expectedReply({ frame, request }: SentRequest): { begins: Uint8Array; length: number } | undefined {
  const { unitId, fc } = request
  if (fc === 43) return undefined
  const echoed = echoedLength(fc)
  const begins = echoed === undefined ? Uint8Array.of(unitId, fc, dataBytes(request)) : frame.subarray(0, echoed)
  return { begins, length: fixedLength(request) }
}

/** The exception code of a reply; null if it is no exception. */
export function exceptionCode(frame: Uint8Array): number | null {
  return (frame[1] ?? 0) & 0x80 ? (frame[2] ?? 0) : null
}

/** Bytes of data in the reply to a read. */
function dataBytes({ fc, quantity }: ModbusRequest): number {
  return modbusFunctions.get(fc)?.shape === 'readBits' ? Math.ceil(quantity / 8) : quantity * 2
}

function echoedLength(fc: number): number | undefined {
  const shape = modbusFunctions.get(fc)?.shape
  return shape && echoedBytes[shape]
}

function fixedLength(request: ModbusRequest): number {
  const echoed = echoedLength(request.fc)
  return echoed === undefined ? dataBytes(request) + 5 : echoed + 2
}

// The decoded form of a Modbus frame, as `frame` events carry it.

/** What a frame was on its line. */
type FrameKind = 'request' | 'reply' | 'exception' | 'late' | 'stray' | 'echo' | 'noise'

/** A frame in readable form. Values: 0 or 1 per bit, 0..65535 per register, objects for 43/14. */
export interface DecodedFrame {
  kind: FrameKind
  unitId?: number
  fc?: number
  name?: string
  address?: number
  quantity?: number
  values?: readonly unknown[]
  andMask?: number
  orMask?: number
  writeAddress?: number
  exception?: { code: number; name: string }
  /** Milliseconds from the end of the request. */
  tookMs?: number
}

/** A request, as sent (`request`) or received back (`echo`). */
export function describeRequest(request: ModbusRequest, kind: 'request' | 'echo' = 'request'): DecodedFrame {
  return { kind, name: functionName(request.fc), ...request }
}

/** The content of a reply. */
export interface OpenedReply {
  exception: { code: number; name: string } | null
  /** 0 or 1 per bit, 0..65535 per register, objects for 43/14; for a write the written values, if it has any. */
  values?: readonly number[] | readonly IdentificationObject[] | undefined
  /** For 43/14: the object to read next; null if nothing more follows. */
  nextObjectId?: number | null | undefined
}

/** Returns the values of a reply to a read: as many as the `quantity` of the request. */
type ValueReader = (request: ModbusRequest, reply: Uint8Array) => readonly number[]

/** Opens a proven reply. @param valuesOf reads the values of functions 1 to 4 and 23 */
export function openReply(frame: Uint8Array, request: ModbusRequest, valuesOf: ValueReader): OpenedReply {
  const code = exceptionCode(frame)
  if (code !== null) return { exception: { code, name: exceptionName(code) } }
  switch (modbusFunctions.get(request.fc)?.shape) {
    case 'readBits':
    case 'readWords':
    case 'readWriteWords':
      return { exception: null, values: valuesOf(request, frame) }
    case 'identify': {
      const { nextObjectId, objects } = openIdentification(frame)
      return { exception: null, values: objects, nextObjectId }
    }
    default:
      return { exception: null, ...(request.values && { values: request.values }) }
  }
}

/**
 * Opens a reply that we made, or that answers no known request; in the latter case the values include the padding bits.
 */
function openAlone(frame: Uint8Array, request: ModbusRequest | undefined): OpenedReply {
  const [unitId = 0, fc = 0] = frame
  const shape = modbusFunctions.get(fc)?.shape
  const data = frame.subarray(3, -2)
  if (!request && shape === 'identify') return { exception: null }
  const quantity = shape === 'readBits' ? data.length * 8 : data.length >> 1
  const asked = request ?? { unitId, fc, address: 0, quantity }
  return openReply(frame, asked, ({ quantity }) =>
    shape === 'readBits' ? bitsOf(data, quantity) : wordsOf(data, quantity),
  )
}

/**
 * Describes a reply with a valid checksum.
 * @param answered the request it answers, if known: address and quantity are taken from it
 */
export function describeReply(
  frame: Uint8Array,
  kind: 'reply' | 'late' | 'stray',
  answered?: SentRequest,
  opened = openAlone(frame, answered?.request),
): DecodedFrame {
  const fc = (frame[1] ?? 0) & 0x7f
  const decoded: DecodedFrame = { kind, unitId: frame[0] ?? 0, fc, name: functionName(fc) }
  const { exception, values } = opened
  if (answered) Object.assign(decoded, { address: answered.request.address, quantity: answered.request.quantity })
  if (exception) {
    decoded.exception = exception
    return kind === 'reply' ? { ...decoded, kind: 'exception' } : decoded
  }
  return values === undefined ? decoded : { ...decoded, values }
}

// Which exception a request deserves before any unit is asked.

const GATEWAY_PATH = 10

/** The highest unit number. @source Modbus over Serial Line V1.02, 2.2 */
const LAST_UNIT = 247

/**
 * Judges a request as the state diagrams of the standard do: function, then quantity, then address. Whether a unit has
 * the address is left to the unit.
 * @param frame unit, function, data, CRC
 * @returns the request if it may be sent; else an exception code: 1, 2, 3, or 10 for a unit that no line can have
 * @source Modbus Application Protocol V1.1b3, 6 and 7
 */
export function judgeRequest(frame: Uint8Array): ModbusRequest | number {
  const [unitId = 0, fc = 0, mei] = frame
  const known = modbusFunctions.get(fc)
  if (unitId > LAST_UNIT) return GATEWAY_PATH
  if (!known || (known.shape === 'identify' && mei !== MEI_IDENTIFY && frame.length > 4)) return ILLEGAL_FUNCTION
  // Nobody answers a broadcast, so what it reads would be lost.
  if (unitId === 0 && (!known.isWrite || fc === 23)) return GATEWAY_PATH
  const request = openRequestOrNull(frame)
  if (!request || !isQuantityRight(request, known.maxQuantity)) return ILLEGAL_DATA_VALUE
  return isWithinAddresses(request) ? request : ILLEGAL_DATA_ADDRESS
}

/** The same as `readModbusRequest`, but null if the frame is no request. */
export function openRequestOrNull(frame: Uint8Array): ModbusRequest | null {
  try {
    return readModbusRequest(frame)
  } catch (error) {
    if (error instanceof Fault) return null
    throw error
  }
}

function isQuantityRight({ fc, quantity, values = [] }: ModbusRequest, most: number): boolean {
  if (quantity < 1 || quantity > most) return false
  return fc !== 23 || (values.length >= 1 && values.length <= MAX_WRITTEN_BY_23)
}

function isWithinAddresses({ fc, address, quantity, values = [], writeAddress = 0 }: ModbusRequest): boolean {
  if (fc === 43) return true
  return address + quantity <= 65_536 && (fc !== 23 || writeAddress + values.length <= 65_536)
}
