/** When a picture was taken: the camera's stamps, held to the recorder's own clock; and that clock as wall time. */
import type { Clock } from '#kit/clock.ts'
import type { SenderReport } from '../../wire/rtcp.ts'

/** Where a picture, or a stretch of sound, belongs. */
export interface Place {
  /** On the recorder's monotonic clock. */
  positionMs: number
  /** What came before ends here: stamps that do not go on from those before, or a clock too far off to follow. */
  isBreak: boolean
}

interface TimelineParts {
  /** Ticks of the camera's stamps per second. */
  ticksPerS: number
  /** A camera's clock may be wrong by this much: parts per million by which its stamps are corrected. */
  slewPpm: number
  /** Beyond this, stamps and clock have nothing to do with each other any more. */
  toleranceMs: number
}

/** Stamps that leap by more are not those of one stream. */
const LEAP_MS = 10_000

/** How a picture that would be placed ahead of its arrival is brought back: by a tenth of what passes. */
const AHEAD_SLEW = 0.1

/** The delay of the network is judged by its least within this time; bursts behind a stall are not the camera's clock. */
const WINDOW_MS = 10_000

/**
 * Places pictures by their stamps, since their arrival wobbles with the network. The stamps' own clock is wrong by up
 * to hundreds of parts per million, so it is slewed towards arrival, never stepped: no overlap and no hole.
 */
export function createTimeline({ slewPpm, ticksPerS, toleranceMs }: TimelineParts) {
  let last: { stamp: number; positionMs: number } | undefined
  let least = createLeast(0)

  function begin(stamp: number, positionMs: number): Place {
    least = createLeast(positionMs)
    last = { stamp, positionMs }
    return { positionMs, isBreak: true }
  }

  /** @param arrivalMs on the monotonic clock */
  function place(stamp: number, arrivalMs: number): Place {
    if (!last) return begin(stamp, arrivalMs)
    // Stamps wrap after 13 hours. A picture that is shown before the one sent earlier has a smaller one.
    const passedMs = (((stamp - last.stamp) | 0) * 1000) / ticksPerS
    if (Math.abs(passedMs) > LEAP_MS) return begin(stamp, Math.max(arrivalMs, last.positionMs + 1))
    const plainMs = last.positionMs + passedMs
    if (passedMs <= 0) return { positionMs: plainMs, isBreak: false }
    const errorMs = least.add(arrivalMs, arrivalMs - plainMs)
    if (errorMs > toleranceMs) return begin(stamp, arrivalMs)
    const most = passedMs * (errorMs < -toleranceMs ? AHEAD_SLEW : slewPpm / 1e6)
    const correctionMs = Math.max(-most, Math.min(most, errorMs))
    last = { stamp, positionMs: plainMs + correctionMs }
    least.shift(-correctionMs)
    return { positionMs: last.positionMs, isBreak: false }
  }

  return {
    place,
    /** Where a stamp near the last one is, without anything having come; undefined before the first. */
    positionOf: (stamp: number): number | undefined =>
      last && last.positionMs + (((stamp - last.stamp) | 0) * 1000) / ticksPerS,
  }
}

type Timeline = ReturnType<typeof createTimeline>

/** How a change of what is known of two clocks is followed: by a hundredth of what passes, which nobody hears. */
const SOUND_SLEW = 0.01

/** Further off, it is stepped: what was taken before did not fit. */
const SOUND_STEP_MS = 200

interface SoundTimelineParts extends TimelineParts {
  pictures: Pick<Timeline, 'positionOf'>
}

/**
 * Places sound beside the pictures of its moment. The camera tells in its reports which stamps of both belong together;
 * until it has told it, and where its reports make no sense, sound is placed by its own stamps and arrival, as pictures
 * are.
 */
