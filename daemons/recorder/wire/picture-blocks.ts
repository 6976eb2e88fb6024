/**
 * Memory that pictures lie in, used again and again: made anew for each picture and thrown away, it would be what a recorder
 * spends most of its memory on, and V8 would look through its heap for it.
 * @source measured: docs/decisions/idle-memory-and-speed.md
 */

/** Two seconds of a camera lie in some of them; a larger picture has one of its own, of so many bytes doubled as often as it takes. */
export const BLOCK_BYTES = 65_536

/** Memory for pictures, which lie in it one behind the other. Whoever took it holds it. */
export interface PictureBlock {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** One more needs what lies in it. */
  hold(): void
  /**
   * One less: once nobody needs it, other pictures are written over it, or its memory is freed and `bytes` has none any more.
   * One that is never released is collected instead.
   */
  release(): void
}

/** Gives out blocks. */
export interface BlockPool {
  /** @returns a block of at least so many bytes, with anything in it */
  take(bytes: number): PictureBlock
}

/** @param mostSpareBytes what of blocks that nobody holds is kept for the next pictures; the rest is free at once */
export function createBlockPool(mostSpareBytes: number): BlockPool {
  const spare: Uint8Array<ArrayBuffer>[] = []
  let spareBytes = 0

  function give(bytes: Uint8Array<ArrayBuffer>): void {
    if (spareBytes + bytes.length > mostSpareBytes) {
      // Left to V8 they would wait for it: 64 MB of them before it collects.
      bytes.buffer.transfer(0)
      return
    }
    spare.push(bytes)
    spareBytes += bytes.length
  }

  return {
    take(least) {
      let size = BLOCK_BYTES
      while (size < least) size *= 2
      // The one that was used last, as it is in the processor's cache.
      const place = spare.findLastIndex(({ length }) => length === size)
      const [bytes = new Uint8Array(size)] = place < 0 ? [] : spare.splice(place, 1)
      if (place >= 0) spareBytes -= size
      return new Block(bytes, give)
    },
  }
}

class Block implements PictureBlock {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly #give: (bytes: Uint8Array<ArrayBuffer>) => void
  #holders = 1

  constructor(bytes: Uint8Array<ArrayBuffer>, give: (bytes: Uint8Array<ArrayBuffer>) => void) {
    this.bytes = bytes
    this.#give = give
  }

  hold(): void {
    // Its bytes may be another picture's by now.
    if (this.#holders === 0) throw new Error('a block of pictures is held after it was released')
    this.#holders++
  }

  release(): void {
    if (this.#holders === 0) throw new Error('a block of pictures is released twice')
    this.#holders--
    if (this.#holders === 0) this.#give(this.bytes)
  }
}
