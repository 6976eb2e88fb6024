/** Tests of web/plan-shapes.ts. */
import t from 'tap'
import {
  conePath,
  firstPlacement,
  fittingOf,
  movedTo,
  spotAt,
  turnedBy,
  turnedTo,
  turnSpot,
} from '../../web/plan-shapes.ts'

const plan = { id: 'p', name: 'Ground', width: 400, height: 300 }
const placement = { ...firstPlacement(plan), x: 100, y: 200, headingDeg: 90, hfovDeg: 90, rangePx: 50 }
const range = { least: 1, most: 16_000 }
const near = (one: readonly number[], other: readonly number[]) =>
  one.every((value, at) => Math.abs(value - (other[at] ?? 0)) < 0.06)

t.test('a cone opens to where the camera looks, clockwise from up', async (t) => {
  t.ok(near(spotAt([100, 200], 0, 50), [100, 150]))
  t.ok(near(spotAt([100, 200], 90, 50), [150, 200]))
  const numbers =
    conePath(placement)
      .match(/-?\d+(\.\d+)?/g)
      ?.map(Number) ?? []
  t.ok(near(numbers.slice(0, 4), [100, 200, 135.36, 164.64]), 'from the camera to its left end')
  t.ok(near(numbers.slice(-2), [135.36, 235.36]), 'to its right end')
  t.notMatch(conePath({ ...placement, hfovDeg: 360 }), /L/, 'a camera that sees all round has no ends')
})

t.test('a camera is turned by its end, stays on the plan, and is put in the middle first', async (t) => {
  t.ok(near(turnSpot(placement, plan), [150, 200]))
  t.ok(turnSpot({ ...placement, rangePx: 900 }, plan)[0] < 400, 'an end beside the plan is held at its edge')
  t.match(turnedTo(placement, [100, 160], range), { headingDeg: 0, rangePx: 40 })
  t.match(turnedTo(placement, [60, 200], range), { headingDeg: 270, rangePx: 40 })
  t.match(turnedTo(placement, [100, 200], range), { headingDeg: 90, rangePx: 1 }, 'at itself there is no direction')
  t.equal(turnedBy({ ...placement, headingDeg: 5 }, -30).headingDeg, 335)
  t.match(movedTo(placement, [-20, 500], plan), { x: 0, y: 300 })
  t.match(firstPlacement(plan), { planId: 'p', x: 200, y: 150, rangePx: 90, calibration: null })
})

t.test('a fit is judged by how large the plan is', async (t) => {
  t.same(
    [2, 9, 30].map((px) => fittingOf(px, plan)),
    ['well', 'roughly', 'badly'],
  )
})
