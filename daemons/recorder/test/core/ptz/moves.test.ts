import t from 'tap'
import { heapBytesOf } from '#kit/test/heap.ts'
import type { By } from '../../../core/ptz/moves.ts'
import { faultText } from '../../peer/onvif-text.ts'
import { ann, CAMERA, ptzStage } from './ptz-stage.ts'

const right = { speed: { pan: 1, tilt: 0, zoom: 0 }, durationMs: undefined }
const here = () => new AbortController().signal

t.test('A.ptz.move a camera turns while it is told to, and is stopped when nobody says so any more', async (t) => {
  const { camera, clock, moves, told, writes } = ptzStage()
  t.equal(await moves.move(CAMERA, { ...right, durationMs: 500 }, ann, here()), 500)
  t.match(camera.told.at(-1)?.text, /<Timeout>PT0.5S</, 'it is told how long as well')
  await clock.run(300)
  await moves.move(CAMERA, right, ann, here())
  await clock.run(700)
  t.ok(camera.isMoving(), 'said again it goes on')
  t.same(writes.of(CAMERA, 9), [], 'nothing is written while it lasts')
  await clock.run(200)
  t.equal(camera.isMoving(), false)
  t.same(told('ContinuousMove', 'Stop'), ['ContinuousMove', 'ContinuousMove', 'Stop'])
  t.match(writes.of(CAMERA, 9), [
    { operation: 'ptz_move', performedBy: 'ann', detail: { pan: 1, times: 2, seconds: 1.1, ended: 'time' } },
  ])
})

t.test('A.ptz.stop a stop overtakes a command that hangs, and comes again behind it', async (t) => {
  const stage = ptzStage({ keepsTimeout: false })
  const { camera, clock, moves, told, writes } = stage
  await moves.presets(CAMERA)
  const late = Promise.withResolvers<void>()
  stage.delay = (name) => (name === 'ContinuousMove' ? late.promise : undefined)
  const [first, second] = [1, 2].map(() => moves.move(CAMERA, right, ann, here()))
  await clock.run(0)
  const stopped = moves.stop(CAMERA, ann)
  await clock.run(500)
  await stopped
  t.same(told('ContinuousMove', 'Stop'), ['Stop'])
  late.resolve()
  await Promise.all([first, second])
  await clock.run(0)
  t.same(told('ContinuousMove', 'Stop'), ['Stop', 'ContinuousMove', 'Stop'], 'what waited was not sent')
  t.equal(camera.isMoving(), false)
  t.match(writes.of(CAMERA, 9), [{ detail: { ended: 'stopped' } }])
  await moves.stop(CAMERA, ann)
  t.match(writes.of(CAMERA, 1), [{ operation: 'ptz_stop', performedBy: 'ann' }])
})

t.test('A.ptz a camera that says by a fault that it does not know where it looks turns all the same', async (t) => {
  const { camera, moves } = ptzStage({ peer: { instead: { GetStatus: faultText('ter:NoStatus', 'No status') } } })
  t.same(await moves.look(CAMERA), { position: null, isMoving: undefined })
  await moves.move(CAMERA, right, ann, here())
  t.ok(camera.isMoving())
})

t.test('a move whose client is gone before it is answered is stopped', async (t) => {
  const { camera, clock, moves, writes } = ptzStage()
  const gone = new AbortController()
  await moves.presets(CAMERA)
  const moved = moves.move(CAMERA, right, ann, gone.signal)
  gone.abort()
  await moved
  await clock.run(0)
  t.equal(camera.isMoving(), false)
  t.match(writes.of(CAMERA, 9), [{ detail: { ended: 'gone' } }])
})

t.test('what a recorder that was killed left moving is stopped when it starts again, and at its end', async (t) => {
  const open = [{ camera: CAMERA, at: 1_900_000_000_000 - 5000, by: 'ann', speed: right.speed }]
  const stage = ptzStage({ keepsTimeout: false }, open)
  const { camera, clock, moves, writes } = stage
  camera.answer('ContinuousMove', '<PanTilt x="1" y="0"/>')
  moves.start()
  await clock.run(0)
  t.equal(camera.isMoving(), false)
  t.match(writes.of(CAMERA, 9), [
    { operation: 'ptz_move', performedBy: 'ann', detail: { seconds: 5, ended: 'restart' } },
  ])
  t.same(stage.saved, [])
  await moves.move(CAMERA, right, ann, here())
  t.match(stage.saved, [{ camera: CAMERA, by: 'ann' }], 'it is on disk while it moves')
  await moves.close()
  t.equal(camera.isMoving(), false)
  t.match(writes.of(CAMERA, 1), [{ detail: { ended: 'shutdown' } }])
})

