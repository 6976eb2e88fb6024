/** Tests of wire/homography.ts, against cameras that are made up and a solver that is written another way. */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { fitPlane, type Point, type PointPair } from '../../wire/homography.ts'

/** A camera above the ground, and whatever its picture shows of a plan of 1000 by 800 pixels. */
interface Scene {
  x: number
  y: number
  height: number
  headingDeg: number
  tiltDeg: number
  hfovDeg: number
}

const scene = fc.record<Scene>({
  x: fc.double({ min: 0, max: 1000, noNaN: true }),
  y: fc.double({ min: 0, max: 800, noNaN: true }),
  height: fc.double({ min: 30, max: 300, noNaN: true }),
  headingDeg: fc.double({ min: 0, max: 360, noNaN: true }),
  tiltDeg: fc.double({ min: 20, max: 70, noNaN: true }),
  hfovDeg: fc.double({ min: 40, max: 100, noNaN: true }),
})

/** The place on the ground of a point of the picture, by the ray through it; undefined above the horizon. */
function placeOf({ headingDeg, height, hfovDeg, tiltDeg, x, y }: Scene, [u, v]: Point): Point | undefined {
  const [heading, tilt] = [headingDeg, tiltDeg].map((degrees) => (degrees * Math.PI) / 180) as [number, number]
  const half = Math.tan((hfovDeg * Math.PI) / 360)
  const [right, down] = [(2 * u - 1) * half, ((2 * v - 1) * half * 9) / 16]
  const ahead = Math.cos(tilt) - down * Math.sin(tilt)
  const below = Math.sin(tilt) + down * Math.cos(tilt)
  if (below < 0.15) return undefined
  const [along, across] = [(height * ahead) / below, (height * right) / below]
  return [
    x + along * Math.sin(heading) + across * Math.cos(heading),
    y - along * Math.cos(heading) + across * Math.sin(heading),
  ]
}

/** Points of the picture that are spread over it, and where they are on the plan. */
function pairsOf(one: Scene, count: number, shift: readonly Point[] = []): PointPair[] {
  return Array.from({ length: count }, (_, at) => {
    const picture: Point = [0.1 + 0.8 * ((at * 0.618034) % 1), 0.35 + 0.6 * ((at + 0.5) / count)]
    const [x, y] = placeOf(one, picture) ?? [0, 0]
    const [dx, dy] = shift[at] ?? [0, 0]
    return { picture, plan: [x + dx, y + dy] as const }
  })
}

const isVisible = (one: Scene) => placeOf(one, [0.5, 0.35]) !== undefined
const count = fc.integer({ min: 4, max: 24 })

/** Normal numbers, a pixel wide: the sum of twelve even ones, from a seed. */
const noise = fc.integer({ min: 1, max: 2 ** 31 - 2 }).map((seed) => {
  let state = seed
  const even = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  const normal = () => Array.from({ length: 12 }, even).reduce((sum, one) => sum + one, -6)
  return Array.from({ length: 24 }, (): Point => [normal(), normal()])
})

// Another way to the same: eight unknowns with the last one 1, made better by Gauss and Newton until the sum of squares of
// distances on the plan is smallest. Solved by elimination, begun at the answer without noise.

type Unknowns = number[]

function place(h: Unknowns, [u, v]: Point): Point {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, k = 0] = h
  const w = g * u + k * v + 1
  return [(a * u + b * v + c) / w, (d * u + e * v + f) / w]
}

function rmsOf(h: Unknowns, pairs: readonly PointPair[]): number {
  const squares = pairs.map(({ picture, plan }) => {
    const [x, y] = place(h, picture)
    return (x - plan[0]) ** 2 + (y - plan[1]) ** 2
  })
  return Math.sqrt(squares.reduce((sum, one) => sum + one, 0) / pairs.length)
}

/** Elimination with pivots. */
function solved(matrix: number[][], right: number[]): number[] {
  const rows = matrix.map((row, at) => [...row, right[at] ?? 0])
  const size = rows.length
  for (let at = 0; at < size; at++) {
    const pivot = rows
      .slice(at)
      .reduce((best, row, index) => (Math.abs(row[at] ?? 0) > Math.abs(rows[best]?.[at] ?? 0) ? at + index : best), at)
    const [lifted = [], lowered = []] = [rows[pivot], rows[at]]
    rows[at] = lifted
    rows[pivot] = lowered
    for (let below = at + 1; below < size; below++) {
      const row = rows[below] ?? []
      const factor = (row[at] ?? 0) / (lifted[at] ?? 1)
      rows[below] = row.map((value, column) => value - factor * (lifted[column] ?? 0))
    }
  }
  const answer: number[] = []
  for (let at = size - 1; at >= 0; at--) {
    const row = rows[at] ?? []
    const known = row
      .slice(at + 1, size)
      .reduce((sum, value, column) => sum + value * (answer[at + 1 + column] ?? 0), 0)
    answer[at] = ((row[size] ?? 0) - known) / (row[at] ?? 1)
  }
  return answer
}

