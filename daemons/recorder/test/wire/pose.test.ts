/** Tests of wire/pose.ts, against cameras that are made up and a search that is written another way. */
import fc from 'fast-check'
import t from 'tap'
import type { Point } from '../../wire/homography.ts'
import { aimAt, bearingAt, bearingOf, fitPose, lookedAt, type PoseSample } from '../../wire/pose.ts'

const RADIANS = Math.PI / 180
const at: Point = [400, 300]

const camera = fc.record({
  headingDeg: fc.double({ min: 0, max: 359.99, noNaN: true }),
  height: fc.double({ min: 20, max: 300, noNaN: true }),
})
const place = fc.record({
  bearing: fc.double({ min: 0, max: 360, noNaN: true }),
  distance: fc.double({ min: 40, max: 600, noNaN: true }),
})
const places = fc.array(place, { minLength: 5, maxLength: 12 })
const shaky = fc.array(
  fc.tuple(fc.double({ min: -1, max: 1, noNaN: true }), fc.double({ min: -1, max: 1, noNaN: true })),
  {
    minLength: 12,
    maxLength: 12,
  },
)

/** A vector to where the camera points, east, north and up. */
function direction(bearing: number, below: number): [number, number, number] {
  const [b, t] = [bearing * RADIANS, below * RADIANS]
  return [Math.sin(b) * Math.cos(t), Math.cos(b) * Math.cos(t), -Math.sin(t)]
}

/** Between two vectors, degrees. */
function between(one: readonly number[], other: readonly number[]): number {
  const cross = [1, 2, 0].map((i, at) => {
    const j = [2, 0, 1][at] ?? 0
    return (one[i] ?? 0) * (other[j] ?? 0) - (one[j] ?? 0) * (other[i] ?? 0)
  })
  const dot = one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0)
  return Math.atan2(Math.hypot(...cross), dot) / RADIANS
}

interface Truth {
  headingDeg: number
  height: number
}

/** A camera that is aimed at a place, off by so much. */
function sampleOf(
  { headingDeg, height }: Truth,
  { bearing, distance }: { bearing: number; distance: number },
  [pan, tilt]: readonly [number, number],
): PoseSample {
  const plan: Point = [at[0] + distance * Math.sin(bearing * RADIANS), at[1] - distance * Math.cos(bearing * RADIANS)]
  const turned = ((bearing - headingDeg + 540) % 360) - 180
  return {
    position: { pan: turned + pan, tilt: -Math.atan(height / distance) / RADIANS + tilt, zoom: 0 },
    plan,
  }
}

/** The sum of squares of angles between where places are and where the camera was aimed, by vectors. */
function costOf({ headingDeg, height }: Truth, samples: readonly PoseSample[]): number {
  return samples.reduce((sum, { plan, position }) => {
    const toPlace = [plan[0] - at[0], at[1] - plan[1], -height]
    return sum + between(toPlace, direction(headingDeg + position.pan, -position.tilt)) ** 2
  }, 0)
}

/** Looks around for what is better, in ever smaller steps. */
function searched(samples: readonly PoseSample[], start: Truth): Truth {
  let best = start
  for (let [turn, lift] = [4, 0.2]; turn > 1e-5; turn /= 2, lift /= 2)
    for (let isBetter = true; isBetter; ) {
      isBetter = false
      for (const [dh, factor] of [
        [turn, 1],
        [-turn, 1],
        [0, 1 + lift],
        [0, 1 / (1 + lift)],
      ] as const) {
        const next = { headingDeg: best.headingDeg + dh, height: best.height * factor }
        if (costOf(next, samples) < costOf(best, samples) - 1e-12) [best, isBetter] = [next, true]
      }
    }
  return best
}

const apart = (one: number, other: number) => Math.abs(((one - other + 540) % 360) - 180)

t.test('3A.plans.samples without noise heading and height are those of the camera', async () => {
  fc.assert(
    fc.property(camera, fc.array(place, { minLength: 1, maxLength: 24 }), (truth, places) => {
      const samples = places.map((place) => sampleOf(truth, place, [0, 0]))
      const { headingDeg, height, leftOut, residualDeg } = fitPose(at, samples)
      return (
        apart(headingDeg, truth.headingDeg) < 1e-6 &&
        Math.abs((height ?? 0) - truth.height) < 1e-5 * truth.height &&
        residualDeg < 1e-6 &&
        !leftOut.includes(true)
      )
    }),
    { numRuns: 300 },
  )
})

t.test('3A.plans.samples with noise they are those that a search finds', async () => {
  fc.assert(
    fc.property(camera, places, shaky, (truth, places, shaky) => {
      const samples = places.map((place, index) =>
        sampleOf(truth, place, [(shaky[index]?.[0] ?? 0) * 0.8, (shaky[index]?.[1] ?? 0) * 0.5]),
      )
      const fit = fitPose(at, samples)
      const found = searched(samples, truth)
      const own = { headingDeg: fit.headingDeg, height: fit.height ?? 0 }
      const rms = (cost: number) => Math.sqrt(cost / samples.length)
      return (
        !fit.leftOut.includes(true) &&
        Math.abs(rms(costOf(own, samples)) - fit.residualDeg) < 0.02 &&
        rms(costOf(own, samples)) <= rms(costOf(found, samples)) * 1.01 + 0.002 &&
        apart(fit.headingDeg, truth.headingDeg) < 1
      )
    }),
    { numRuns: 150 },
  )
})

