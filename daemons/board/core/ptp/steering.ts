/** Brings sound's clock to where it should be, smoothly where that is near. */
import type { AudioClock } from './audio-clock.ts'

/** No clock of sound is asked to run faster or slower than this against CLOCK_MONOTONIC, and the real one refuses. */
export const MOST_RATE_PPB = 500_000

export interface SteeringLimits {
  /** A small difference is made up for in about this time. */
  settleNs: number
  /** One that is larger is made up for as fast as may be: between two calls that is not more than this. */
  smallNs: number
  /** Never more than so much faster or slower than the clock that is followed. */
  slewPpb: number
}

/** Where the clock should be. */
export interface Course {
  /** Ahead of CLOCK_MONOTONIC by this, at an instant of it. */
  differenceAt(monotonicNs: bigint): bigint
  ratePpb: number
  /** From here on the clock jumps, as it would be late for too long. */
  jumpNs: number
}

export interface Steered {
  /** Where the clock was, less where it should have been. */
  errorNs: number
  jumped: boolean
}

export interface Steering {
  /** To be called often: between two calls the clock runs on as it was set. */
  follow(course: Course): Steered
  /** Runs on at a rate, from where it is. */
  coast(ratePpb: number): void
}

export function createSteering(clock: AudioClock, limits: SteeringLimits): Steering {
  return {
    follow({ differenceAt, jumpNs, ratePpb }) {
      const { audioNs, monotonicNs } = clock.read()
      const targetNs = monotonicNs + differenceAt(monotonicNs)
      const errorNs = Number(audioNs - targetNs)
      if (Math.abs(errorNs) > jumpNs) {
        clock.calibrate({ monotonicNs, audioNs: targetNs, ratePpb })
        return { errorNs, jumped: true }
      }
      const gentlePpb = Math.round((-errorNs / limits.settleNs) * 1e9)
      const fastPpb = -Math.sign(errorNs) * limits.slewPpb
      const steeredPpb = ratePpb + (Math.abs(errorNs) > limits.smallNs ? fastPpb : within(gentlePpb, limits.slewPpb))
      clock.calibrate({ monotonicNs, audioNs, ratePpb: within(steeredPpb, MOST_RATE_PPB) })
      return { errorNs, jumped: false }
    },
    coast(ratePpb) {
      const { audioNs, monotonicNs } = clock.read()
      clock.calibrate({ monotonicNs, audioNs, ratePpb })
    },
  }
}

function within(value: number, most: number): number {
  return Math.max(-most, Math.min(most, value))
}