/** @param h to begin with */
function bestOf(h: Unknowns, pairs: readonly PointPair[]): Unknowns {
  let best = h
  for (let step = 0; step < 25; step++) {
    const normal = Array.from({ length: 8 }, () => Array<number>(8).fill(0))
    const right = Array<number>(8).fill(0)
    for (const { picture, plan } of pairs) {
      const [u, v] = picture
      const [x, y] = place(best, picture)
      const w = (best[6] ?? 0) * u + (best[7] ?? 0) * v + 1
      const slopes = [
        [u / w, v / w, 1 / w, 0, 0, 0, (-u * x) / w, (-v * x) / w],
        [0, 0, 0, u / w, v / w, 1 / w, (-u * y) / w, (-v * y) / w],
      ]
      const off = [plan[0] - x, plan[1] - y]
      for (const [axis, slope] of slopes.entries())
        for (let row = 0; row < 8; row++) {
          right[row] = (right[row] ?? 0) + (slope[row] ?? 0) * (off[axis] ?? 0)
          for (let column = 0; column < 8; column++) {
            const line = normal[row] ?? []
            line[column] = (line[column] ?? 0) + (slope[row] ?? 0) * (slope[column] ?? 0)
          }
        }
    }
    const by = solved(normal, right)
    const nearer = [1, 0.5, 0.25, 0.125].map((part) => best.map((value, at) => value + part * (by[at] ?? 0)))
    const next = nearer.find((one) => rmsOf(one, pairs) < rmsOf(best, pairs))
    if (!next) break
    best = next
  }
  return best
}

const unknownsOf = (matrix: readonly number[]) => matrix.slice(0, 8).map((value) => value / (matrix[8] ?? 1))

t.test('3A.plans.points without noise each place of the picture is found on the plan', async () => {
  fc.assert(
    fc.property(scene.filter(isVisible), count, (one, count) => {
      const { matrix, residualPx } = fitPlane(pairsOf(one, count))
      const h = unknownsOf(matrix)
      const off = [
        [0.5, 0.5],
        [0.2, 0.9],
        [0.8, 0.4],
      ].map((point) => {
        const wanted = placeOf(one, point as unknown as Point) ?? [0, 0]
        const found = place(h, point as unknown as Point)
        return Math.hypot(found[0] - wanted[0], found[1] - wanted[1])
      })
      return residualPx < 1e-6 && Math.max(...off) < 1e-5
    }),
    { numRuns: 300 },
  )
})

t.test('3A.plans.points with noise it is nearly as good as the best there is, found another way', async (t) => {
  const ratios: number[] = []
  fc.assert(
    fc.property(scene.filter(isVisible), fc.integer({ min: 8, max: 24 }), noise, (one, count, shift) => {
      const pairs = pairsOf(one, count, shift)
      const fit = fitPlane(pairs)
      const best = bestOf(unknownsOf(fitPlane(pairsOf(one, count)).matrix), pairs)
      const rms = rmsOf(best, pairs)
      ratios.push(fit.residualPx / Math.max(rms, 1e-9))
      // Errors are what they are called, measured again here.
      const own = unknownsOf(fit.matrix)
      return (
        Math.abs(rmsOf(own, pairs) - fit.residualPx) < 1e-6 &&
        pairs.every((pair, at) => Math.abs(rmsOf(own, [pair]) - (fit.errorsPx[at] ?? -1)) < 1e-6)
      )
    }),
    // What is counted over all of them is always the same.
    { numRuns: 200, seed: 20_261_128 },
  )
  const sorted = ratios.toSorted((a, b) => a - b)
  const [middle = 9, nearlyAll = 9] = [sorted[sorted.length >> 1], sorted[Math.floor(sorted.length * 0.95)]]
  t.ok(middle < 1.15, `the median is ${middle.toFixed(3)} times the best`)
  t.ok(nearlyAll < 2, `95 of 100 are within ${nearlyAll.toFixed(3)} times the best`)
})

