/** What all streams of cameras may hold together, recorded and watched: where it is too much, whoever holds most gives. */
import { type BlockPool, createBlockPool } from '../../wire/picture-blocks.ts'

/** One who holds bytes. */
interface Holder {
  /** Says how many it holds now. @returns false if it was made to give some up: it looks again what it has */
  hold(bytes: number): boolean
}

export interface StreamMemory {
  /** @param give has to hold less afterwards, and to say so by `hold` */
  holder(give: () => void): Holder
  /** Where their pictures lie. */
  blocks: BlockPool
}

/**
 * @param mostBytes at least the largest picture
 * @param mostSpareBytes what nobody holds, and the next pictures are written to
 */
export function createStreamMemory(mostBytes: number, mostSpareBytes = 0): StreamMemory {
  const held = new Map<() => void, number>()
  let all = 0

  function set(give: () => void, bytes: number): void {
    all += bytes - (held.get(give) ?? 0)
    if (bytes === 0) held.delete(give)
    else held.set(give, bytes)
  }

  /** Cameras that send what is usual hold little, and keep it. */
  function largest(): () => void {
    const [give] = [...held].reduce((most, one) => (one[1] > most[1] ? one : most))
    return give
  }

  return {
    blocks: createBlockPool(mostSpareBytes),
    holder: (give) => ({
      hold(bytes) {
        set(give, bytes)
        let isKept = true
        while (all > mostBytes) {
          const one = largest()
          isKept &&= one !== give
          one()
        }
        return isKept
      },
    }),
  }
}
