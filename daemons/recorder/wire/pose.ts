/**
 * How a camera that turns stands on a plan: its heading and its height, fitted to what it was aimed at, and where it looks.
 *
 * Bearings are degrees clockwise from up on the plan. Pan is in degrees clockwise as seen from above, tilt in degrees above
 * the horizon, so that a camera that looks down has a negative one.
 *
 * @source plane trigonometry; Mardia and Jupp, Directional Statistics, 2.2.1
 */
import { Fault } from '#kit/pure/fault.ts'
import { type Point, rootMeanSquare } from './homography.ts'

/** The camera was aimed at a place on the ground. */
export interface PoseSample {
  position: { pan: number; tilt: number; zoom: number }
  plan: Point
}

export interface Pose {
  /** Bearing at pan 0, 0 to 360. */
  headingDeg: number
  /** Height above the ground in pixels of the plan; null where no sample looks down. */
  height: number | null
}

/** A pose and how well it fits. */
export interface PoseFit extends Pose {
  /** Angle between where each place is and where the camera was aimed. */
  errorsDeg: number[]
  /** Whether each sample was left out, since it contradicts most others. */
  leftOut: boolean[]
  /** Root of the mean of the squares, of those that were not left out. */
  residualDeg: number
}

export const MOST_SAMPLES = 24

/** Nearer to the camera nothing has a direction. */
const LEAST_PX = 1
/** Less far below the horizon, a place cannot be told from one that is endlessly far away. */
const HORIZON_DEG = 0.1
/** What looks straight down says nothing about height. */
const DOWN_DEG = 89.9
/** Of fewer, nobody can say which one is wrong. */
const LEAST_TO_LEAVE_OUT = 3
/** So many times the usual error is too much, and no less than this: clicks are that exact. */
const TOO_FAR = 3
const LEAST_SPREAD_DEG = 1
/** Samples that look straight down, if there are no others, still give a heading. */
const LEAST_WEIGHT = 1e-6
/** Of a normal distribution, the median of absolute errors times this is the deviation. */
const MEDIAN_TO_DEVIATION = 1.4826

const RADIANS = Math.PI / 180

/**
 * Fits heading by weighted circular mean and height by least squares of angles, without samples that contradict most others.
 * @param at where the camera is on the plan
 * @param samples one or more
 * @throws Fault `bad_points` for a sample at the camera itself
 * @source heading: Mardia and Jupp; leaving out by the median of errors: Huber, Robust Statistics, 5.1
 */
export function fitPose(at: Point, samples: readonly PoseSample[]): PoseFit {
  const seen = samples.map(({ plan, position }, index) => {
    const distance = Math.hypot(plan[0] - at[0], plan[1] - at[1])
    if (distance < LEAST_PX)
      throw new Fault(
        'bad_points',
        `Sample ${index + 1} is where the camera itself stands. Aim at a place apart from it.`,
      )
    return { distance, below: -position.tilt, heading: bearingOf(at, plan) - position.pan }
  })
  const headings = seen.map(({ heading }) => heading)
  const isTurned = farFrom(headings, headings, turnBetween)
  // Where the places are wrong, so are the heights that follow from them.
  const looksDown = seen.map(({ below }, index) => below > HORIZON_DEG && below < DOWN_DEG && !isTurned[index])
  const straight = seen.filter((_, index) => looksDown[index])
  const heights = straight.map(({ below, distance }) => distance * Math.tan(below * RADIANS))
  const angleFrom = (height: number, index: number) => {
    const { below = 0, distance = 1 } = straight[index] ?? {}
    return belowAt(height, distance) - below
  }
  const isTilted = farFrom(heights, straight.keys().toArray(), (index, height) => angleFrom(height, index))
  const tilted = looksDown.map((isDown, index) => isDown && isTilted[looksDown.slice(0, index).filter(Boolean).length])
  const leftOut = seen.map((_, index) => Boolean(isTurned[index]) || Boolean(tilted[index]))
  const headingDeg = around(circularMean(seen.filter((_, index) => !leftOut[index])))
  const used = straight.filter((_, index) => !isTilted[index])
  const height = used.length === 0 ? null : heightOf(used, median(heights.filter((_, index) => !isTilted[index])))
  const errorsDeg = seen.map(({ below, distance, heading }) => {
    const across = turnBetween(heading, headingDeg) * Math.cos(below * RADIANS)
    const along = height === null || below <= HORIZON_DEG ? 0 : belowAt(height, distance) - below
    return Math.hypot(across, along)
  })
  const residualDeg = rootMeanSquare(errorsDeg.filter((_, index) => !leftOut[index]))
  return { headingDeg, height, errorsDeg, leftOut, residualDeg }
}

/** How far a place on the ground is below the horizon. */
function belowAt(height: number, distance: number): number {
  return Math.atan2(height, distance) / RADIANS
}

/** Turns that bring a height closer; it is there after four or five. */
const MOST_STEPS = 20

