import t from 'tap'
import { hfovAt } from '../../../core/ptz/geometry.ts'
import { UNITS } from '../../peer/ptz-simulator.ts'
import { aimAt, SPACES } from './aim-points.ts'
import { ann, CAMERA, steeringStage, truthOf } from './ptz-stage.ts'

for (const space of Object.keys(SPACES) as (keyof typeof SPACES)[])
  t.test(`A.ptz.aim what is pointed at comes into the middle, and the picture tells how near: ${space}`, async (t) => {
    const { apart, clamped, corrections, errors, unseen } = await aimAt(space, 8)
    t.same([unseen, clamped, errors.length], [0, 0, 8])
    t.ok((errors.at(-1) ?? 1) < 0.025, `${errors.at(-1)} of the frame`)
    t.ok((apart.at(-1) ?? 1) < 0.02, `told ${apart.at(-1)} apart`)
    t.ok(corrections >= 8, 'no camera came there at once')
  })

t.test('A.ptz.aim a camera zooms as well, tells its limits, and every aim is written down', async (t) => {
  const stage = steeringStage({ pose: { pan: 0, tilt: 20, zoom: 0 } })
  stage.geometry = truthOf(stage.camera)
  const zoomed = await stage.during(stage.steering.aim(CAMERA, { x: 0.3, y: -0.2, zoom: 0.4 }, ann))
  t.match(zoomed, { method: 'absolute', clamped: false, predictedError: 0 })
  t.ok((zoomed.achievedError ?? 1) < 0.02, `${zoomed.achievedError}`)
  t.equal(stage.camera.pose().zoom, 0.4)
  const up = await stage.during(stage.steering.aim(CAMERA, { x: 0, y: 1, zoom: -1 }, ann))
  t.match(up, { clamped: true, corrections: 0 }, 'no further out')
  stage.camera.push({ tilt: 20 })
  const higher = await stage.during(stage.steering.aim(CAMERA, { x: 0, y: 1, zoom: 0 }, ann))
  t.equal(higher.clamped, true)
  t.ok(Math.abs(higher.predictedError - (higher.achievedError ?? 1)) < 0.03, 'as far as its limits were said to be')
  const [last] = stage.writes.of(CAMERA, 1)
  t.match(last, { operation: 'ptz_aim', performedBy: 'ann', detail: { y: 1, method: 'absolute', clamped: true } })
})

t.test('A.ptz.aim a camera without pictures is aimed too, and nothing is said of how near it came', async (t) => {
  const { camera, during, steering } = steeringStage({}, { isDark: true })
  const before = camera.pose()
  t.match(await during(steering.aim(CAMERA, { x: 0.5, y: 0, zoom: 0 }, ann)), { achievedError: null, corrections: 0 })
  t.ok(camera.pose().pan > before.pan + 10)
})

t.test(
  'A.ptz.aim one that goes by its view comes to its end, and one that cannot be sent anywhere says so',
  async (t) => {
    const byView = { min: -1, max: 1 }
    const { during, steering } = steeringStage({ units: undefined, byView, pose: { pan: 175, tilt: 0, zoom: 0 } })
    t.match(await during(steering.aim(CAMERA, { x: 0.8, y: 0, zoom: 0 }, ann)), { method: 'fov', clamped: true })
    const none = steeringStage({ units: undefined })
    await t.rejects(none.during(none.steering.aim(CAMERA, { x: 0, y: 0, zoom: 0 }, ann)), {
      code: 'no_absolute_position',
    })
    await t.rejects(none.steering.goTo(CAMERA, { pan: 0, tilt: 0, zoom: 0 }, ann), { code: 'no_absolute_position' })
  },
)

t.test('a newer command ends an aim, which is written down as well', async (t) => {
  const { clock, during, moves, steering, writes } = steeringStage({ degPerS: 1 })
  const aimed = steering.aim(CAMERA, { x: 1, y: 0, zoom: 0 }, ann)
  aimed.catch(() => {})
  await clock.run(1500)
  await moves.stop(CAMERA, { kind: 'person', name: 'bob' })
  await t.rejects(during(aimed), { code: 'ptz_taken_over' })
  const [aim, stop] = writes.of(CAMERA, 2)
  t.match([aim?.detail.error, stop?.operation], [/stopped|Another command/, 'ptz_stop'])
})

for (const [name, wish] of [
  ['spherical', { units: UNITS.spherical }],
  ['generic', { units: UNITS.generic }],
  ['degrees, down being positive', { units: UNITS.degrees }],
  ['generic, tilting half as far', { units: { ...UNITS.generic, tilt: { min: -1, max: 1 }, tiltPerUnit: 40 } }],
] as const)
  t.test(`how a camera sees is learned by turning it: ${name}`, async (t) => {
    const stage = steeringStage({
      ...wish,
      wideDeg: 52,
      zoomTimes: 8,
      degPerS: 300,
      pose: { pan: 40, tilt: -12, zoom: 0.3 },
    })
    const { camera, during, train } = stage
    const before = camera.pose()
    const learned = await during(train(CAMERA, ann), 100)
    t.equal(learned.widths.length, 6)
    for (const { hfovDeg, zoom } of learned.widths) {
      const truth = camera.hfovAt(zoom)
      t.ok(Math.abs(hfovDeg / truth - 1) < 0.05, `at zoom ${zoom} ${hfovDeg} of ${truth}`)
    }
    t.ok(Math.abs(hfovAt(0.1, learned) / camera.hfovAt(0.1) - 1) < 0.15)
    const { tiltPerUnit } = wish.units
    if (name !== 'spherical')
      t.ok(Math.abs((learned.tiltPerUnit ?? 0) / tiltPerUnit - 1) < 0.1, `${learned.tiltPerUnit}`)
    await stage.clock.run(3000)
    const after = camera.pose()
    t.ok(
      Math.abs(after.pan - before.pan) + Math.abs(after.tilt - before.tilt) + Math.abs(after.zoom - before.zoom) < 0.01,
    )
    t.equal(stage.geometry?.kind, 'trained')
    t.match(stage.writes.of(CAMERA, 1), [{ operation: 'ptz_train', performedBy: 'ann' }])
  })

t.test('a camera that shows nothing learns nothing, and is brought back', async (t) => {
  const { during, train, writes } = steeringStage({}, { isDark: true })
  await t.rejects(during(train(CAMERA, ann)), { code: 'training_failed', message: /no picture/ })
  t.match(writes.of(CAMERA, 1), [{ operation: 'ptz_train', detail: { error: /no picture/ } }])
})
