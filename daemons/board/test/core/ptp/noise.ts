/** Reproducible random numbers. */

/** @param seed an integer; the same seed gives the same numbers */
export function noise(seed: number) {
  let state = seed >>> 0
  /** 0..1, both excluded. @source mulberry32, public domain */
  function uniform(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return (((bits ^ (bits >>> 14)) >>> 0) + 0.5) / 4_294_967_296
  }
  return {
    uniform,
    /** Mean 0, deviation 1. */
    normal: () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()),
  }
}
