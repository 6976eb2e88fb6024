/** Network faults, made on purpose and reproducible. */

/** Sending times of a packet, in ms after its instant: none if it is lost, two if it is duplicated. */
export type Fault = (packet: number) => number[]

/** No faults. */
export const noFault: Fault = () => [0]

/** Loses packets at random. @param part 0..1 */
export function randomLoss(part: number, seed: number): Fault {
  const chance = chances(seed)
  return () => (chance() < part ? [] : [0])
}

/** Loses packets `from` up to `from + count`, and again after every `every`. */
export function burstLoss(from: number, count: number, every = Number.POSITIVE_INFINITY): Fault {
  return (packet) => {
    const at = packet < from ? -1 : (packet - from) % every
    return at >= 0 && at < count ? [] : [0]
  }
}

/** Sends every `every`th packet twice, the second time `afterMs` later. */
export function duplicates(every: number, afterMs = 0): Fault {
  return (packet) => (packet % every === 0 ? [0, afterMs] : [0])
}

/** Delays every `every`th packet by `lateMs`, so that later ones overtake it. */
export function reordering(every: number, lateMs: number): Fault {
  return (packet) => (packet % every === 0 ? [lateMs] : [0])
}

/** Delays each packet at random, up to `mostMs`. */
export function jitter(mostMs: number, seed: number): Fault {
  const chance = chances(seed)
  return () => [chance() * mostMs]
}

/** Chains two faults: the second applies to what the first lets through. */
export function both(first: Fault, second: Fault): Fault {
  return (packet) => first(packet).flatMap((late) => second(packet).map((more) => late + more))
}

/** Reproducible random numbers 0..1 (mulberry32). */
export function chances(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
