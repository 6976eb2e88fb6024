/**
 * Messages between the recorder and processes that work for it: two lengths, a head in JSON, and bytes. The lengths are big-endian
 * to and from the one that decodes, and little-endian in the detector protocol.
 */
import { joinBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'

/** One message. */
export interface WorkerMessage {
  head: Readonly<Record<string, unknown>>
  body: Uint8Array
}

const LENGTHS = 8

/** Heads list some hundred pictures. */
const MOST_HEAD_BYTES = 1_048_576

/**
 * @returns the message in parts, one behind the other; the body is not copied
 * @source this program alone: two lengths as 32-bit numbers
 */
export function writeWorkerMessage(
  head: object,
  body: readonly Uint8Array[] = [],
  { isLittleEndian = false } = {},
): Uint8Array[] {
  const text = new TextEncoder().encode(JSON.stringify(head))
  const first = new Uint8Array(LENGTHS + text.length)
  const view = new DataView(first.buffer)
  view.setUint32(0, text.length, isLittleEndian)
  view.setUint32(
    4,
    body.reduce((sum, { length }) => sum + length, 0),
    isLittleEndian,
  )
  first.set(text, LENGTHS)
  return [first, ...body]
}

/**
 * Puts messages together from what is read.
 * @param mostBytes of one body
 * @returns the messages that are whole now. It throws Fault `worker_broken` for anything else than a message
 * @source as writeWorkerMessage
 */
export function createWorkerReader(
  mostBytes: number,
  { isLittleEndian = false } = {},
): (chunk: Uint8Array) => WorkerMessage[] {
  let waiting: Uint8Array[] = []
  let bytes = 0
  let needed = LENGTHS

  function next(): WorkerMessage | undefined {
    if (bytes < needed) return undefined
    const whole = waiting.length === 1 && waiting[0] ? waiting[0] : joinBytes(waiting)
    waiting = [whole]
    const view = new DataView(whole.buffer, whole.byteOffset, whole.length)
    const [headBytes, bodyBytes] = [view.getUint32(0, isLittleEndian), view.getUint32(4, isLittleEndian)]
    if (headBytes > MOST_HEAD_BYTES || bodyBytes > mostBytes)
      throw new Fault(
        'worker_broken',
        `a message of ${headBytes} and ${bodyBytes} bytes, at most ${mostBytes} are read`,
      )
    needed = LENGTHS + headBytes + bodyBytes
    if (bytes < needed) return undefined
    const head = headOf(whole.subarray(LENGTHS, LENGTHS + headBytes))
    const body = whole.slice(LENGTHS + headBytes, needed)
    waiting = [whole.subarray(needed)]
    bytes -= needed
    needed = LENGTHS
    return { head, body }
  }

  return (chunk) => {
    waiting.push(chunk)
    bytes += chunk.length
    const messages: WorkerMessage[] = []
    for (let message = next(); message; message = next()) messages.push(message)
    return messages
  }
}

function headOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const head: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (typeof head === 'object' && head !== null) return head as Record<string, unknown>
  } catch {
    // Said below.
  }
  throw new Fault('worker_broken', 'a message whose head is not JSON')
}
