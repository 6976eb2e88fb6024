/** The transport function of DNP3: fragments in segments of one link frame each. @source IEEE 1815-2012, 8 */
import { MOST_DATA } from './link.ts'

const FINAL = 0x80
const FIRST = 0x40
const SEQUENCE = 0x3f
/** A segment without its header. */
const SEGMENT_BYTES = MOST_DATA - 1

/** Cuts a fragment into segments. @param sequence of the first; each further one has the next @source IEEE 1815-2012, 8.2.1 */
export function segmentsOf(fragment: Uint8Array, sequence: number): Uint8Array[] {
  const count = Math.max(1, Math.ceil(fragment.length / SEGMENT_BYTES))
  return Array.from({ length: count }, (_, at) => {
    const header = (at === 0 ? FIRST : 0) | (at === count - 1 ? FINAL : 0) | ((sequence + at) & SEQUENCE)
    return Uint8Array.of(header, ...fragment.subarray(at * SEGMENT_BYTES, (at + 1) * SEGMENT_BYTES))
  })
}

/** Whether a fragment begins with this segment. @source IEEE 1815-2012, 8.2.1 */
export function isFirstSegment([header = 0]: Uint8Array): boolean {
  return (header & FIRST) !== 0
}

/** The segments of a fragment that have come so far; undefined: none. */
export interface Assembly {
  sequence: number
  bytes: Uint8Array
}

/**
 * Takes one more segment. One that does not follow the last is dropped, with what came before it unless it equals the
 * last in its number; one that is the first begins anew.
 * @param mostBytes the longest fragment; a longer one is dropped
 * @returns what is there now, and the fragment if that was its last segment
 * @source IEEE 1815-2012, 8.2.3 and Table 8-4
 */
export function assemble(
  assembly: Assembly | undefined,
  segment: Uint8Array,
  mostBytes: number,
): { assembly: Assembly | undefined; fragment?: Uint8Array } {
  const [header = 0] = segment
  const sequence = header & SEQUENCE
  const isFirst = (header & FIRST) !== 0
  if (segment.length === 0) return { assembly }
  if (!isFirst && !assembly) return { assembly: undefined }
  if (!isFirst && assembly && sequence === assembly.sequence) return { assembly }
  if (!isFirst && assembly && sequence !== ((assembly.sequence + 1) & SEQUENCE)) return { assembly: undefined }
  const bytes = Uint8Array.of(...(isFirst || !assembly ? [] : assembly.bytes), ...segment.subarray(1))
  if (bytes.length > mostBytes) return { assembly: undefined }
  return (header & FINAL) === 0 ? { assembly: { sequence, bytes } } : { assembly: undefined, fragment: bytes }
}
