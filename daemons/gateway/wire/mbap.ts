/**
 * Modbus TCP: cuts requests from a client's stream and builds replies with their header.
 * @source Modbus Messaging on TCP/IP V1.0b, 3.1.3
 */
import { joinBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { wordAt } from './modbus-request.ts'

/** One message. Its body is what an RTU frame has before the checksum. */
export interface MbapMessage {
  /** 0..65535, chosen by the client; the reply repeats it. */
  transactionId: number
  /** Unit, function code, data: 2..254 bytes. */
  body: Uint8Array
}

/** Transaction id, protocol id, length of what follows. @source Modbus Messaging on TCP/IP V1.0b, 3.1.3 */
const HEAD_BYTES = 6

/** Unit and the shortest PDU, a function code alone. */
const LEAST_LENGTH = 2

/** Unit and the longest PDU. @source Modbus Application Protocol V1.1b3, 4.1: 253 bytes */
const MOST_LENGTH = 254

/** Cuts one client's stream into messages. */
export interface MbapCutter {
  /** Adds bytes of the stream; bytes not yet taken are kept, so the size of one feed bounds the memory. */
  feed(bytes: Uint8Array): void
  /**
   * The next whole message; its body is a view of bytes that no longer change.
   * @returns undefined if more bytes are needed
   * @throws Fault `mbap_protocol`, `mbap_length`: the stream cannot be synchronised again, so it is useless from here
   */
  next(): MbapMessage | undefined
  /** The number of bytes kept. */
  readonly heldBytes: number
}

/** @source Modbus Messaging on TCP/IP V1.0b, 3.1.3 and 4.4.2.2 */
export function createMbapCutter(): MbapCutter {
  let held: Uint8Array = new Uint8Array(0)
  return {
    get heldBytes() {
      return held.length
    },
    feed(bytes) {
      held = held.length === 0 ? bytes : joinBytes([held, bytes])
    },
    next() {
      checkHead(held)
      if (held.length < HEAD_BYTES) return undefined
      const end = HEAD_BYTES + wordAt(held, 4)
      if (held.length < end) return undefined
      const message = { transactionId: wordAt(held, 0), body: held.subarray(HEAD_BYTES, end) }
      held = held.subarray(end)
      return message
    },
  }
}

/** Checks each field as soon as it has arrived, without waiting for the rest of what is no Modbus. */
function checkHead(head: Uint8Array): void {
  if (head.length < 4) return
  const protocol = wordAt(head, 2)
  if (protocol !== 0) throw new Fault('mbap_protocol', `the protocol id is ${protocol}, that of Modbus is 0`)
  if (head.length < HEAD_BYTES) return
  const length = wordAt(head, 4)
  if (length < LEAST_LENGTH || length > MOST_LENGTH)
    throw new Fault('mbap_length', `the length field is ${length}, expected ${LEAST_LENGTH} to ${MOST_LENGTH}`)
}

/**
 * A message as it goes over TCP.
 * @param body 2..254 bytes; copied
 */
export function mbapFrame({ transactionId, body }: MbapMessage): Uint8Array {
  const frame = new Uint8Array(HEAD_BYTES + body.length)
  frame.set(mbapHead(transactionId, body.length))
  frame.set(body, HEAD_BYTES)
  return frame
}

/** What goes before the body of a message. @param length of the body, 2..254 bytes */
export function mbapHead(transactionId: number, length: number): Uint8Array {
  return Uint8Array.of(transactionId >>> 8, transactionId & 0xff, 0, 0, 0, length)
}

/**
 * The reply that refuses a request.
 * @param code exception code, 1..255
 * @source Modbus Application Protocol V1.1b3, 7
 */
export function mbapException({ transactionId, body }: MbapMessage, code: number): Uint8Array {
  const [unitId = 0, fc = 0] = body
  return mbapFrame({ transactionId, body: Uint8Array.of(unitId, fc | 0x80, code) })
}
