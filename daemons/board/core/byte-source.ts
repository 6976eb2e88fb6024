/** Bytes that arrive in pieces of any size, read first by number, then as they come. */

/** A body from its beginning. */
export interface ByteSource {
  /** The next `count` bytes; fewer where the body ends before. */
  take(count: number): Promise<Uint8Array>
  /** What is left, piece by piece; no piece is empty. */
  rest(): AsyncGenerator<Uint8Array>
}

/** @param chunks pieces that nobody else reads; its errors come through */
export function createByteSource(chunks: AsyncIterable<Uint8Array>): ByteSource {
  const iterator = chunks[Symbol.asyncIterator]()
  let held: Uint8Array = new Uint8Array()

  async function more(): Promise<boolean> {
    const { done, value } = await iterator.next()
    if (!done) held = joined(held, value)
    return !done
  }
  return {
    async take(count) {
      while (held.length < count && (await more())) {
        // until there is enough, or no more
      }
      const taken = held.subarray(0, count)
      held = held.subarray(taken.length)
      return taken
    },
    async *rest() {
      do {
        const piece = held
        held = new Uint8Array()
        if (piece.length > 0) yield piece
      } while (await more())
    },
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  if (one.length === 0) return other
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}
