import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { until } from '#kit/test/until.ts'
import type { CameraRecord } from '../../../core/cameras/book.ts'
import type { ClockCheck } from '../../../core/clocks/camera-clock.ts'
import { createClockSync } from '../../../core/clocks/clock-sync.ts'

const HOUR_MS = 3_600_000
const right: ClockCheck = {
  ...{ driftSeconds: 0, isZoneRight: true, isServerRight: true, isTimeRight: true },
  ...{ isRight: true, isOurs: false },
}
const late: ClockCheck = { ...right, driftSeconds: -90, isTimeRight: false, isRight: false, isOurs: true }

function stage(isEnabled = true) {
  const clock = fakeClock()
  const state: Record<string, ClockCheck | Fault> = { one: late, two: right }
  const looks: string[] = []
  const sets: string[] = []
  const found = new Map<string, string | null>()
  const traits = { lies: false, refuses: false, saved: isEnabled }
  const camera = (id: string, more: object = {}) =>
    ({ id, name: id, enabled: true, onvif: {}, ...more }) as CameraRecord
  const cameras = [camera('one'), camera('two'), camera('off', { enabled: false }), camera('plain', { onvif: null })]
  const sync = createClockSync({
    ...{ clock, isEnabled, everyMs: HOUR_MS, cameras: () => cameras },
    clocks: {
      async check({ id }) {
        looks.push(id)
        const is = state[id]
        if (!is || is instanceof Fault) throw is ?? new TypeError(`${id} is not to be asked`)
        return is
      },
      async set({ id }, wish, performedBy) {
        t.same([wish, performedBy], [{ switchToManual: false }, null])
        sets.push(id)
        if (traits.refuses) throw new Fault('onvif_failed', 'It does not do that.')
        if (!traits.lies) state[id] = right
        return {} as never
      },
    },
    async save(wanted) {
      traits.saved = wanted
    },
    onFound: ({ id }, sentence) => void found.set(id, sentence),
  })
  sync.start()
  /** Until both cameras have been looked at. */
  async function hour() {
    const before = looks.filter((id) => id === 'two').length
    clock.advance(HOUR_MS)
    await until('all are looked at', () => looks.filter((id) => id === 'two').length > before)
    await new Promise(setImmediate)
  }
  return { clock, cameras, found, hour, looks, sets, state, sync, traits }
}

t.test('A.clock-sync a clock that is out is corrected on schedule, and one that is right is not', async (t) => {
  const { found, hour, sets } = stage()
  await hour()
  t.same(sets, ['one'])
  t.same(
    [...found],
    [
      ['one', null],
      ['two', null],
    ],
  )
  await hour()
  t.same(sets, ['one'])
})

t.test('A.clock-sync while it is off clocks are read and told, and it is kept', async (t) => {
  const { found, hour, looks, sets, sync, traits } = stage(false)
  await hour()
  t.same([sets, looks], [[], ['one', 'two']])
  t.match(found.get('one'), /1 min(ute)? 30 s.* behind|90 s.* behind/)
  await sync.enable(true)
  await until('it is corrected', () => sets.length > 0)
  t.same([traits.saved, sync.isEnabled()], [true, true])
})

t.test("what is not the recorder's to correct is told alone, and a camera that fails holds up no other", async (t) => {
  const { found, hour, sets, state } = stage()
  state.one = { ...late, isOurs: false, driftSeconds: 5 }
  await hour()
  t.same(sets, [])
  t.match(found.get('one'), /ahead/)
  state.one = new Fault('camera_unreachable', 'It is not there.')
  await hour()
  t.equal(found.get('two'), null)
  state.one = { ...late, isZoneRight: false }
  await hour()
  t.same([sets, found.get('one')], [['one'], null])
})

t.test('A.clock-sync a wrong clock of a camera that refuses to be set is told at once', async (t) => {
  const { found, hour, sets, traits } = stage()
  traits.refuses = true
  await hour()
  t.same(sets, ['one'])
  t.match(found.get('one'), /behind/)
  traits.refuses = false
  await hour()
  t.equal(found.get('one'), null)
})

t.test('a camera that lies is corrected ever more rarely, at once when that is asked for', async (t) => {
  const { hour, sets, sync, traits, found, looks } = stage()
  traits.lies = true
  const corrected: number[] = []
  for (let at = 0; at < 80; at++) {
    const before = sets.length
    await hour()
    if (sets.length > before) corrected.push(at)
  }
  t.same(corrected, [0, 1, 3, 7, 15, 31, 56])
  t.match(found.get('one'), /behind/)
  const before = looks.length
  sync.checkNow()
  await until('all were looked at', () => looks.length >= before + 3)
  t.equal(sets.length, corrected.length + 1)
})

t.test('nothing is asked after the end, and nothing kept of cameras that went', async (t) => {
  const { cameras, clock, hour, looks, sync } = stage()
  await hour()
  cameras.splice(0, 1)
  await hour()
  t.same(looks, ['one', 'one', 'two', 'two'])
  sync.stop()
  clock.advance(10 * HOUR_MS)
  sync.checkNow()
  await new Promise(setImmediate)
  t.equal(looks.length, 4)
})

t.test(
  'A.clock-sync a camera that asks another server is given the recorder, and told of only while that is wanted',
  async (t) => {
    const { found, hour, sets, state, sync, traits } = stage(false)
    const astray = { ...right, isServerRight: false, isRight: false, isOurs: true }
    state.one = astray
    await hour()
    t.same([sets, found.get('one')], [[], null], 'who leaves clocks alone may have another server')
    await sync.enable(true)
    await until('it is corrected', () => sets.length > 0)
    traits.lies = true
    state.one = astray
    await hour()
    t.match(found.get('one'), /does not take the recorder/)
  },
)
