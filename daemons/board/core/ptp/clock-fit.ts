/** How another clock runs against CLOCK_MONOTONIC, as samples of their difference tell. */
import { fitLine, type Line, type Point } from './line-fit.ts'
import { MOST_RATE_PPB } from './steering.ts'

/** The other clock was `differenceNs` ahead of CLOCK_MONOTONIC at an instant of it. */
export interface ClockSample {
  monotonicNs: bigint
  differenceNs: bigint
}

/** What the samples say. */
export interface ClockEstimate {
  /** How far ahead the other clock is at an instant of CLOCK_MONOTONIC. */
  differenceAt(monotonicNs: bigint): bigint
  /** How much faster it runs, parts in 1e9. */
  ratePpb: number
  /** How far samples are from the line, as a deviation. */
  spreadNs: number
  samples: number
  /** From the first to the last sample. */
  spanNs: number
}

export interface ClockFitLimits {
  /** Older samples are dropped: a crystal's rate moves with its temperature. */
  windowNs: number
  most: number
  /** So many samples in a row off to the same side are no noise: the clock is another, or has jumped. */
  astray: number
  /** Samples are off from here on, or from five deviations on. */
  astrayNs: number
}

export interface ClockFit {
  /** @returns `false` where the samples before it do not count any more */
  add(sample: ClockSample): boolean
  /** Undefined with fewer than two samples. */
  estimate(): ClockEstimate | undefined
  clear(): void
}

/** Noise of software time stamps is never less. */
const LEAST_SPREAD_NS = 100
const ASTRAY_DEVIATIONS = 5

/** Points are relative to the newest sample, so that doubles hold them to less than a nanosecond. */
export function createClockFit(limits: ClockFitLimits): ClockFit {
  let samples: ClockSample[] = []
  let line: Line | undefined
  /** How many of the last samples were off, with the sign of the side. */
  let astray = 0

  /** @returns whether samples have strayed often enough to be right. */
  function strays(sample: ClockSample): boolean {
    const newest = samples.at(-1)
    if (!line || !newest || samples.length < limits.astray) return false
    const { t, x } = relative(sample, newest)
    const off = x - line.x - line.slope * t
    const isOff = Math.abs(off) > Math.max(limits.astrayNs, ASTRAY_DEVIATIONS * line.spread)
    if (!isOff) astray = 0
    else astray = Math.sign(astray) === Math.sign(off) ? astray + Math.sign(off) : Math.sign(off)
    return Math.abs(astray) >= limits.astray
  }

  function fitted(newest: ClockSample): Line | undefined {
    if (samples.length < 2) return undefined
    const found = fitLine(
      samples.map((sample) => relative(sample, newest)),
      LEAST_SPREAD_NS,
    )
    // No two clocks differ by more: what fits such a line is noise, or a jump.
    return Math.abs(found.slope) * 1e9 <= MOST_RATE_PPB ? found : undefined
  }

  return {
    add(sample) {
      const isAnother = strays(sample)
      samples.push(sample)
      if (isAnother) {
        samples = samples.slice(-limits.astray)
        astray = 0
      }
      const oldestNs = sample.monotonicNs - BigInt(limits.windowNs)
      samples = samples.filter(({ monotonicNs }) => monotonicNs > oldestNs).slice(-limits.most)
      line = fitted(sample)
      return !isAnother
    },
    estimate() {
      const [first, newest] = [samples[0], samples.at(-1)]
      if (!line || !first || !newest) return undefined
      const { slope, spread, x } = line
      return {
        differenceAt: (at) => newest.differenceNs + BigInt(Math.round(x + slope * Number(at - newest.monotonicNs))),
        ratePpb: Math.round(slope * 1e9),
        spreadNs: spread,
        samples: samples.length,
        spanNs: Number(newest.monotonicNs - first.monotonicNs),
      }
    },
    clear() {
      samples = []
      line = undefined
      astray = 0
    },
  }
}

function relative(sample: ClockSample, to: ClockSample): Point {
  return { t: Number(sample.monotonicNs - to.monotonicNs), x: Number(sample.differenceNs - to.differenceNs) }
}
