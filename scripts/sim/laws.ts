/** How simulated values change: functions of time only, so that the same clock and seed reproduce them. */

/** A value as a function of the milliseconds since the unit was switched on. */
export type Law = (ageMs: number) => number

/** A value that is also totalled: power and energy, flow and volume. */
export interface Flow {
  rate: Law
  /** Integral of the rate since the start, in its unit times milliseconds; computed exactly, not accumulated. */
  total: Law
}

/** @param swing amplitude around zero */
export function wave(swing: number, periodMs: number, phase = 0): Law {
  return (ageMs) => swing * Math.sin((2 * Math.PI * ageMs) / periodMs + phase)
}

/** A random value within `swing` of zero that changes every `stepMs`: the last digit of a measurement. */
export function jitter(swing: number, stepMs: number, seed: number): Law {
  return (ageMs) => swing * (2 * chanceAt(seed, Math.floor(ageMs / stepMs)) - 1)
}

/** A constant load. */
export function steadyLoad(value: number): Flow {
  return { rate: () => value, total: (ageMs) => value * ageMs }
}

/** A load that swings around zero, to be added to a steady one. */
export function swinging(swing: number, periodMs: number, phase = 0): Flow {
  const turn = (2 * Math.PI) / periodMs
  return {
    rate: wave(swing, periodMs, phase),
    total: (ageMs) => (swing / turn) * (Math.cos(phase) - Math.cos(turn * ageMs + phase)),
  }
}

/** A load that is on for the first `share` (0..1) of each period, and then off. */
export function switched(value: number, { periodMs, share }: { periodMs: number; share: number }): Flow {
  const onMs = periodMs * share
  return {
    rate: (ageMs) => (ageMs % periodMs < onMs ? value : 0),
    total: (ageMs) => value * (Math.floor(ageMs / periodMs) * onMs + Math.min(ageMs % periodMs, onMs)),
  }
}

/** Several loads on one meter. */
export function together(...flows: Flow[]): Flow {
  return { rate: sumOf(flows.map(({ rate }) => rate)), total: sumOf(flows.map(({ total }) => total)) }
}

/** @returns 0 up to but excluding 1, the same for the same two numbers */
export function chanceAt(seed: number, step: number): number {
  let mixed = Math.imul(seed ^ 0x9e37_79b9, 0x85eb_ca6b) ^ Math.imul(step + 1, 0xc2b2_ae35)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb_352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846c_a68b)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
}

function sumOf(laws: readonly Law[]): Law {
  return (ageMs) => laws.reduce((sum, law) => sum + law(ageMs), 0)
}
