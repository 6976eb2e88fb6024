import t from 'tap'
import { Value } from 'typebox/value'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import type { UnitView } from '../../../core/bus/units.ts'
import { createHistory, type HistoryLimits, historyKeys } from '../../../core/history/history.ts'
import { READER_BYTES } from '../../../core/history/memory.ts'
import { memoryPlan } from '../../../core/memory.ts'
import type { PointView } from '../../../core/points/values.ts'
import { memoryStore } from './memory-store.ts'

const MINUTE_MS = 60_000
/** A whole hour of the epoch, so that slots begin where the test does. */
const START = 1_900_000_800_000

type Known = Pick<PointView, 'name' | 'value' | 'quality'>

/** One port with points and units that the test changes. */
function stage(changes: Partial<HistoryLimits> = {}, store = memoryStore(), startMs = START) {
  const clock = fakeClock(startMs)
  const limits = { ...(Value.Default(historyKeys, {}) as HistoryLimits), ...changes }
  const points = new Map<string, Known>()
  const units: UnitView[] = []
  const faults: (Fault | undefined)[] = []
  const history = createHistory({
    ...{ clock, limits, store },
    ports: () => [{ path: 'bus', points: () => [...points.values()], units: () => units }],
    onFault: (fault) => void faults.push(fault),
  })
  const set = (name: string, value: Known['value'], quality: Known['quality'] = 'good') => {
    points.set(name, { name, value, quality })
    history.hear('bus', { name, value, quality })
  }
  const bucketsOf = async (name: string, wish = {}) => {
    const { series } = await history.points('bus', [name], { step: 60, from: START, ...wish })
    return series.get(name) ?? []
  }
  return { clock, history, points, units, faults, store, set, bucketsOf, limits }
}

t.test(
  'least, mean, greatest and last value of a slot are over time, from the disk and from memory alike',
  async (t) => {
    const { bucketsOf, clock, history, set, store } = stage()
    set('watts', 100)
    history.start()
    await clock.run(15_000)
    set('watts', 500)
    await clock.run(15_000)
    set('watts', 200)
    await clock.run(30_000)
    const first = { at: START, min: 100, mean: 250, max: 500, last: 200, goodMs: MINUTE_MS, recordedMs: MINUTE_MS }
    t.strictSame((await bucketsOf('watts'))[0], first, 'still in memory')
    t.equal(store.state.writes, 0)
    await clock.run(4 * MINUTE_MS)
    t.equal(store.state.writes, 1, 'five slots are one batch')
    t.strictSame((await bucketsOf('watts'))[0], first, 'from the disk')
    await clock.run(20_000)
    const buckets = await bucketsOf('watts')
    t.equal(buckets.length, 6)
    t.match(buckets[5], { min: 200, mean: 200, max: 200, goodMs: 20_000, recordedMs: 20_000 }, 'the slot that runs')
    await history.close()
  },
)

t.test(
  'time without a good value is a gap in the value, and time without a gateway is one in the record',
  async (t) => {
    const { clock, history, set, store } = stage()
    set('level', 7)
    history.start()
    await clock.run(MINUTE_MS)
    set('level', 7, 'stale')
    await clock.run(2 * MINUTE_MS)
    set('level', null, 'bad')
    await clock.run(30_000)
    set('level', 9)
    await clock.run(MINUTE_MS)
    await history.close()
    const later = stage({}, store, START + 10 * MINUTE_MS)
    later.set('level', 5)
    later.history.start()
    await later.clock.run(MINUTE_MS)
    t.match(await later.bucketsOf('level'), [
      { mean: 7, goodMs: MINUTE_MS },
      { mean: null, last: null, goodMs: 0, recordedMs: MINUTE_MS },
      { mean: null, goodMs: 0, recordedMs: MINUTE_MS },
      { mean: 9, goodMs: 30_000, recordedMs: MINUTE_MS },
      { mean: 9, goodMs: 30_000, recordedMs: 30_000 },
      ...Array.from({ length: 5 }, () => ({ mean: null, goodMs: 0, recordedMs: 0 })),
      { mean: 5, goodMs: MINUTE_MS, recordedMs: MINUTE_MS },
    ])
    await later.history.close()
  },
)

t.test('switches count as 0 and 1, numbers too long for a double as numbers, and texts are not kept', async (t) => {
  const { bucketsOf, clock, history, set } = stage()
  set('pump', true)
  set('energy', '12345678901234567890')
  set('serial', 'AB12')
  history.start()
  await clock.run(30_000)
  set('pump', false)
  await clock.run(30_000)
  t.match(await bucketsOf('pump'), [{ min: 0, mean: 0.5, max: 1, last: 0 }])
  t.match(await bucketsOf('energy'), [{ last: 12_345_678_901_234_567_000 }])
  t.match(await bucketsOf('serial'), [{ last: null, recordedMs: MINUTE_MS }])
  await history.close()
})

