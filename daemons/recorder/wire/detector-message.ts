/** Messages between the recorder and an external detector: two lengths, a head in JSON, and the bytes of a picture. */
import { joinBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'

const LENGTHS = 8
const MOST_HEAD_BYTES = 262_144

/**
 * @returns the message in parts, one behind the other; the body is not copied
 * @source docs/recorder.md, The protocol of detectors: two 32-bit lengths, little-endian
 */
export function writeDetectorMessage(head: object, body: Uint8Array): Uint8Array[] {
  const text = new TextEncoder().encode(JSON.stringify(head))
  const first = new Uint8Array(LENGTHS + text.length)
  const view = new DataView(first.buffer)
  view.setUint32(0, text.length, true)
  view.setUint32(4, body.length, true)
  first.set(text, LENGTHS)
  return body.length > 0 ? [first, body] : [first]
}

/**
 * Puts heads together from what a detector writes; it never sends a body.
 * @returns those that are whole now. It throws Fault `detector_broken` for anything else than a message, and holds no more
 *   than one head and what was read with it
 * @source as writeDetectorMessage
 */
export function createDetectorReader(): (chunk: Uint8Array) => Record<string, unknown>[] {
  let waiting: Uint8Array[] = []
  let bytes = 0
  let needed = LENGTHS

  function next(): Record<string, unknown> | undefined {
    if (bytes < needed) return undefined
    const whole = waiting.length === 1 && waiting[0] ? waiting[0] : joinBytes(waiting)
    waiting = [whole]
    const view = new DataView(whole.buffer, whole.byteOffset, whole.length)
    const [headBytes, bodyBytes] = [view.getUint32(0, true), view.getUint32(4, true)]
    if (headBytes < 2 || headBytes > MOST_HEAD_BYTES || bodyBytes !== 0)
      throw broken(`It announced ${headBytes} bytes of text and ${bodyBytes} of data`)
    needed = LENGTHS + headBytes
    if (bytes < needed) return undefined
    const head = headOf(whole.subarray(LENGTHS, needed))
    waiting = [whole.subarray(needed)]
    bytes -= needed
    needed = LENGTHS
    return head
  }

  return (chunk) => {
    waiting.push(chunk)
    bytes += chunk.length
    const heads: Record<string, unknown>[] = []
    for (let head = next(); head; head = next()) heads.push(head)
    return heads
  }
}

function headOf(bytes: Uint8Array): Record<string, unknown> {
  try {
    const head: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (typeof head === 'object' && head !== null && !Array.isArray(head)) return head as Record<string, unknown>
  } catch {
    // Said below.
  }
  throw broken('It sent a head that is not a JSON object')
}

function broken(what: string): Fault {
  return new Fault(
    'detector_broken',
    `${what}; expected 2 to ${MOST_HEAD_BYTES} bytes of JSON and no data. Its program may write nothing else to its output.`,
  )
}
