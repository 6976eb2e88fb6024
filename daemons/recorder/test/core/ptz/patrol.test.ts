import t from 'tap'
import { type PatrolState, Patrols, patrolStateTable } from '../../../core/ptz/patrol.ts'
import { createPtzBook, type PatrolRecord, type PtzRecord } from '../../../core/ptz/ptz-book.ts'
import { ann, CAMERA, ptzStage } from './ptz-stage.ts'

const presets = () =>
  new Map(['1', '2'].map((token, at) => [token, { name: `P${token}`, pan: at * 10, tilt: 0, zoom: 0 }] as const))
const wish = {
  steps: ['1', '2'].map((preset) => ({ preset, presetName: `P${preset}`, dwellSeconds: 10 })),
  ...{ enabled: true, schedule: null, resumeAfterSeconds: 30 },
}

function stage(records: PtzRecord[] = [], of = ptzStage({ presets: presets() })) {
  let saved = records
  const book = createPtzBook(records, async (next) => {
    saved = next
  })
  const world = { why: null as string | null, told: 0 }
  const patrols = new Patrols({
    ...{ clock: of.clock, moves: of.moves, book, zone: () => 'UTC', whyNot: () => world.why },
    onChange: () => void world.told++,
    onUnsaved: (fault) => t.fail(String(fault)),
  })
  patrols.start()
  const steps = () => of.camera.told.filter(({ name }) => name === 'GotoPreset').length
  return { ...of, book, patrols, saved: () => saved, steps, world, state: () => patrols.status(CAMERA).state }
}

t.test('A.patrol the table of its states is that of the interface document, row by row', async (t) => {
  const rows: [PatrolState, keyof (typeof patrolStateTable)[PatrolState], PatrolState][] = [
    ['running', 'command', 'paused'],
    ['running', 'pause', 'held'],
    ['paused', 'pause', 'held'],
    ['held', 'resume', 'running'],
    ['running', 'notDue', 'waiting'],
    ['paused', 'notDue', 'waiting'],
    ['waiting', 'due', 'running'],
    ['paused', 'timeUp', 'running'],
    ['paused', 'resume', 'running'],
    ['paused', 'command', 'paused'],
    ['off', 'enabled', 'waiting'],
    ['waiting', 'pause', 'held'],
  ]
  for (const [from, event, to] of rows) t.equal(patrolStateTable[from][event], to, `${from} ${event}`)
  for (const state of ['waiting', 'running', 'paused', 'held'] as const)
    t.equal(patrolStateTable[state].disabled, 'off')
  t.equal(patrolStateTable.held.notDue, undefined, 'held until it is resumed')
  t.equal(patrolStateTable.held.command, undefined)
})

t.test('A.patrol a camera goes from step to step, and each is written down', async (t) => {
  const { clock, patrols, state, steps, world, writes } = stage()
  await patrols.set(CAMERA, wish)
  await clock.run(25_000)
  t.match([state(), steps(), patrols.status(CAMERA).step], ['running', 3, 0])
  t.match(writes.of(CAMERA, 9), [
    { operation: 'ptz_patrol', performedBy: null, detail: { preset: '1', presetName: 'P1', step: 0 } },
    { detail: { preset: '2', step: 1 } },
    { detail: { preset: '1', step: 0 } },
  ])
  t.ok(world.told >= 3)
  await patrols.set(CAMERA, null)
  await clock.run(60_000)
  t.match([state(), steps()], ['off', 3])
})

t.test('A.patrol another command pauses it, and a restart does not end that', async (t) => {
  const first = stage()
  await first.patrols.set(CAMERA, wish)
  await first.clock.run(1000)
  await first.moves.stop(CAMERA, ann)
  const until = first.clock.epochMs() + 30_000
  t.match(first.patrols.status(CAMERA), { state: 'paused', until })
  await first.clock.run(10_000)
  t.equal(first.steps(), 1)
  const later = ptzStage({ presets: presets() })
  later.clock.stepEpoch(first.clock.epochMs() - later.clock.epochMs())
  const again = stage(first.saved(), later)
  t.equal(again.state(), 'paused')
  await again.clock.run(25_000)
  t.equal(again.state(), 'running')
  first.patrols.stop()
  await first.moves.stop(CAMERA, { kind: 'rule', name: 'Gate' })
  t.equal(first.state(), 'paused', 'a rule is a command too')
})

t.test('A.patrol it takes no step while a person trains the camera, for however long', async (t) => {
  const { clock, moves, patrols, state, steps } = stage()
  await patrols.set(CAMERA, wish)
  await clock.run(1000)
  const over = Promise.withResolvers<void>()
  const trained = moves.within(CAMERA, ann, async (signal) => {
    await over.promise
    t.notOk(signal.aborted, 'nobody has taken it')
  })
  await clock.run(100_000)
  t.same([state(), steps()], ['paused', 1])
  over.resolve()
  await trained
  t.match(patrols.status(CAMERA).until, clock.epochMs() + 30_000, 'the pause counts from its end')
  await clock.run(29_000)
  t.equal(steps(), 1)
  await clock.run(2000)
  t.same([state(), steps()], ['running', 2])
})

t.test('A.patrol it is held until it is resumed, across restarts', async (t) => {
  const first = stage()
  await t.rejects(first.patrols.pause(CAMERA), { code: 'patrol_off' })
  await first.patrols.set(CAMERA, wish)
  await first.clock.run(1000)
  await first.patrols.pause(CAMERA)
  t.equal(first.state(), 'held')
  const again = stage(first.saved())
  await again.clock.run(100_000)
  t.match([again.state(), again.steps()], ['held', 0])
  await again.patrols.resume(CAMERA)
  await again.clock.run(100)
  t.match([again.state(), again.steps()], ['running', 1])
  t.equal(again.saved()[0]?.patrol?.isHeld, false)
})

t.test('A.patrol it waits for its time, and for what keeps the camera, and says why', async (t) => {
  const { camera, clock, patrols, state, steps, world } = stage()
  world.why = 'Somebody is followed.'
  await patrols.set(CAMERA, wish)
  t.match(patrols.status(CAMERA), { state: 'waiting', reason: 'Somebody is followed.', until: null })
  world.why = null
  await clock.run(1000)
  t.match([state(), steps()], ['running', 1])
  camera.traits.refuses = new Set(['GotoPreset'])
  await clock.run(12_000)
  t.match(patrols.status(CAMERA), { state: 'waiting', reason: /did not take a step: The camera/ })
  camera.traits.refuses = new Set()
  await clock.run(45_000)
  t.equal(state(), 'running')
  const record: PatrolRecord = {
    ...wish,
    schedule: { days: [], from: '00:00', to: '00:00' },
    isHeld: false,
    pausedUntil: null,
  }
  await patrols.set(CAMERA, record)
  t.match(patrols.status(CAMERA), { state: 'waiting', reason: /time of its schedule/ })
})
