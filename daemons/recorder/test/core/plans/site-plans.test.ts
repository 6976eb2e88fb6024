import t from 'tap'
import { jpeg, png, vp8, webp } from '#kit/test/pictures.ts'
import type { PlacementWish } from '../../../core/plans/placement.ts'
import { createSitePlans, type PlanChange, type PlansRecord } from '../../../core/plans/site-plans.ts'

const boss = { cameras: 'all' } as const
const guard = { cameras: ['door'] }

const limits = { plans: 3, imageBytes: 8_388_608, totalBytes: 2000 }

function stage(record: PlansRecord = { plans: [], placements: {} }) {
  let ids = 0
  const disk = { saved: record, isFull: false, swept: 0, pictures: 0 }
  const changes: PlanChange[] = []
  const plans = createSitePlans({
    ...{ record, limits, newId: () => `p${++ids}`, onChange: (change) => changes.push(change) },
    async save(next) {
      if (disk.isFull) throw new Error('the disk is full')
      disk.saved = next
    },
    pictures: {
      put: async (_, kind) => `${++disk.pictures}.${kind}`,
      sweep: async () => void disk.swept++,
    },
  })
  const told = () => changes.splice(0).map((change) => [change.cameraId, change.isFor(boss), change.isFor(guard)])
  return { disk, plans, told }
}

const at = (planId: string, more: Partial<PlacementWish> = {}): PlacementWish => ({
  ...{ planId, x: 20, y: 10, headingDeg: 90, hfovDeg: 70, rangePx: 15 },
  ...more,
})

const points = [
  { picture: [0.2, 0.4], plan: [10, 10] },
  { picture: [0.8, 0.4], plan: [30, 10] },
  { picture: [0.9, 0.9], plan: [30, 18] },
  { picture: [0.1, 0.9], plan: [10, 18] },
] as const

/** Of a camera at 20, 10 that looks to the right at pan 0 from 5 pixels up. */
const samples = [
  { position: { pan: 0, tilt: -45, zoom: 0 }, plan: [25, 10] },
  { position: { pan: 90, tilt: -45, zoom: 0 }, plan: [20, 15] },
] as const

t.test('3A.plans.post a plan is as large as its image, a JPEG or PNG of at most 8000 pixels on a side', async (t) => {
  const { plans } = stage()
  t.match(await plans.add('Ground', png(40, 20)), { id: 'p1', name: 'Ground', width: 40, height: 20, picture: '1.png' })
  t.match(await plans.add('Upper', jpeg(8000, 8000)), { width: 8000, height: 8000, picture: '2.jpg' })
  for (const [bytes, message] of [
    [jpeg(8001, 10), /8001 by 10 pixels; 8000 are allowed/],
    [jpeg(10, 8001), /10 by 8001/],
    [webp(vp8(10, 10)), /WebP. PNG and JPEG are taken/],
    [Buffer.from('<svg/>'), /PNG/],
    [png(40, 20).subarray(0, 40), /ends in the middle/],
  ] as const)
    await t.rejects(plans.add('x', bytes), { code: 'bad_plan_image', message })
  t.same(plans.limits.points, { least: 4, most: 24 })
  t.match(plans.limits, { bytes: 8_388_608, pixels: 8000, placement: { hfovDeg: { least: 1, most: 360 } } })
})

t.test('plans are bounded in number and in bytes, and one that is replaced makes room for itself', async (t) => {
  const { plans } = stage()
  const note = Buffer.alloc(900)
  const large = (width: number) => Buffer.concat([jpeg(width, 10).subarray(0, -2), note, jpeg(1, 1).subarray(-2)])
  const { id } = await plans.add('1', large(10))
  await plans.add('2', large(11))
  await t.rejects(plans.add('3', large(12)), { code: 'too_many_plans', message: /plans.total_bytes allows 2000/ })
  await plans.replaceImage(id, large(13))
  await plans.remove(id)
  await plans.add('3', png(1, 1))
  await plans.add('4', png(1, 2))
  await t.rejects(plans.add('5', png(1, 3)), { code: 'too_many_plans', message: /There are 3 plans/ })
})

