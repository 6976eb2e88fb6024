/** A straight line through points of which some are far off. */

export interface Point {
  t: number
  x: number
}

export interface Line {
  /** Where it is at `t` = 0, and how much it rises by each `t`. */
  x: number
  slope: number
  /** How far points are from it: the deviation of a normal distribution that has the same median. */
  spread: number
}

/** The median of |normal|, by which a median of distances becomes a deviation. */
const MEDIAN_OF_NORMAL = 0.6745
/** Beyond so many deviations a point has no weight at all. @source Beaton and Tukey 1974: 95 % efficient on normal noise */
const BISQUARE = 4.685
const ROUNDS = 4

/**
 * Least squares whose weights fall to nothing with the distance (Tukey's bisquare), begun from medians: up to a quarter
 * of the points may be anything.
 * @param points at least two, in order of `t`, not all at the same
 * @param leastSpread by this far points are always believed: noise is never less
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

/** Through the medians of the earlier and the later half. */
function lineOfHalves(points: readonly Point[]): Straight {
  const half = points.length >> 1
  const [early, late] = [points.slice(0, half), points.slice(half)].map((part) => ({
    t: median(part.map(({ t }) => t)),
    x: median(part.map(({ x }) => x)),
  }))
  if (!early || !late || late.t === early.t) return { x: late?.x ?? 0, slope: 0 }
  const slope = (late.x - early.x) / (late.t - early.t)
  // Not through those two: the median of what is left is the better level.
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