t.test('a stop that the camera does not take is tried again, and told', async (t) => {
  const stage = ptzStage({ refuses: new Set(['Stop']) })
  let tries = 0
  stage.delay = (name) => {
    if (name === 'Stop') tries++
    return undefined
  }
  await stage.moves.move(CAMERA, right, ann, here())
  await stage.clock.run(2000)
  t.match(stage.failed, [/does not know/])
  t.equal(tries, 3)
  t.match(stage.writes.of(CAMERA, 9), [{ detail: { ended: 'time', error: /does not know/ } }])
})

t.test('A.ptz.preset a preset is recalled and saved, and each is written down with who did it', async (t) => {
  const presets = new Map([['7', { name: 'Gate', pan: 50, tilt: 0, zoom: 0.5 }]])
  const { camera, clock, moves, writes } = ptzStage({ presets })
  await moves.recall(CAMERA, '7', ann)
  await clock.run(3000)
  t.match(camera.pose(), { pan: 50, tilt: 0, zoom: 0.5 })
  t.same(await moves.save(CAMERA, 'Door', ann), { token: 'p2', name: 'Door' })
  t.same(await moves.presets(CAMERA), [
    { token: '7', name: 'Gate' },
    { token: 'p2', name: 'Door' },
  ])
  await t.rejects(moves.recall(CAMERA, '8', ann), { code: 'unknown_preset', message: /Yard .* "8"/ })
  await t.rejects(moves.recall('none', '7', ann), { code: 'unknown_camera' })
  await clock.run(30_000)
  // The way back of a rule is one write, and says where to also if the camera refuses.
  const back = { kind: 'rule', name: null, operation: 'ptz_return', detail: { rule: 'Night' } } as const
  await moves.recall(CAMERA, '7', back)
  camera.traits.refuses = new Set(['SetPreset', 'GotoPreset'])
  await t.rejects(moves.recall(CAMERA, '7', back), { code: 'onvif_unsupported' })
  await t.rejects(moves.save(CAMERA, 'Hall', ann), { code: 'onvif_unsupported' })
  t.match(writes.of(CAMERA, 9), [
    { operation: 'ptz_preset_saved', detail: { error: /does not know/ } },
    { operation: 'ptz_return', detail: { preset: '7', rule: 'Night', error: /does not know/ } },
    { operation: 'ptz_return', performedBy: null, detail: { preset: '7', presetName: 'Gate', rule: 'Night' } },
    { operation: 'ptz_preset_saved', detail: { preset: 'p2', presetName: 'Door' } },
    { operation: 'ptz_preset', performedBy: 'ann', detail: { preset: '7', presetName: 'Gate' } },
  ])
})

t.test('A.ptz.preset a preset to which it was never sent is not said to be where it looks', async (t) => {
  const presets = new Map([['7', { name: 'Gate', pan: 50, tilt: 0, zoom: 0.5 }]])
  const stage = ptzStage({ presets })
  const { clock, moves, told, writes } = stage
  await moves.presets(CAMERA)
  const late = Promise.withResolvers<void>()
  stage.delay = (name) => (name === 'ContinuousMove' ? late.promise : undefined)
  const moved = moves.move(CAMERA, right, ann, here())
  await clock.run(0)
  const recalled = moves.recall(CAMERA, '7', { kind: 'rule', name: 'bob' })
  const refused = t.rejects(recalled, { code: 'ptz_taken_over' })
  await clock.run(0)
  const stopped = moves.stop(CAMERA, ann)
  late.resolve()
  await Promise.all([moved, stopped, refused])
  t.same(told('GotoPreset'), [])
  t.match(
    writes.of(CAMERA, 9).find(({ operation }) => operation === 'ptz_preset'),
    { detail: { error: /Another command/, preset: '7', presetName: 'Gate' } },
    'where it was to go, and that it did not',
  )
})

