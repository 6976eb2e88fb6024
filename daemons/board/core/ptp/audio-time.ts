/** What a calibrated clock reads. */
import type { Calibration } from './audio-clock.ts'

/** @returns ns since the epoch of the grandmaster at an instant of CLOCK_MONOTONIC, whole, rounded down */
export function audioTimeAt({ monotonicNs, audioNs, ratePpb }: Calibration, atNs: bigint): bigint {
  const passedNs = atNs - monotonicNs
  return audioNs + passedNs + (passedNs * BigInt(ratePpb)) / 1_000_000_000n
}