t.test('3A.plans.delete a plan that goes takes every camera off it, and its image goes too', async (t) => {
  const { disk, plans, told } = stage()
  const [one, other] = [await plans.add('Ground', png(40, 20)), await plans.add('Upper', png(40, 20))]
  await plans.place('door', at(one.id))
  await plans.place('yard', at(other.id))
  told()
  await plans.remove(one.id)
  t.equal(plans.placementOf('door'), undefined)
  t.match(plans.placementOf('yard'), { planId: other.id })
  t.same(told(), [[undefined, true, true]], 'also those are told who saw it before')
  t.equal(disk.swept, 1)
  t.same(Object.keys(disk.saved.placements), ['yard'])
  await t.rejects(plans.remove(one.id), { code: 'unknown_plan' })
  await t.rejects(plans.place('door', at(one.id)), { code: 'unknown_plan' })
})

t.test('A.authentication.7 a plan without a camera that an account may see is none that it knows', async (t) => {
  const { plans, told } = stage()
  const { id } = await plans.add('Ground', png(40, 20))
  t.same(told(), [[undefined, true, false]])
  t.same(plans.seenBy(guard), [])
  t.throws(() => plans.require(id, guard), { code: 'unknown_plan' })
  await plans.place('yard', at(id))
  t.same(told(), [['yard', true, false]])
  t.same(plans.seenBy(guard), [])
  await plans.place('door', at(id))
  t.same(told(), [['door', true, true]])
  t.match(plans.seenBy(guard), [{ id }])
  t.equal(plans.require(id, guard).name, 'Ground')
  await plans.rename(id, 'Lobby')
  t.same(told(), [[undefined, true, true]])
  t.match(plans.seenBy(boss), [{ name: 'Lobby' }])
})

t.test('3A.plans.image pins are scaled along with a new image, and calibrations are dropped', async (t) => {
  const { plans } = stage()
  const [{ id }, other] = [await plans.add('Ground', png(40, 20)), await plans.add('Upper', png(40, 20))]
  await plans.place('door', at(id))
  await plans.fitPoints('door', points)
  await plans.place('yard', at(other.id))
  t.match(await plans.replaceImage(id, jpeg(80, 60)), { id, name: 'Ground', width: 80, height: 60 })
  const { rangePx, ...rest } = plans.requirePlacement('door')
  t.same(rest, { planId: id, x: 40, y: 30, headingDeg: 90, hfovDeg: 70, calibration: null })
  t.ok(Math.abs(rangePx - 15 * Math.sqrt(6)) < 1e-9)
  t.match(plans.placementOf('yard'), { x: 20, y: 10, rangePx: 15 })
  await t.rejects(plans.replaceImage('p9', png(1, 1)), { code: 'unknown_plan' })
})

t.test('3A.plans.image a camera at the edge stays on the plan, whatever size that gets', async (t) => {
  const { plans } = stage()
  for (const [from, to] of [
    [15, 8000],
    [29, 8000],
    [53, 8000],
    [49, 1],
  ] as const) {
    const { id } = await plans.add('Ground', png(from, 1))
    await plans.place('door', at(id, { x: from, y: 1 }))
    await plans.replaceImage(id, png(to, 1))
    t.match(plans.placementOf('door'), { x: to, y: 1 }, `${from} to ${to}`)
    await plans.remove(id)
  }
})

t.test('3A.plans.place a camera beside the plan is refused, and null takes it off', async (t) => {
  const { plans, told } = stage()
  const { id } = await plans.add('Ground', png(40, 20))
  await t.rejects(plans.place('door', at(id, { x: 41 })), {
    code: 'beside_plan',
    message: 'The camera would be at 41, 10, beside the plan, which is 40 by 20 pixels large.',
  })
  await plans.place('door', at(id, { x: 40, y: 20 }))
  t.equal(await plans.place('door', null), undefined)
  t.equal(plans.placementOf('door'), undefined)
  told()
  await plans.place('door', null)
  t.same(told(), [], 'nothing changed')
})

