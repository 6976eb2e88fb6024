/** The clock of sound, as an interface: CLOCK_MONOTONIC of the machine, brought to the time of a grandmaster. */

/** Three clocks at one instant. */
export interface AudioInstant {
  /** CLOCK_MONOTONIC. */
  monotonicNs: bigint
  /** CLOCK_REALTIME. */
  realtimeNs: bigint
  /** Sound's time: ns since the epoch of the grandmaster. */
  audioNs: bigint
}

/** From `monotonicNs` on, where sound's clock reads `audioNs`, it runs `ratePpb` faster than CLOCK_MONOTONIC. */
export interface Calibration {
  monotonicNs: bigint
  audioNs: bigint
  /** Parts in 1e9, whole. */
  ratePpb: number
}

/** A clock that can be calibrated. `native/node-gst` has the real one. */
export interface AudioClock {
  read(): AudioInstant
  calibrate(at: Calibration): void
}