t.test('longer steps gather shorter slots', async (t) => {
  const { bucketsOf, clock, history, set } = stage()
  set('x', 0)
  history.start()
  for (const value of [2, 4, 9]) {
    await clock.run(MINUTE_MS)
    set('x', value)
  }
  await clock.run(MINUTE_MS)
  const [bucket] = await bucketsOf('x', { step: 240 })
  t.match(bucket, { at: START, min: 0, mean: 3.75, max: 9, last: 9, goodMs: 4 * MINUTE_MS })
  await history.close()
})

t.test('the counts of units are those of each slot', async (t) => {
  const { clock, history, units } = stage()
  const unit = (requests: number, timeouts: number, state: UnitView['state']) =>
    ({
      unitId: 3,
      state,
      requests,
      replies: requests - timeouts,
      exceptions: 0,
      timeouts,
      crcErrors: 1,
      badReplies: 2,
    }) as UnitView
  units.push(unit(100, 0, 'well'))
  history.start()
  await clock.run(MINUTE_MS)
  units[0] = unit(160, 20, 'silent')
  await clock.run(MINUTE_MS)
  // Somebody forgot it: it begins at 0.
  units[0] = unit(10, 0, 'well')
  await clock.run(4 * MINUTE_MS)
  const { series } = await history.units('bus', [3], { from: START, step: 60 })
  t.match(series.get('3')?.slice(0, 4), [
    { requests: 100, state: 'well' },
    { requests: 60, replies: 40, missing: 20, damaged: 0, state: 'silent' },
    { requests: 10, missing: 0, state: 'well' },
    { requests: 0, state: 'well', recordedMs: MINUTE_MS },
  ])
  await history.close()
})

t.test('a full disk is told once, and nothing is lost until the queue is full', async (t) => {
  const { bucketsOf, clock, faults, history, set, store } = stage({ queue_bytes: 65_536 })
  set('x', 1)
  history.start()
  store.state.isFull = true
  await clock.run(30 * MINUTE_MS)
  t.match(faults, [{ code: 'store_write_failed' }])
  t.equal((await bucketsOf('x')).filter(({ mean }) => mean === 1).length, 30, 'what waits is seen')
  store.state.isFull = false
  await clock.run(5 * MINUTE_MS)
  t.equal(faults.length, 2)
  t.equal(faults[1], undefined, 'it is well again')
  t.equal(store.blocks.length, 7)
  t.equal(history.dropped(), 0)
  await history.close()
})

t.test('while the disk takes nothing, the oldest goes beyond history.queue_bytes', async (t) => {
  const { clock, history, points, store } = stage({ queue_bytes: 65_536, series: 8192 })
  for (let n = 0; n < 900; n++) points.set(`p${n}`, { name: `p${n}`, value: n, quality: 'good' })
  history.start()
  store.state.isFull = true
  await clock.run(60 * MINUTE_MS)
  t.ok(history.dropped() > 0, String(history.dropped()))
  await history.close()
})

t.test('a clock that is set begins another block; what was recorded stays where it was', async (t) => {
  const { bucketsOf, clock, history, set } = stage()
  set('x', 1)
  history.start()
  await clock.run(2 * MINUTE_MS)
  clock.stepEpoch(3 * 3_600_000)
  set('x', 2)
  await clock.run(3 * MINUTE_MS)
  const buckets = await bucketsOf('x', { to: START + 4 * 3_600_000 })
  t.match(buckets.slice(0, 2), [{ mean: 1 }, { mean: 1 }])
  t.ok(buckets.slice(5, 170).every(({ recordedMs }) => recordedMs === 0))
  t.match(buckets[184], { mean: 2 })
  await history.close()
})

t.test('a point that went is recorded no more, and one that comes later has no past', async (t) => {
  const { bucketsOf, clock, history, points, set } = stage()
  set('old', 1)
  history.start()
  await clock.run(MINUTE_MS)
  points.delete('old')
  set('new', 2)
  await clock.run(2 * MINUTE_MS)
  t.match(await bucketsOf('old'), [{ recordedMs: MINUTE_MS }, { recordedMs: 0 }, { recordedMs: 0 }])
  t.match(await bucketsOf('new'), [{ recordedMs: 0 }, { recordedMs: MINUTE_MS }, { recordedMs: MINUTE_MS }])
  await history.close()
})

