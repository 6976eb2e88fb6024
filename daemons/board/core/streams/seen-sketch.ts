/** Remembers roughly what was met before, in a memory that does not grow, however much is met. */

/** 1 MiB; of 30,000 others met in between, four of five are still known. */
const SLOTS = 1 << 17
/** Met again sooner says nothing: a network may double packets. */
const LEAST_APART_S = 2

/** What was met is kept by a hash of 32 bits, in one place of many: later ones take the places of earlier ones. */
export function createSeenSketch() {
  const marks = new Uint32Array(SLOTS)
  const firstS = new Uint32Array(SLOTS)

  return {
    /** @returns whether the same was met before, at least two seconds ago */
    meet(key: string, nowMs: number): boolean {
      const nowS = Math.floor(nowMs / 1000)
      const slot = hashOf(key, 0x811c9dc5) % SLOTS
      // Never 0, which stands for nothing.
      const mark = (hashOf(key, 0x2545f491) | 1) >>> 0
      if (marks[slot] === mark) return nowS - (firstS[slot] ?? nowS) >= LEAST_APART_S
      marks[slot] = mark
      firstS[slot] = nowS
      return false
    },
  }
}

/** @source FNV-1a, with the last mixing of MurmurHash3 so that each bit counts */
function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
