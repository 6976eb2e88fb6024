/** Reads a stream of bytes in the amounts that a parser wants. */
import type { Fault } from '../pure/fault.ts'

/** Holds one chunk of the stream at a time. */
export interface ByteReader {
  /** 1 to `most` bytes; none at the end. They belong to the caller. */
  some(most: number): Promise<Buffer>
  /** So many bytes. @throws what `cutOff` makes if fewer are left */
  exactly(count: number): Promise<Buffer>
}

/**
 * A reader of a stream.
 * @param options.cutOff the fault of a stream that ends too early
 * @param options.onRead bytes that came since the last call
 */
export function byteReader(
  source: AsyncIterable<Buffer>,
  { cutOff, onRead = () => {} }: { cutOff(): Fault; onRead?: (bytes: number) => void },
): ByteReader {
  const chunks = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  async function some(most: number): Promise<Buffer> {
    while (rest.length === 0) {
      const next = await chunks.next()
      if (next.done) return rest
      onRead(next.value.length)
      rest = next.value
    }
    const part = rest.subarray(0, most)
    rest = rest.subarray(part.length)
    return part
  }
  return {
    some,
    async exactly(count) {
      const parts: Buffer[] = []
      for (let left = count; left > 0; ) {
        const part = await some(left)
        if (part.length === 0) throw cutOff()
        parts.push(part)
        left -= part.length
      }
      return Buffer.concat(parts)
    },
  }
}
