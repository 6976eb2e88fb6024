/** The decoded form of a Modbus frame, as `frame` events carry it. */
import { exceptionName, functionName, modbusFunctions } from './modbus-functions.ts'
import { openIdentification } from './modbus-identification.ts'
import { exceptionCode, type SentRequest } from './modbus-reply.ts'
import { bitsOf, type ModbusRequest, wordsOf } from './modbus-request.ts'

/** What a frame was on its line. */
export type FrameKind = 'request' | 'reply' | 'exception' | 'late' | 'stray' | 'echo' | 'noise'

/** A frame in words. Values: 0 or 1 per bit, 0..65535 per register, objects for 43/14. */
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

/** A request, as it goes out (`request`) or comes back (`echo`). */
export function describeRequest(request: ModbusRequest, kind: 'request' | 'echo' = 'request'): DecodedFrame {
  return { kind, name: functionName(request.fc), ...request }
}

/**
 * A reply whose checksum is right.
 * @param answered the request it answers, where that is known: it gives address and quantity their meaning
 */
export function describeReply(
  frame: Uint8Array,
  kind: 'reply' | 'late' | 'stray',
  answered?: SentRequest,
): DecodedFrame {
  const fc = (frame[1] ?? 0) & 0x7f
  const decoded: DecodedFrame = { kind, unitId: frame[0] ?? 0, fc, name: functionName(fc) }
  const code = exceptionCode(frame)
  if (answered) Object.assign(decoded, { address: answered.request.address, quantity: answered.request.quantity })
  if (code !== null) {
    decoded.exception = { code, name: exceptionName(code) }
    return kind === 'reply' ? { ...decoded, kind: 'exception' } : decoded
  }
  const values = valuesOfReply(frame, answered?.request)
  return values === undefined ? decoded : { ...decoded, values }
}

/**
 * The values in a reply that was proven, or in a stray with a right checksum.
 * @returns undefined for functions without values in their reply; bits of a stray with their padding
 */
function valuesOfReply(frame: Uint8Array, request: ModbusRequest | undefined): readonly unknown[] | undefined {
  const data = frame.subarray(3, -2)
  switch (modbusFunctions.get((frame[1] ?? 0) & 0x7f)?.shape) {
    case 'readBits':
      return bitsOf(data, request?.quantity ?? data.length * 8)
    case 'readWords':
    case 'readWriteWords':
      return wordsOf(data, request?.quantity ?? data.length >> 1)
    case 'writeBit':
    case 'writeWord':
    case 'writeBits':
    case 'writeWords':
      return request?.values
    case 'identify':
      return request && openIdentification(frame).objects
    default:
      return undefined
  }
}
