/**
 * The map from a camera's picture to a plan of the ground, fitted to pairs of points that show the same place.
 *
 * @source Hartley and Zisserman, Multiple View Geometry, 2nd edition; as many pairs as interface document 3, A, Limits, says
 */
import { Fault } from '#kit/pure/fault.ts'

export type Point = readonly [x: number, y: number]

/** Where a place is in the picture, in fractions of it from left and top, and on the plan, in its pixels. */
export interface PointPair {
  picture: Point
  plan: Point
}

/** A 3 by 3 matrix, row by row. */
type Matrix = readonly number[]

/** A map and how well it fits. */
export interface PlaneFit {
  matrix: Matrix
  /** How far each point of the picture lands from where it is on the plan, in pixels of the plan. */
  errorsPx: number[]
  /** Root of the mean of their squares. */
  residualPx: number
}

export const LEAST_PAIRS = 4
export const MOST_PAIRS = 24

/**
 * Fits a homography by the normalised direct linear transformation.
 * @param pairs `LEAST_PAIRS` to `MOST_PAIRS` of them
 * @throws Fault `bad_points` with a sentence: too few or too many, all on a line, or in an order that no camera sees
 * @source Hartley and Zisserman, Multiple View Geometry, 2nd edition, algorithm 4.2; the side of the horizon: 8.6, 21.1
 */
export function fitPlane(pairs: readonly PointPair[]): PlaneFit {
  if (pairs.length < LEAST_PAIRS || pairs.length > MOST_PAIRS)
    throw bad(`There are ${pairs.length} pairs of points; ${LEAST_PAIRS} to ${MOST_PAIRS} are needed.`)
  const pictures = pairs.map(({ picture }) => picture)
  const plans = pairs.map(({ plan }) => plan)
  refuseLine(pictures, 'in the picture')
  refuseLine(plans, 'on the plan')
  const from = normalised(pictures)
  const to = normalised(plans)
  const rows = from.points.flatMap(([x, y], at) => {
    const [u, v] = to.points[at] ?? [0, 0]
    return [
      [0, 0, 0, -x, -y, -1, v * x, v * y, v],
      [x, y, 1, 0, 0, 0, -u * x, -u * y, -u],
    ]
  })
  const matrix = signed(product(product(inverseOf(to), smallestDirection(rows)), matrixOf(from)), pictures)
  const errorsPx = pairs.map(({ picture, plan }) => {
    const [x, y] = mapped(matrix, picture)
    return Math.hypot(x - plan[0], y - plan[1])
  })
  return { matrix, errorsPx, residualPx: rootMeanSquare(errorsPx) }
}

/** Where a point of the picture lies on the plan. @param matrix of `fitPlane` @source as `fitPlane` */
export function mapped(matrix: Matrix, point: Point): Point {
  const [x, y, w] = timesPoint(matrix, point)
  return [x / w, y / w]
}

export function rootMeanSquare(values: readonly number[]): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length)
}

function bad(sentence: string): Fault {
  return new Fault('bad_points', sentence)
}

// What no map can be fitted to.

/** Points whose distance from a line is less than this part of their length lie on it: so far is a click off. */
const LINE = 0.01

/**
 * Where all points but one lie on a line, that line may be anywhere else in the picture without a point moving.
 * @throws Fault `bad_points`
 */
function refuseLine(points: readonly Point[], where: string): void {
  const { long } = extentsOf(points)
  const isOnLine = (some: readonly Point[]) => extentsOf(some).short < LINE * long
  if (long > 0 && !points.some((_, at) => isOnLine(points.toSpliced(at, 1)))) return
  throw bad(
    `All points ${where}, or all but one, lie on a line. Choose points that span an area, such as the four corners of a floor.`,
  )
}

/** How far points spread along the line that fits them best, and across it. */
function extentsOf(points: readonly Point[]): { long: number; short: number } {
  const [cx, cy] = centreOf(points)
  let [xx, xy, yy] = [0, 0, 0]
  for (const [x, y] of points) {
    xx += (x - cx) ** 2
    xy += (x - cx) * (y - cy)
    yy += (y - cy) ** 2
  }
  const middle = (xx + yy) / 2
  const reach = Math.hypot((xx - yy) / 2, xy)
  const rooted = (sum: number) => Math.sqrt(Math.max(0, sum) / points.length)
  return { long: rooted(middle + reach), short: rooted(middle - reach) }
}

function centreOf(points: readonly Point[]): Point {
  const [x, y] = points.reduce(([sumX, sumY], [x, y]) => [sumX + x, sumY + y], [0, 0])
  return [x / points.length, y / points.length]
}

/** How near to the horizon a point may be, as a part of the farthest from it. */
const HORIZON = 1e-6