t.test('3A.plans.samples one bad sample among good ones is left out, whatever is wrong with it', async () => {
  const bad = fc.oneof(
    fc.record({ pan: fc.integer({ min: 15, max: 345 }), tilt: fc.constant(0), far: fc.constant(1) }),
    fc.record({ pan: fc.constant(0), tilt: fc.constant(0), far: fc.constantFrom(0.2, 5) }),
  )
  fc.assert(
    fc.property(camera, fc.array(place, { minLength: 4, maxLength: 10 }), shaky, bad, (truth, good, shaky, bad) => {
      const shake = (index: number) => [(shaky[index]?.[0] ?? 0) * 0.3, (shaky[index]?.[1] ?? 0) * 0.3] as const
      const samples = good.map((place, index) => sampleOf(truth, place, shake(index)))
      const lost = { bearing: 77 + bad.pan, distance: 150 }
      const right = sampleOf(truth, { ...lost, distance: 150 * bad.far }, [0, 0])
      const wrong = { ...right, plan: sampleOf(truth, { bearing: 77, distance: 150 }, [0, 0]).plan }
      const { headingDeg, height, leftOut, residualDeg } = fitPose(at, [...samples, wrong])
      const isFarOff =
        bad.pan !== 0 ||
        Math.abs(Math.atan(truth.height / 150) - Math.atan(truth.height / (150 * bad.far))) / RADIANS > 8
      return (
        !isFarOff ||
        (leftOut.at(-1) === true &&
          leftOut.filter(Boolean).length === 1 &&
          apart(headingDeg, truth.headingDeg) < 0.5 &&
          Math.abs((height ?? 0) - truth.height) < 0.06 * truth.height + 1 &&
          residualDeg < 1)
      )
    }),
    { numRuns: 300 },
  )
})

t.test('3A.plans.samples of the north on both sides the mean is the north', async (t) => {
  const truth = { headingDeg: 0, height: 100 }
  const samples = [-0.9, 0.9].map((pan) => sampleOf(truth, { bearing: 90, distance: 200 }, [pan, 0]))
  const { headingDeg } = fitPose(at, samples)
  t.ok(apart(headingDeg, 0) < 1e-9)
  t.ok(headingDeg >= 0 && headingDeg < 360)
})

t.test('3A.plans.samples where none looks down the heading alone is known', async (t) => {
  const level = { position: { pan: 10, tilt: 0, zoom: 0 }, plan: [600, 300] as const }
  t.match(fitPose(at, [level]), { headingDeg: 80, height: null, residualDeg: 0 })
  const straightDown = { position: { pan: 10, tilt: -90, zoom: 0 }, plan: [600, 300] as const }
  t.equal(fitPose(at, [straightDown]).height, null)
  t.throws(() => fitPose(at, [{ ...level, plan: at }]), {
    code: 'bad_points',
    message: /^Sample 1 is where the camera/,
  })
})

t.test('3A.plans.aim a camera that is aimed at a place looks at it, within the turns it can make', async () => {
  fc.assert(
    fc.property(
      camera,
      place,
      fc.constantFrom([-180, 180], [0, 360], [-350, 350]),
      (pose, place, [min = 0, max = 0]) => {
        const { plan } = sampleOf(pose, place, [0, 0])
        const { bearingDeg, pan, tilt } = aimAt(at, pose, plan, { min, max })
        const seen = lookedAt(at, pose, { pan, tilt: tilt ?? 0 }) ?? [0, 0]
        return (
          Math.hypot(seen[0] - plan[0], seen[1] - plan[1]) < 1e-6 &&
          pan >= min &&
          pan <= max &&
          apart(bearingDeg, bearingOf(at, plan)) < 1e-9 &&
          apart(bearingAt(pose, pan), bearingDeg) < 1e-9
        )
      },
    ),
  )
})

t.test(
  '3A.plans.aim what it cannot reach is aimed at as nearly as it can be, and a place below it at none',
  async (t) => {
    const pose = { headingDeg: 0, height: 100 }
    t.match(
      aimAt(at, pose, [400, 500], { min: -90, max: 100 }),
      { bearingDeg: 180, pan: 180 },
      '80 past one end, 90 past the other',
    )
    t.match(aimAt(at, { ...pose, height: null }, [600, 300], { min: -90, max: 100 }), {
      bearingDeg: 90,
      pan: 90,
      tilt: null,
    })
    t.throws(() => aimAt(at, pose, [400.5, 300], { min: -180, max: 180 }), { code: 'bad_points' })
  },
)

t.test('3A.plans.looking at the horizon, above it and without a height there is no place', async (t) => {
  const pose = { headingDeg: 90, height: 100 }
  for (const tilt of [0, 1, 90, -0.05]) t.equal(lookedAt(at, pose, { pan: 0, tilt }), null)
  t.equal(lookedAt(at, { ...pose, height: null }, { pan: 0, tilt: -45 }), null)
  const [x, y] = lookedAt(at, pose, { pan: 0, tilt: -45 }) ?? [0, 0]
  t.ok(Math.hypot(x - 500, y - 300) < 1e-9)
  const below = lookedAt(at, pose, { pan: 0, tilt: -90 }) ?? [0, 0]
  t.ok(Math.hypot(below[0] - at[0], below[1] - at[1]) < 1e-9, 'straight down is where it stands')
})
