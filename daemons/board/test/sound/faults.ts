/** What a network does to packets, made on purpose and the same each time. */

/** When a packet goes out, in ms after its instant: none for one that is lost, two for one that comes twice. */
export type Fault = (packet: number) => number[]

/** Nothing happens to any packet. */
export const noFault: Fault = () => [0]

/** Each packet is lost by chance. @param part 0..1 */
export function randomLoss(part: number, seed: number): Fault {
  const chance = chances(seed)
  return () => (chance() < part ? [] : [0])
}

/** Packets `from` up to `from + count` are lost, and so again after every `every`. */
export function burstLoss(from: number, count: number, every = Number.POSITIVE_INFINITY): Fault {
  return (packet) => {
    const at = packet < from ? -1 : (packet - from) % every
    return at >= 0 && at < count ? [] : [0]
  }
}

/** Every `every`th packet comes twice, the second time `afterMs` later. */
export function duplicates(every: number, afterMs = 0): Fault {
  return (packet) => (packet % every === 0 ? [0, afterMs] : [0])
}

/** Every `every`th packet is late by `lateMs`, so that those behind it overtake. */
export function reordering(every: number, lateMs: number): Fault {
  return (packet) => (packet % every === 0 ? [lateMs] : [0])
}

/** Each packet is late by chance, up to `mostMs`. */
export function jitter(mostMs: number, seed: number): Fault {
  const chance = chances(seed)
  return () => [chance() * mostMs]
}

/** One after the other: what the first lets through goes into the second. */
export function both(first: Fault, second: Fault): Fault {
  return (packet) => first(packet).flatMap((late) => second(packet).map((more) => late + more))
}

/** Numbers 0..1 that are the same for the same seed (mulberry32). */
export function chances(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
