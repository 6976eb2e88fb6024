/** How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC: the same for ever, but for steps. */
import type { AudioInstant } from './audio-clock.ts'

/** So many readings are compared: one that was interrupted between its two clocks is not believed. */
const READINGS = 5
/** Smaller ones are noise of reading. */
const LEAST_STEP_NS = 100_000n

export interface RealtimeWatch {
  /** @returns by how much the time of day has been stepped, 0n where it has not; told once, some readings later */
  see(instant: Pick<AudioInstant, 'monotonicNs' | 'realtimeNs'>): bigint
  /** CLOCK_REALTIME less CLOCK_MONOTONIC. */
  differenceNs(): bigint
}

/** NTP's adjustments of rate move both clocks alike; it is settimeofday, and leap seconds, that move one. */
export function createRealtimeWatch(first: Pick<AudioInstant, 'monotonicNs' | 'realtimeNs'>): RealtimeWatch {
  let seen: bigint[] = [first.realtimeNs - first.monotonicNs]
  let toldNs = middle(seen)
  return {
    see({ monotonicNs, realtimeNs }) {
      seen = [...seen, realtimeNs - monotonicNs].slice(-READINGS)
      const stepNs = middle(seen) - toldNs
      if (stepNs < LEAST_STEP_NS && stepNs > -LEAST_STEP_NS) return 0n
      toldNs = middle(seen)
      return stepNs
    },
    differenceNs: () => middle(seen),
  }
}

function middle(values: readonly bigint[]): bigint {
  const sorted = [...values].sort((one, other) => (one < other ? -1 : Number(one > other)))
  return sorted[values.length >> 1] ?? 0n
}