export function createSoundTimeline(parts: SoundTimelineParts) {
  const { pictures, ticksPerS, toleranceMs } = parts
  const own = createTimeline(parts)
  let pictureReport: SenderReport | undefined
  let soundReport: SenderReport | undefined
  /** By how much sound is later than its own stamps and arrival say. */
  let shift: { ms: number; atMs: number } | undefined

  /** Where the reports place a stamp of sound. */
  function reported(stamp: number): number | undefined {
    const pictureMs = pictureReport && pictures.positionOf(pictureReport.timestamp)
    if (!pictureReport || !soundReport || pictureMs === undefined) return undefined
    const apartMs = (soundReport.ntpS - pictureReport.ntpS) * 1000
    return pictureMs + apartMs + (((stamp - soundReport.timestamp) | 0) * 1000) / ticksPerS
  }

  return {
    pictureReported(report: SenderReport): void {
      pictureReport = report
    },
    soundReported(report: SenderReport): void {
      soundReport = report
    },
    place(stamp: number, arrivalMs: number): Place {
      const { isBreak, positionMs } = own.place(stamp, arrivalMs)
      const target = reported(stamp)
      if (target !== undefined && Math.abs(target - arrivalMs) <= toleranceMs) {
        const error = target - positionMs - (shift?.ms ?? 0)
        const most = SOUND_SLEW * Math.max(0, positionMs - (shift?.atMs ?? positionMs))
        const isStep = !shift || Math.abs(error) > SOUND_STEP_MS
        shift = { ms: (shift?.ms ?? 0) + (isStep ? error : Math.max(-most, Math.min(most, error))), atMs: positionMs }
      }
      return { positionMs: positionMs + (shift?.ms ?? 0), isBreak }
    },
  }
}

/** The least of the values of the last one to two windows. */
function createLeast(startMs: number) {
  let beganMs = startMs
  let before = Number.POSITIVE_INFINITY
  let present = Number.POSITIVE_INFINITY
  return {
    add(nowMs: number, value: number): number {
      if (nowMs - beganMs >= WINDOW_MS) {
        before = present
        present = Number.POSITIVE_INFINITY
        beganMs = nowMs
      }
      present = Math.min(present, value)
      return Math.min(before, present)
    },
    /** The values count from elsewhere now. */
    shift(by: number): void {
      before += by
      present += by
    },
  }
}

/** Wall time of positions on the monotonic clock. */
export interface Wall {
  /** Milliseconds since 1970, with a fraction. */
  at(positionMs: number): number
  /** Counts up when later positions are told by another anchor: what is being recorded then begins a file. */
  epoch(): number
  /** By how much the machine's wall clock is ahead of what is recorded; negative if behind. */
  aheadMs(): number
}

/** A wall clock that is ahead by more, for as long, was set right: a machine starts before it knows the time. */
const AHEAD_MS = 2000
const PROVEN_MS = 60_000
const CHECK_MS = 10_000

/**
 * Ties wall time to the monotonic clock once, so that a step moves nothing that is recorded. A clock that was set
 * forward is followed after a minute, which leaves a hole where there was no such time. One that was set back is not: two
 * recordings of the same moment would overlap.
 * @param notBeforeAt the end of what is recorded already
 * @returns the wall and what ends its watch over the clock
 */
export function createWall(clock: Clock, notBeforeAt: number): Wall & { close(): void } {
  let offsetMs = Math.max(clock.epochMs(), Math.ceil(notBeforeAt)) - clock.monotonicMs()
  let epoch = 0
  let aheadSinceMs: number | undefined
  const aheadMs = () => clock.epochMs() - clock.monotonicMs() - offsetMs
  const watch = clock.every(CHECK_MS, () => {
    const nowMs = clock.monotonicMs()
    if (aheadMs() <= AHEAD_MS) aheadSinceMs = undefined
    else if (aheadSinceMs === undefined) aheadSinceMs = nowMs
    else if (nowMs - aheadSinceMs >= PROVEN_MS) {
      offsetMs += aheadMs()
      aheadSinceMs = undefined
      epoch++
    }
  })
  return { at: (positionMs) => positionMs + offsetMs, epoch: () => epoch, aheadMs, close: () => watch.cancel() }
}