t.test('what cannot be answered is refused by name', async (t) => {
  const { history } = stage()
  history.start()
  const ask = (wish: object) => history.points('bus', ['x'], wish)
  await t.rejects(ask({ from: START, to: START }), { code: 'bad_fields', message: /from/ })
  await t.rejects(ask({ from: START - 30 * 86_400_000, to: START }), { code: 'bad_fields', message: /8 days before/ })
  await t.rejects(ask({ step: 61 }), { code: 'bad_fields', message: /step is 61, expected a multiple of 60/ })
  await t.rejects(ask({ from: START, to: START + 7 * 86_400_000, step: 60 }), { message: /makes 10080 buckets/ })
  const week = await ask({ from: START, to: START + 7 * 86_400_000 })
  t.match(week, { stepMs: 1_560_000 })
  await history.close()
  const off = stage({ days: 0 })
  off.history.start()
  t.equal(off.clock.pending(), 0)
  await t.rejects(off.history.points('bus', ['x'], {}), { code: 'history_off' })
})

t.test('at most history.readers ask at once, and as many exports; one that is left is over', async (t) => {
  const { history } = stage({ readers: 1 })
  history.start()
  const first = history.points('bus', ['x'], {})
  await t.rejects(history.points('bus', ['x'], {}), { code: 'history_busy' })
  await first
  await history.points('bus', ['x'], {})
  const pieces = history.pieces('bus', ['x'], {})
  t.throws(() => history.pieces('bus', ['x'], {}), { code: 'history_busy' })
  pieces.leave()
  let buckets = 0
  for await (const { count } of history.pieces('bus', ['x'], {})) buckets += count
  t.equal(buckets, 1440)
  history.pieces('bus', ['x'], {}).leave()
  await history.close()
})

t.test('one client has only its part of the readers, however slowly it reads', async (t) => {
  const { history } = stage({ readers: 3, readers_per_client: 2 })
  history.start()
  const pieces = (client: string) => history.pieces('bus', ['x'], { client })
  const held = [pieces('mallory'), pieces('mallory')]
  t.throws(() => pieces('mallory'), { code: 'history_busy', message: /You are reading the history 2 times/ })
  held.push(pieces('alice'))
  t.throws(() => pieces('bob'), { code: 'history_busy', message: /read by 3 others/ })
  for (const one of [...held, ...held]) one.leave()
  held.push(pieces('mallory'), pieces('mallory'), pieces('bob'))
  for (const one of held) one.leave()
  const asked = [1, 2].map(() => history.points('bus', ['x'], { client: 'mallory' }))
  await t.rejects(history.points('bus', ['x'], { client: 'mallory' }), { code: 'history_busy' })
  await history.units('bus', [1], { client: 'alice' })
  await Promise.all(asked)
  await history.close()
})

t.test('a file that was begun anew gets the names of all series again', async (t) => {
  const { clock, history, set, store } = stage()
  set('x', 1)
  history.start()
  await clock.run(5 * MINUTE_MS)
  const afresh = memoryStore()
  Object.assign(store, { write: afresh.write, read: afresh.read })
  history.begunAfresh()
  await clock.run(5 * MINUTE_MS)
  t.match(await afresh.load(), { series: [{ name: 'x' }] })
  await history.close()
})

t.test('at most history.series are recorded', async (t) => {
  const { bucketsOf, clock, history, set, store } = stage({ series: 16 })
  for (let n = 0; n < 40; n++) set(`p${n}`, n)
  history.start()
  await clock.run(5 * MINUTE_MS)
  t.match((await bucketsOf('p15'))[0], { mean: 15 })
  t.match((await bucketsOf('p16'))[0], { recordedMs: 0 })
  t.equal((await store.load()).series.length, 16)
  await history.close()
})

t.test('each part holds what its row of the memory plan says', async (t) => {
  const series = 2000
  const bytes = await heapBytesOf(async () => {
    const made = stage({ series })
    made.history.start()
    for (let n = 0; n < series; n++) made.set(`a point with a name of some length ${n}`, n)
    for (let slot = 0; slot < 4; slot++) {
      await made.clock.run(30_000)
      for (let n = 0; n < series; n++) made.set(`a point with a name of some length ${n}`, n + 1)
      await made.clock.run(30_000)
    }
    return made
  })
  const row = rowOf(memoryPlan().rows, 'points and units whose history is recorded', {
    ...{ 'history.series': series, 'history.write_s': 300, 'history.slot_s': 60 },
  })
  t.ok(bytes < row.allBytes, `${bytes / series} bytes a series, of ${row.eachBytes}`)
  const asked = stage()
  asked.history.start()
  const names = Array.from({ length: 5000 }, (_, n) => `p${n}`)
  const pieceBytes = await heapBytesOf(async () => {
    for await (const piece of asked.history.pieces('bus', names, {})) return piece
    return null
  })
  t.ok(pieceBytes < READER_BYTES, `${pieceBytes}`)
  await asked.history.close()
})