/**
 * A camera shows the ground from above and on one side of its horizon: neither mirrored nor torn apart.
 * @throws Fault `bad_points`
 */
function signed(matrix: Matrix, pictures: readonly Point[]): Matrix {
  const sides = pictures.map((point) => timesPoint(matrix, point)[2])
  const farthest = Math.max(...sides.map(Math.abs))
  const sign = Math.sign(sides[0] ?? 0)
  if (!sides.every((side) => side * sign > HORIZON * farthest))
    throw bad(
      'The points cross: joined in the same order, those in the picture and those on the plan do not make the same shape. Check which belongs to which.',
    )
  const whole = matrix.map((value) => (value * sign) / farthest)
  if (determinantOf(whole) <= 0)
    throw bad(
      'The points on the plan are a mirror image of those in the picture. Check which belongs to which, and that the plan is seen from above.',
    )
  return whole
}

// Matrices.

/** Points around the origin, at a mean distance of the root of two, and how they came there. */
interface Normalised {
  points: Point[]
  centre: Point
  scale: number
}

function normalised(points: readonly Point[]): Normalised {
  const centre = centreOf(points)
  const mean = points.reduce((sum, [x, y]) => sum + Math.hypot(x - centre[0], y - centre[1]), 0) / points.length
  const scale = Math.SQRT2 / mean
  return { points: points.map(([x, y]) => [(x - centre[0]) * scale, (y - centre[1]) * scale]), centre, scale }
}

function matrixOf({ centre: [x, y], scale }: Normalised): Matrix {
  return [scale, 0, -scale * x, 0, scale, -scale * y, 0, 0, 1]
}

function inverseOf({ centre: [x, y], scale }: Normalised): Matrix {
  return [1 / scale, 0, x, 0, 1 / scale, y, 0, 0, 1]
}

function product(one: Matrix, other: Matrix): Matrix {
  return one.map((_, at) => {
    const [row, column] = [at - (at % 3), at % 3]
    return [0, 1, 2].reduce((sum, step) => sum + (one[row + step] ?? 0) * (other[3 * step + column] ?? 0), 0)
  })
}

function timesPoint(matrix: Matrix, [x, y]: Point): [number, number, number] {
  const row = (at: number) => (matrix[at] ?? 0) * x + (matrix[at + 1] ?? 0) * y + (matrix[at + 2] ?? 0)
  return [row(0), row(3), row(6)]
}

function determinantOf(matrix: Matrix): number {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0] = matrix
  return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
}

/** Turns of Jacobi's method; nine columns are done after six or seven. */
const MOST_TURNS = 30

/**
 * The unit vector that rows map to the shortest one: the last right singular vector, found by turning columns until each is
 * square to all others.
 * @source Golub and Van Loan, Matrix Computations, 4th edition, 8.6.3: one-sided Jacobi
 */
function smallestDirection(rows: readonly (readonly number[])[]): Matrix {
  const size = rows[0]?.length ?? 0
  const columns = Array.from({ length: size }, (_, at) => rows.map((row) => row[at] ?? 0))
  const turned = Array.from({ length: size }, (_, at) =>
    Array.from({ length: size }, (__, row) => (row === at ? 1 : 0)),
  )
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    let isDone = true
    for (let one = 0; one < size; one++)
      for (let other = one + 1; other < size; other++) {
        const angle = angleOf(columns[one] ?? [], columns[other] ?? [])
        if (angle === 0) continue
        isDone = false
        turnColumns(columns, one, other, angle)
        turnColumns(turned, one, other, angle)
      }
    if (isDone) break
  }
  const lengths = columns.map((column) => Math.hypot(...column))
  return turned[lengths.indexOf(Math.min(...lengths))] ?? []
}

const SQUARE = 1e-15

/** By which two columns have to be turned to be square to each other; 0 if they are. */
function angleOf(one: readonly number[], other: readonly number[]): number {
  let [own, both, others] = [0, 0, 0]
  one.forEach((value, at) => {
    const second = other[at] ?? 0
    own += value * value
    both += value * second
    others += second * second
  })
  if (Math.abs(both) <= SQUARE * Math.sqrt(own * others)) return 0
  const ratio = (others - own) / (2 * both)
  return Math.atan((ratio < 0 ? -1 : 1) / (Math.abs(ratio) + Math.hypot(1, ratio)))
}

function turnColumns(columns: number[][], one: number, other: number, angle: number): void {
  const [first = [], second = []] = [columns[one], columns[other]]
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  columns[one] = first.map((value, at) => cos * value - sin * (second[at] ?? 0))
  columns[other] = first.map((value, at) => sin * value + cos * (second[at] ?? 0))
}