t.test('3A.plans.points neither the order of pairs nor the size of the plan changes a fit', async () => {
  fc.assert(
    fc.property(scene.filter(isVisible), count, noise, (one, count, shift) => {
      const pairs = pairsOf(one, count, shift)
      const fit = fitPlane(pairs)
      const turned = fitPlane(pairs.toReversed())
      const large = fitPlane(pairs.map(({ picture, plan: [x, y] }) => ({ picture, plan: [3 * x + 50, 3 * y - 20] })))
      const near = (a: number, b: number) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a))
      return near(turned.residualPx, fit.residualPx) && near(large.residualPx, 3 * fit.residualPx)
    }),
    { numRuns: 100 },
  )
})

const square: Point[] = [
  [0.2, 0.4],
  [0.8, 0.4],
  [0.9, 0.9],
  [0.1, 0.9],
]
const floor: Point[] = [
  [100, 100],
  [500, 100],
  [500, 400],
  [100, 400],
]
const paired = (pictures: readonly Point[], plans: readonly Point[]): PointPair[] =>
  pictures.map((picture, at) => ({ picture, plan: plans[at] ?? [0, 0] }))
const refusal = (pairs: readonly PointPair[]): string => {
  try {
    fitPlane(pairs)
    return 'fitted'
  } catch (fault) {
    return fault instanceof Fault && fault.code === 'bad_points' ? fault.message : `threw ${fault}`
  }
}

t.test('3A.plans.points 4 to 24 pairs are fitted', async (t) => {
  t.equal(refusal(paired(square, floor)), 'fitted')
  t.match(refusal(paired(square.slice(1), floor.slice(1))), /There are 3 pairs of points; 4 to 24 are needed/)
  t.match(refusal(pairsOf({ x: 0, y: 0, height: 100, headingDeg: 0, tiltDeg: 40, hfovDeg: 60 }, 25)), /There are 25/)
})

t.test('3A.plans.points what lies on a line, all but one point too, is refused by a sentence', async (t) => {
  const line: Point[] = [0, 1, 2, 3, 4].map((step) => [0.1 + 0.2 * step, 0.3 + 0.1 * step])
  const wide: Point[] = [...floor, [300, 250]]
  t.match(refusal(paired(line, wide)), /^All points in the picture, or all but one, lie on a line/)
  t.match(refusal(paired(line.with(4, [0.1, 0.9]), wide)), /in the picture/)
  t.match(refusal(paired(line.slice(0, 4).with(3, [0.1, 0.9]), floor)), /in the picture/)
  const onPlan: Point[] = line.map(([x, y]) => [x * 1000, y * 1000])
  t.match(refusal(paired([...square, [0.5, 0.6]], onPlan)), /on the plan/)
  t.match(refusal(paired(square, floor.with(1, [100, 100]))), /on the plan/, 'two in one place')
  t.match(
    refusal(
      paired(
        square.map(() => [0.5, 0.5]),
        floor,
      ),
    ),
    /in the picture/,
    'all in one place',
  )
  // Off by what a click is off.
  fc.assert(
    fc.property(noise, (shift) => {
      const jagged = line.map(([x, y], at): Point => [x, y + 0.0005 * (shift[at]?.[0] ?? 0)])
      return refusal(paired(jagged, wide)).includes('line')
    }),
  )
})

t.test('3A.plans.points points that cross, or are mirrored, are refused by a sentence', async (t) => {
  const [a, b, c, d] = floor as [Point, Point, Point, Point]
  for (const crossed of [
    [b, a, c, d],
    [a, c, b, d],
    [a, b, d, c],
    [d, b, c, a],
  ])
    t.match(refusal(paired(square, crossed)), /^The points cross/)
  t.match(refusal(paired(square, [b, a, d, c])), /mirror image/)
  for (const turned of [
    [b, c, d, a],
    [c, d, a, b],
    [d, a, b, c],
  ])
    t.equal(refusal(paired(square, turned)), 'fitted')
})

t.test('whatever points are given, there is a fit of finite numbers or a sentence', async () => {
  const any = (most: number) =>
    fc.tuple(fc.double({ min: 0, max: most, noNaN: true }), fc.double({ min: 0, max: most, noNaN: true }))
  const rough = (most: number) =>
    fc
      .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 }))
      .map(([x, y]): Point => [(x * most) / 3, (y * most) / 3])
  const one = fc.record({ picture: fc.oneof(any(1), rough(1)), plan: fc.oneof(any(8000), rough(8000)) })
  fc.assert(
    fc.property(fc.array(one, { minLength: 0, maxLength: 26 }), (pairs) => {
      const said = refusal(pairs)
      if (said !== 'fitted') return !said.startsWith('threw')
      const { errorsPx, matrix, residualPx } = fitPlane(pairs)
      return [...errorsPx, ...matrix, residualPx].every(Number.isFinite) && errorsPx.length === pairs.length
    }),
    { numRuns: 1000 },
  )
})