t.test('of two who move a camera the later one has it, and the move of the other is over', async (t) => {
  const { clock, moves, writes } = ptzStage()
  await moves.move(CAMERA, right, ann, here())
  await moves.move(CAMERA, right, { kind: 'person', name: 'bob' }, here())
  t.match(writes.of(CAMERA, 9), [{ performedBy: 'ann', detail: { ended: 'taken_over' } }])
  await clock.run(900)
  t.match(writes.of(CAMERA, 1), [{ performedBy: 'bob', detail: { ended: 'time' } }])
})

t.test('A.ptz who steers a camera has it: no rule takes it before the hold is over', async (t) => {
  const presets = new Map([['7', { name: 'Gate', pan: 50, tilt: 0, zoom: 0.5 }]])
  const { clock, moves, told, writes } = ptzStage({ presets })
  const rule: By = { kind: 'rule', name: null, detail: { rule: 'Night' } }
  const pressed: By = { ...rule, name: 'bob' }
  const bob: By = { kind: 'person', name: 'bob' }
  await moves.move(CAMERA, right, ann, here())
  await clock.run(5000)
  t.match(moves.steered(CAMERA), { sentence: /^ann steers the camera, and has it until 30 s after/, forMs: 25_000 })
  await t.rejects(moves.recall(CAMERA, '7', rule), { code: 'ptz_steered' })
  t.match(writes.of(CAMERA, 1), [
    { operation: 'ptz_preset', performedBy: null, detail: { rule: 'Night', preset: '7', error: /^ann steers/ } },
  ])
  await t.rejects(
    moves.within(CAMERA, rule, async () => {}),
    { code: 'ptz_steered' },
  )
  t.same(told('GotoPreset'), [])
  await moves.recall(CAMERA, '7', pressed)
  await moves.recall(CAMERA, '7', bob)
  t.same(told('GotoPreset').length, 2, 'who presses a button is a person')
  await clock.run(29_999)
  await t.rejects(moves.recall(CAMERA, '7', rule), { message: /^bob steers/ })
  await clock.run(1)
  t.equal(moves.steered(CAMERA), undefined)
  await moves.recall(CAMERA, '7', rule)
  t.same(told('GotoPreset').length, 3)
})

t.test('A.ptz nothing that moves by itself ends what a person has begun', async (t) => {
  const presets = new Map([['7', { name: 'Gate', pan: 50, tilt: 0, zoom: 0.5 }]])
  const { clock, moves } = ptzStage({ presets })
  const over = Promise.withResolvers<boolean>()
  const trained = moves.within(CAMERA, ann, async (signal) => {
    await over.promise
    return signal.aborted
  })
  await clock.run(200_000)
  for (const kind of ['rule', 'patrol', 'follow'] as const)
    await t.rejects(moves.recall(CAMERA, '7', { kind, name: null }), { code: 'ptz_steered' }, kind)
  t.ok(moves.isBusy(CAMERA))
  over.resolve(true)
  t.equal(await trained, false, 'it went on')
  t.match(moves.steered(CAMERA), { forMs: 30_000 }, 'the hold begins at its end')
  await moves.recall(CAMERA, '7', { kind: 'patrol', name: null })
  const next = Promise.withResolvers<void>()
  const aimed = moves.within(CAMERA, ann, async (signal) => {
    await next.promise
    return signal.aborted
  })
  await clock.run(0)
  await moves.recall(CAMERA, '7', { kind: 'person', name: 'bob' })
  next.resolve()
  t.equal(await aimed, true, 'another person has it')
})

t.test('A.follow a position that nobody wants any more is not sent', async (t) => {
  const { moves, told } = ptzStage()
  await moves.scale(CAMERA)
  let isWanted = true
  const sent = moves.send(CAMERA, { pan: 1, tilt: 0, zoom: 0 }, () => isWanted)
  isWanted = false
  t.equal(await sent, undefined)
  t.same(told('AbsoluteMove'), [])
})

t.test('what is known of a camera that turns takes no more than its row in the memory plan', async (t) => {
  const many = 20
  const bytes = await heapBytesOf(async () => {
    const stages = Array.from({ length: many }, () => ptzStage({ byView: { min: -1, max: 1 } }))
    for (const { moves } of stages) await moves.move(CAMERA, right, ann, here())
    return stages
  })
  t.ok(bytes < many * (256 - 3 * 36) * 1024, `${bytes} bytes`)
})
