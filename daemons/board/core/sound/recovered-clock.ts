/**
 * The clock of a sender that no PTP ties to us, recovered from when its packets come. Packets are late by chance and
 * never early, so the fastest ones lie on a line: its slope is the sender's rate, and a sample is due the link offset
 * after it.
 */
import type { Calibration } from '../ptp/audio-clock.ts'
import { audioTimeAt } from '../ptp/audio-time.ts'
import { createArrivalLine, type FastestPacket } from './arrival-line.ts'

/** One look at what came. */
export interface ArrivalLook {
  /** CLOCK_MONOTONIC. */
  nowNs: bigint
  /** Since the last look; null where no packet came. */
  fastest: FastestPacket | null
  /** How often the place of packets was laid anew: what came before another number is of another line. */
  anchors: number
}

/** What is off is worked off in so many seconds, but by no more than so much: half a hundredth of a semitone. */
const SLEW_NS = 5_000_000_000
const MOST_SLEW = 300e-6
/**
 * What is left to correct where sender or network moved, or when it starts, is no slew's business: where the clock is
 * ahead, packets are late until it is back; where it is behind, it only plays later than it could.
 */
const STEP_BACK_NS = 1_000_000
const STEP_ON_NS = 5_000_000

/** Call `look` a few times a second, and calibrate the receiver's clock with what it answers. */
export function createRecoveredClock() {
  const line = createArrivalLine()
  let anchors: number | undefined
  let current: Calibration | undefined
  let steps = 0

  function keep(monotonicNs: bigint, audioNs: bigint, rate: number): Calibration {
    current = { monotonicNs, audioNs, ratePpb: Math.round(rate * 1e9) }
    return current
  }

  /** @returns what to calibrate the clock with; null before the first packet */
  function look({ nowNs, fastest, anchors: anchorsNow }: ArrivalLook): Calibration | null {
    if (anchorsNow !== anchors) line.restart()
    anchors = anchorsNow
    const isYoung = line.isYoung()
    const hasMoved = fastest !== null && line.add(fastest)
    const dueNs = line.mediaNsAt(nowNs)
    if (current === undefined) return dueNs === null ? null : keep(nowNs, dueNs, line.rate())
    const isNs = audioTimeAt(current, nowNs)
    // Who is silent is waited for at the rate that was found last.
    if (dueNs === null || fastest === null) return keep(nowNs, isNs, line.rate())
    const off = Number(dueNs - isNs)
    if ((isYoung || hasMoved) && (off < -STEP_BACK_NS || off > STEP_ON_NS)) {
      steps++
      return keep(nowNs, dueNs, line.rate())
    }
    const slew = Math.min(MOST_SLEW, Math.max(-MOST_SLEW, off / SLEW_NS))
    return keep(nowNs, isNs, line.rate() + slew)
  }

  return {
    look,
    /** How much faster the sender runs than this machine; null while that is not known. */
    ratePpm: () => (line.isRateKnown() ? line.rate() * 1e6 : null),
    /** Times it was moved rather than slewed. */
    steps: () => steps,
  }
}
