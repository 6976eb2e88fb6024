import t from 'tap'
import { png } from '#kit/test/pictures.ts'
import type { CameraRecord } from '../../../core/cameras/book.ts'
import { type AimOrder, createPlanAiming, type Moves, type PtzWish } from '../../../core/plans/aiming.ts'
import { createSitePlans } from '../../../core/plans/site-plans.ts'

const dome = { id: 'dome', name: 'Dome' } as CameraRecord

/** A PTZ camera that is played: it goes where it is told, as far as it reaches, and knows where it is. */
function playedPtz() {
  const limits = { pan: { min: -170, max: 170 }, tilt: { min: -90, max: 20 } }
  const position = { pan: 0, tilt: -10, zoom: 0.25 }
  const played = { isThere: true, position, orders: [] as AimOrder[], moves: {} as Moves }
  const clamp = (value: number, { max, min }: { min: number; max: number }) => Math.min(max, Math.max(min, value))
  played.moves = {
    geometry: async () => (played.isThere ? { kind: 'calibrated', limits } : undefined),
    position: async () => ({ ...position, hfovDeg: 60 }),
    async goTo(_, { pan, tilt, zoom }: PtzWish, order) {
      const [panned, tilted] = [clamp(pan, limits.pan), clamp(tilt ?? position.tilt, limits.tilt)]
      Object.assign(position, { pan: panned, tilt: tilted, zoom: zoom ?? position.zoom })
      played.orders.push(order)
      const clamped = panned !== pan || (tilt !== null && tilted !== tilt)
      return { method: 'absolute', predictedError: 0, achievedError: 0.01, corrections: 1, clamped }
    },
  }
  return played
}

async function stage() {
  const ptz = playedPtz()
  const plans = createSitePlans({
    ...{ record: { plans: [], placements: {} }, newId: () => 'ground', onChange() {} },
    limits: { plans: 1, imageBytes: 1000, totalBytes: 1_000_000 },
    save: async () => {},
    pictures: { put: async () => '1.png', sweep: async () => {} },
  })
  const aiming = createPlanAiming({ plans, moves: ptz.moves })
  await plans.add('Ground', png(400, 300))
  const place = () => plans.place('dome', { planId: 'ground', x: 200, y: 100, headingDeg: 0, hfovDeg: 60, rangePx: 90 })
  const aim = (x: number, y: number, zoom: number | null = null) =>
    aiming.aim(dome, { point: [x, y], zoom }, { kind: 'person', name: 'ada' })
  return { aiming, aim, place, plans, ptz }
}

/** Of a camera 50 pixels up that looks up the plan at pan 30. */
const samples = [
  { position: { pan: 30, tilt: -45, zoom: 0 }, plan: [200, 50] },
  { position: { pan: 120, tilt: -26.56505117707799, zoom: 0.5 }, plan: [300, 100] },
] as const

t.test('3A.plans.samples a camera whose turning is not known is refused, and can still be cleared', async (t) => {
  const { aiming, place, plans, ptz } = await stage()
  await place()
  ptz.isThere = false
  await t.rejects(aiming.calibrate(dome, samples), { code: 'no_ptz_geometry', message: /^Dome cannot be turned/ })
  ptz.isThere = true
  const fit = await aiming.calibrate(dome, samples)
  t.ok(Math.abs((fit?.headingDeg ?? 0) - 330) < 1e-6)
  t.ok(Math.abs((fit?.height ?? 0) - 50) < 1e-6)
  ptz.isThere = false
  t.equal(await aiming.calibrate(dome, []), null)
  t.match(plans.placementOf('dome'), { calibration: null })
})

t.test(
  '3A.plans.looking the point under the middle of the picture follows the camera, up to the horizon',
  async (t) => {
    const { aiming, place, ptz } = await stage()
    await t.rejects(aiming.look(dome), { code: 'not_on_plan' })
    await place()
    await t.rejects(aiming.look(dome), { code: 'heading_not_calibrated', message: /how Dome stands on the plan/ })
    await aiming.calibrate(dome, samples)
    Object.assign(ptz.position, { pan: 120, tilt: -45 })
    const { bearingDeg, hfovDeg, point, position } = await aiming.look(dome)
    t.ok(Math.hypot((point?.x ?? 0) - 250, (point?.y ?? 0) - 100) < 1e-6)
    t.ok(Math.abs(bearingDeg - 90) < 1e-6)
    t.same([hfovDeg, position], [60, { pan: 120, tilt: -45, zoom: 0.25 }])
    for (const tilt of [0, 10]) {
      Object.assign(ptz.position, { tilt })
      t.match(await aiming.look(dome), { point: null, position: { pan: 120, tilt } })
    }
    ptz.isThere = false
    await t.rejects(aiming.look(dome), { code: 'no_ptz_geometry' })
  },
)

t.test('3A.plans.aim a camera goes where it was told, looks there, and the plan is written down with it', async (t) => {
  const { aim, aiming, place, ptz } = await stage()
  await place()
  await t.rejects(aim(250, 100), { code: 'heading_not_calibrated' })
  await aiming.calibrate(dome, samples)
  const aimed = await aim(300, 150, 0.5)
  t.match(aimed, { method: 'absolute', corrections: 1, achievedError: 0.01, clamped: false, levelOnly: false })
  t.ok(Math.abs(aimed.bearingDeg - (180 - Math.atan2(100, 50) * (180 / Math.PI))) < 1e-6)
  const { point, position } = await aiming.look(dome)
  t.ok(Math.hypot((point?.x ?? 0) - 300, (point?.y ?? 0) - 150) < 1e-6)
  t.equal(position.zoom, 0.5)
  t.match(ptz.orders, [
    { by: { name: 'ada' }, detail: { plan: 'Ground', x: 300, y: 150, bearingDeg: aimed.bearingDeg } },
  ])
  // Ten degrees beyond its stop.
  t.equal((await aim(250, 100 + 50 * Math.sqrt(3))).clamped, true)
  await t.rejects(aim(401, 100), { code: 'beside_plan', message: /beside the plan/ })
  await t.rejects(aim(200, 100), { code: 'bad_points', message: /itself stands/ })
})

t.test('3A.plans.aim where the height is not known the camera is panned alone', async (t) => {
  const { aim, aiming, place, ptz } = await stage()
  await place()
  await aiming.calibrate(dome, [{ position: { pan: 30, tilt: 0, zoom: 0 }, plan: [200, 50] }])
  t.match(await aim(300, 100), { levelOnly: true })
  t.match(ptz.position, { tilt: -10, zoom: 0.25 }, 'tilt and zoom are as they were')
  t.ok(Math.abs(ptz.position.pan - 120) < 1e-6)
  t.match(await aiming.look(dome), { point: null })
})

t.test('3A.plans.aim a camera that is calibrated by points of its picture cannot be aimed', async (t) => {
  const { aim, place, plans } = await stage()
  await place()
  const points = [
    { picture: [0.2, 0.4], plan: [100, 100] },
    { picture: [0.8, 0.4], plan: [300, 100] },
    { picture: [0.9, 0.9], plan: [300, 180] },
    { picture: [0.1, 0.9], plan: [100, 180] },
  ] as const
  await plans.fitPoints('dome', points)
  await t.rejects(aim(250, 100), { code: 'heading_not_calibrated' })
})
