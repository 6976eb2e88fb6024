/** A fake sound clock that follows a test's clock exactly. */
import type { Clock } from '#kit/clock.ts'
import { type AudioClock, audioTimeAt, type Calibration } from '../../../core/ptp/ptp.ts'

export interface FakeAudioClock extends AudioClock {
  /** Every calibration, in order. */
  readonly calibrations: Calibration[]
}

/** @param clock its wall time is CLOCK_REALTIME; before the first calibration sound's time is that too */
export function fakeAudioClock(clock: Clock): FakeAudioClock {
  const monotonicNs = () => BigInt(Math.round(clock.monotonicMs() * 1e6))
  const realtimeNs = () => BigInt(clock.epochMs()) * 1_000_000n
  const calibrations: Calibration[] = []
  let now: Calibration = { monotonicNs: monotonicNs(), audioNs: realtimeNs(), ratePpb: 0 }
  return {
    calibrations,
    read() {
      const at = monotonicNs()
      return { monotonicNs: at, realtimeNs: realtimeNs(), audioNs: audioTimeAt(now, at) }
    },
    calibrate(at) {
      calibrations.push(at)
      now = at
    },
  }
}