t.test('3A.plans.points a fit says how far each point is off, and an empty list clears it', async (t) => {
  const { plans } = stage()
  await t.rejects(plans.fitPoints('door', points), { code: 'not_on_plan' })
  const { id } = await plans.add('Ground', png(40, 20))
  await plans.place('door', at(id))
  const fit = await plans.fitPoints('door', points)
  t.equal(fit?.errorsPx.length, 4)
  t.ok((fit?.residualPx ?? 1) < 1e-9)
  t.match(plans.placementOf('door'), { calibration: { kind: 'homography', points, residualPx: fit?.residualPx ?? 0 } })
  const beside = [points[0], { picture: [0.8, 0.4], plan: [30, 21] } as const, points[2], points[3]]
  await t.rejects(plans.fitPoints('door', beside), {
    code: 'beside_plan',
    message: /^Point 2 would be at 30, 21, beside/,
  })
  t.match(plans.placementOf('door'), { calibration: { points } }, 'what is refused changes nothing')
  await plans.place('door', at(id, { x: 5, headingDeg: 0 }))
  t.match(plans.placementOf('door'), { calibration: { points } }, 'a pin that moves on its plan keeps its points')
  t.equal(await plans.fitSamples('door', []), null)
  t.match(plans.placementOf('door'), { calibration: { points } }, 'no samples made it')
  t.equal(await plans.fitPoints('door', []), null)
  t.match(plans.placementOf('door'), { calibration: null })
})

t.test('3A.plans.samples they hold as seen from where the camera is: one that moves is fitted anew', async (t) => {
  const { plans } = stage()
  const { id } = await plans.add('Ground', png(40, 20))
  const upper = await plans.add('Upper', png(40, 20))
  await plans.place('door', at(id))
  const fit = await plans.fitSamples('door', samples)
  t.ok(Math.abs((fit?.headingDeg ?? 0) - 90) < 1e-9)
  t.ok(Math.abs((fit?.height ?? 0) - 5) < 1e-9)
  await plans.place('door', at(id, { x: 18 }))
  const moved = plans.requirePlacement('door').calibration
  t.match(moved, { kind: 'ptz', samples })
  t.ok(moved?.kind === 'ptz' && moved.residualDeg > 5)
  await plans.place('door', at(id, { x: 25 }))
  t.match(plans.placementOf('door'), { calibration: null }, 'a camera cannot be aimed at itself')
  await plans.fitPoints('door', points)
  await plans.place('door', at(upper.id))
  t.match(plans.placementOf('door'), { calibration: null }, 'nothing holds on another plan')
})

t.test('what could not be saved has not happened, and what cameras leave behind goes with them', async (t) => {
  const { disk, plans, told } = stage()
  const { id } = await plans.add('Ground', png(40, 20))
  await plans.place('door', at(id))
  told()
  disk.isFull = true
  await t.rejects(plans.place('door', at(id, { x: 1 })), { message: 'the disk is full' })
  await t.rejects(plans.rename(id, 'x'), { message: 'the disk is full' })
  t.match(plans.placementOf('door'), { x: 20 })
  t.equal(plans.require(id, boss).name, 'Ground')
  t.same(told(), [])
  disk.isFull = false
  await plans.camerasAre(['yard', 'door'])
  t.same(told(), [])
  await plans.camerasAre(['yard'])
  t.same(told(), [['door', true, true]])
  t.same(disk.saved.placements, {})
})

t.test('a placement with as many points as there may be takes 16 KiB at most', async (t) => {
  const { disk, plans } = stage()
  const { id } = await plans.add('Ground', png(40, 20))
  await plans.place('door', at(id))
  const many = Array.from({ length: 24 }, (_, step) => ({
    position: { pan: 360 * Math.cos(step), tilt: -89.123456789 * Math.abs(Math.sin(step)), zoom: Math.PI / 4 },
    plan: [21.5 + 15 * Math.abs(Math.sin(step)), 5 + Math.abs(5 * Math.cos(step))] as const,
  }))
  await plans.fitSamples('door', many)
  // A number takes less memory than its 20 signs, an object less than three times that.
  t.ok(JSON.stringify(disk.saved.placements).length * 4 < 16_384)
})
