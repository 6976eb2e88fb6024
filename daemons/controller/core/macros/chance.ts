/** Chance of a run: drawn once as its seed, and the same for a step of it each time it is asked. */

/** A seed, from a chance of 0 <= n < 1: 32 bits. */
export function drawSeed(chance: number): number {
  return Math.floor(chance * 2 ** 32) >>> 0
}

/**
 * The chance of the n-th entry of a run, 0 <= chance < 1. Of number and seed alone: which steps drew before makes nothing
 * different, so a step that is left out in a replay moves no other.
 * @source splitmix32, the finalizer of MurmurHash3
 */
export function chanceOf(seed: number, n: number): number {
  let bits = (seed + Math.imul(n + 1, 0x9e3779b9)) >>> 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32
}