/** The height whose angles fit best: Gauss and Newton in one dimension. */
function heightOf(seen: readonly { below: number; distance: number }[], first: number): number {
  let height = first
  for (let step = 0; step < MOST_STEPS; step++) {
    let [top, bottom] = [0, 0]
    for (const { below, distance } of seen) {
      const slope = distance / (distance * distance + height * height)
      top += slope * (below - belowAt(height, distance)) * RADIANS
      bottom += slope * slope
    }
    const next = Math.max(height / 4, height + top / bottom)
    const isDone = Math.abs(next - height) < 1e-9 * height
    height = next
    if (isDone) break
  }
  return height
}

/**
 * Which of some are far from the middle of most: the candidate from which they are the least far in all.
 * @param candidates for the middle
 * @param distance between one and a candidate, in degrees
 */
function farFrom<One>(
  candidates: readonly number[],
  all: readonly One[],
  distance: (one: One, candidate: number) => number,
): boolean[] {
  if (all.length < LEAST_TO_LEAVE_OUT) return all.map(() => false)
  const awayFrom = (candidate: number) => all.map((one) => Math.abs(distance(one, candidate)))
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const sums = candidates.map((candidate) => sum(awayFrom(candidate)))
  const away = awayFrom(candidates[sums.indexOf(Math.min(...sums))] ?? 0)
  const most = TOO_FAR * Math.max(LEAST_SPREAD_DEG, MEDIAN_TO_DEVIATION * median(away))
  return away.map((one) => one > most)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const half = Math.floor(sorted.length / 2)
  const [below = 0, middle = 0] = [sorted[half - 1], sorted[half]]
  return sorted.length % 2 === 1 ? middle : (below + middle) / 2
}

/**
 * The heading whose angles fit best. A turn of the camera moves what it sees by the cosine of how far it looks down, so a
 * steep sample says less about the heading than a flat one.
 */
function circularMean(seen: readonly { below: number; heading: number }[]): number {
  let [sin, cos] = [0, 0]
  for (const { below, heading } of seen) {
    const weight = Math.max(LEAST_WEIGHT, Math.cos(below * RADIANS) ** 2)
    sin += weight * Math.sin(heading * RADIANS)
    cos += weight * Math.cos(heading * RADIANS)
  }
  return Math.atan2(sin, cos) / RADIANS
}

/** As 0 to less than 360. */
function around(degrees: number): number {
  const whole = ((degrees % 360) + 360) % 360
  return whole === 360 ? 0 : whole
}

/** From one direction to another, -180 to 180. */
function turnBetween(from: number, to: number): number {
  const whole = around(to - from)
  return whole > 180 ? whole - 360 : whole
}

/** 0 to less than 360. */
export function bearingOf([fromX, fromY]: Point, [x, y]: Point): number {
  return around(Math.atan2(x - fromX, fromY - y) / RADIANS)
}

/** The point of the ground under the middle of the picture; null at the horizon, above it, and where height is unknown. */
export function lookedAt(at: Point, pose: Pose, position: { pan: number; tilt: number }): Point | null {
  const below = -position.tilt
  if (pose.height === null || below <= HORIZON_DEG) return null
  const distance = pose.height * Math.max(0, 1 / Math.tan(below * RADIANS))
  const bearing = bearingAt(pose, position.pan) * RADIANS
  return [at[0] + distance * Math.sin(bearing), at[1] - distance * Math.cos(bearing)]
}

/** Where a camera looks that is panned so far. */
export function bearingAt({ headingDeg }: Pose, pan: number): number {
  return around(headingDeg + pan)
}

/** How a camera has to stand to look at a point of the ground. */
export interface Aim {
  bearingDeg: number
  pan: number
  /** Null where its height is unknown. */
  tilt: number | null
}

/**
 * @param range what the camera can pan to, degrees: of several turns that look the same way, the one within is taken
 * @throws Fault `bad_points` for the place of the camera itself
 */
export function aimAt(at: Point, pose: Pose, point: Point, range: { min: number; max: number }): Aim {
  const distance = Math.hypot(point[0] - at[0], point[1] - at[1])
  if (distance < LEAST_PX)
    throw new Fault('bad_points', 'The camera itself stands at this point. Choose one apart from it.')
  const bearingDeg = bearingOf(at, point)
  const pan = turnBetween(pose.headingDeg, bearingDeg)
  const turns = [pan, pan + 360, pan - 360]
  const within = turns.find((turn) => turn >= range.min && turn <= range.max)
  // Of what it cannot reach, that from which its end is the least far.
  const beyond = (turn: number) => Math.max(range.min - turn, turn - range.max)
  const nearest = turns.toSorted((one, other) => beyond(one) - beyond(other))[0] ?? pan
  return { bearingDeg, pan: within ?? nearest, tilt: pose.height === null ? null : -belowAt(pose.height, distance) }
}
