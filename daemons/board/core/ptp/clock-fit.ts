/** Estimates how another clock runs against CLOCK_MONOTONIC, and steers sound's clock to its target. */
import type { AudioClock } from './ptp.ts'

// A robust straight line through points, some of which are far off.

interface Point {
  t: number
  x: number
}

interface Line {
  /** Value at `t` = 0, and increase per unit of `t`. */
  x: number
  slope: number
  /** Spread of the points around it: the deviation of a normal distribution with the same median. */
  spread: number
}

/** The median of |normal|, which converts a median of distances to a deviation. */
const MEDIAN_OF_NORMAL = 0.6745
/**
 * A point further off than this many deviations has no weight. @source Beaton and Tukey 1974: 95 % efficient on normal
 * noise
 */
const BISQUARE = 4.685
const ROUNDS = 4

/**
 * Least squares with weights that fall to zero with the distance (Tukey's bisquare), starting from medians: up to a
 * quarter of the points may be arbitrary.
 * @param points at least two, in order of `t`, not all at the same
 * @param leastSpread points within this are always trusted: noise is never less
 */
export function fitLine(points: readonly Point[], leastSpread: number): Line {
  let line = lineOfHalves(points)
  for (let round = 0; round < ROUNDS; round++) {
    const scale = Math.max(leastSpread, spreadOf(points, line)) * BISQUARE
    line = weighted(points, (point) => bisquare(distance(point, line) / scale)) ?? line
  }
  return { ...line, spread: spreadOf(points, line) }
}

export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort()
  const half = sorted.length >> 1
  const upper = sorted[half] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2
}

type Straight = Pick<Line, 'x' | 'slope'>

function distance({ t, x }: Point, line: Straight): number {
  return x - line.x - line.slope * t
}

function spreadOf(points: readonly Point[], line: Straight): number {
  return median(points.map((point) => Math.abs(distance(point, line)))) / MEDIAN_OF_NORMAL
}

/** Line through the medians of the earlier and the later half. */
function lineOfHalves(points: readonly Point[]): Straight {
  const half = points.length >> 1
  const [early, late] = [points.slice(0, half), points.slice(half)].map((part) => ({
    t: median(part.map(({ t }) => t)),
    x: median(part.map(({ x }) => x)),
  }))
  if (!early || !late || late.t === early.t) return { x: late?.x ?? 0, slope: 0 }
  const slope = (late.x - early.x) / (late.t - early.t)
  // Does not go through those two points: the median of the residuals is the better level.
  return { x: median(points.map(({ t, x }) => x - slope * t)), slope }
}

function weighted(points: readonly Point[], weightOf: (point: Point) => number): Straight | undefined {
  let [w, wt, wx] = [0, 0, 0]
  const weights = points.map(weightOf)
  points.forEach(({ t, x }, index) => {
    const weight = weights[index] ?? 0
    w += weight
    wt += weight * t
    wx += weight * x
  })
  if (w === 0) return undefined
  const [meanT, meanX] = [wt / w, wx / w]
  let [across, along] = [0, 0]
  points.forEach(({ t, x }, index) => {
    const weight = weights[index] ?? 0
    across += weight * (t - meanT) * (x - meanX)
    along += weight * (t - meanT) ** 2
  })
  const slope = along === 0 ? 0 : across / along
  return { x: meanX - slope * meanT, slope }
}

function bisquare(distance: number): number {
  return Math.abs(distance) >= 1 ? 0 : (1 - distance ** 2) ** 2
}

// Steering: brings sound's clock to its target, smoothly if that is near.

/**
 * Sound's clock is never asked to run faster or slower than this against CLOCK_MONOTONIC; the real one would refuse.
 */
export const MOST_RATE_PPB = 500_000

export interface SteeringLimits {
  /** A small error is corrected in about this time. */
  settleNs: number
  /** A larger error is corrected at the full slew rate; between two calls that must not change more than this. */
  smallNs: number
  /** Never more than this much faster or slower than the clock being followed. */
  slewPpb: number
}

/** Target of the clock. */
interface Course {
  /** How far it should be ahead of CLOCK_MONOTONIC, at an instant of that. */
  differenceAt(monotonicNs: bigint): bigint
  ratePpb: number
  /** From this error on the clock jumps, as slewing would take too long. */
  jumpNs: number
}

export interface Steered {
  /** Present time of the clock minus its target. */
  errorNs: number
  jumped: boolean
}

interface Steering {
  /** Call often: between two calls the clock runs on as it was set. */
  follow(course: Course): Steered
  /** Runs on at a rate, from its present time. */
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

// The other clock, estimated from samples of its difference.

/** The other clock was `differenceNs` ahead of CLOCK_MONOTONIC at an instant of that. */
export interface ClockSample {
  monotonicNs: bigint
  differenceNs: bigint
}

/** Estimate from the samples. */
export interface ClockEstimate {
  /** How far ahead the other clock is at an instant of CLOCK_MONOTONIC. */
  differenceAt(monotonicNs: bigint): bigint
  /** How much faster it runs, parts in 1e9. */
  ratePpb: number
  /** Deviation of the samples from the line. */
  spreadNs: number
  samples: number
  /** From the first to the last sample. */
  spanNs: number
}

export interface ClockFitLimits {
  /** Older samples are dropped: a crystal's rate moves with its temperature. */
  windowNs: number
  most: number
  /** This many samples in a row off to the same side are not noise: it is another clock, or it has jumped. */
  astray: number
  /** A sample is off if further than this, and than five deviations. */
  astrayNs: number
}

interface ClockFit {
  /** @returns `false` if earlier samples no longer count */
  add(sample: ClockSample): boolean
  /** Undefined with fewer than two samples. */
  estimate(): ClockEstimate | undefined
  clear(): void
}

/** Noise of software time stamps is never less. */
const LEAST_SPREAD_NS = 100
const ASTRAY_DEVIATIONS = 5

/** Points are relative to the newest sample, so that doubles are precise to less than a nanosecond. */
export function createClockFit(limits: ClockFitLimits): ClockFit {
  let samples: ClockSample[] = []
  let line: Line | undefined
  /** Number of latest samples that were off, with the sign of the side. */
  let astray = 0

  /** @returns whether enough samples in a row were off to be trusted. */
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
    // Real clocks never differ by more: such a line is noise, or a jump.
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
