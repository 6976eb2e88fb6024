/** Replies of Modbus RTU units: how long they are, and whether one answers a request. */
import { Fault } from '#kit/fault.ts'
import { hasGoodCrc, sealed } from './modbus-crc.ts'
import { type FunctionShape, modbusFunctions } from './modbus-functions.ts'
import { identificationFlaw, identificationLength } from './modbus-identification.ts'
import type { ModbusRequest, Need } from './modbus-request.ts'

/** A request together with the bytes that went out. */
export interface SentRequest {
  frame: Uint8Array
  request: ModbusRequest
}

/** Why a frame is not the reply to a request. */
export type ReplyFlaw = 'crc' | 'wrong_unit' | 'wrong_function' | 'short' | 'long' | 'mismatch' | 'malformed'

/** Unit, function with its top bit set, exception code, CRC. @source Modbus Application Protocol V1.1b3, 7 */
const EXCEPTION_BYTES = 5

/** How the reply to a function begins: with a byte count, or with so many bytes of the request. */
const echoedBytes: Readonly<Partial<Record<FunctionShape, number>>> = {
  writeBit: 6,
  writeWord: 6,
  writeBits: 6,
  writeWords: 6,
  maskWord: 8,
}

/** How long the right reply is that begins with these bytes; `impossible` where no right reply begins so. */
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

/** How long any unit's reply is that begins with these bytes; of an unknown function `more`, its end is silence. */
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

/** @returns what makes this frame not the reply to that request; undefined where it is (an exception is a reply) */
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

/** Checks what the function itself says: echoed fields, byte count, or the list of objects. */
function dataFlaw(sent: SentRequest, frame: Uint8Array): ReplyFlaw | undefined {
  const shape = modbusFunctions.get(sent.request.fc)?.shape
  if (shape === 'identify') {
    // Function 43 answers with the code that was asked for; another one is the reply to another request.
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

/** What a flaw means for a frame heard after a request. Codes: `modbus_crc`, `modbus_wrong_unit`, ... */
export function flawFault(flaw: ReplyFlaw, sent: SentRequest | undefined, frame: Uint8Array): Fault {
  const asked = sent ? ` to unit ${sent.request.unitId} function ${sent.request.fc}` : ''
  return new Fault(`modbus_${flaw}`, `frame of ${frame.length} bytes after the request${asked} ${flawSentences[flaw]}`)
}

/**
 * Proves that a frame answers a request: checksum, unit, function, exact length, byte count, echoed fields.
 * @returns the exception code, or null for a normal reply
 * @throws Fault `modbus_crc`, `modbus_wrong_unit`, `modbus_wrong_function`, `modbus_short`, `modbus_long`, `modbus_mismatch`, `modbus_malformed`
 * @source Modbus over Serial Line V1.02, 2.4.1 and 2.5.1; Modbus Application Protocol V1.1b3, 6 and 7
 */
export function checkReply(sent: SentRequest, frame: Uint8Array): number | null {
  const flaw = replyFlaw(sent, frame)
  if (flaw) throw flawFault(flaw, sent, frame)
  return exceptionCode(frame)
}

/** Whether some frame, an exception apart, would do as the reply to either: one cannot be told from the other's. */
export function isMistakable(one: SentRequest, other: SentRequest): boolean {
  const { unitId, fc, quantity } = one.request
  if (other.request.unitId !== unitId || other.request.fc !== fc) return false
  const echoed = echoedLength(fc)
  if (echoed !== undefined) return isPrefixOf(one.frame.subarray(0, echoed), other.frame)
  return fc === 43 ? quantity === other.request.quantity : dataBytes(one.request) === dataBytes(other.request)
}

/** The right reply to a write, known before it comes; undefined where a reply carries values of the unit. */
export function knownReply({ frame, request }: SentRequest): Uint8Array | undefined {
  const echoed = echoedLength(request.fc)
  return echoed === undefined ? undefined : sealed([...frame.subarray(0, echoed)])
}

/** The exception code of a reply, or null where it is none. */
export function exceptionCode(frame: Uint8Array): number | null {
  return (frame[1] ?? 0) & 0x80 ? (frame[2] ?? 0) : null
}

/** Whether `head` is what `whole` begins with. */
export function isPrefixOf(head: Uint8Array, whole: Uint8Array): boolean {
  return head.length <= whole.length && head.every((byte, at) => byte === whole[at])
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
