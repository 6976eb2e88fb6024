/** Tests of core/sound/sound.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { createHistory, HISTORY_SECONDS } from '../../../core/sound/sound.ts'

t.test('has no points before anything was measured', async (t) => {
  const history = createHistory({ clock: fakeClock(), names: ['lost'], seconds: 5 })
  t.same(history.view().series, { lost: [] })
})

t.test('keeps measurements second by second, with the instant of the first', async (t) => {
  const clock = fakeClock(1_000_000)
  const history = createHistory({ clock, names: ['lost', 'offset'], seconds: 5 })
  for (const lost of [1, 2, 3]) {
    clock.advance(1000)
    history.add({ lost, offset: 0.1 })
  }
  t.same(history.view(), { step_s: 1, from_at: 1_001_000, series: { lost: [1, 2, 3], offset: [0.1, 0.1, 0.1] } })
})

t.test('gives null for unknown values, never 0', async (t) => {
  const clock = fakeClock()
  const history = createHistory({ clock, names: ['lost', 'offset'], seconds: 5 })
  history.add({ lost: 0, offset: null })
  clock.advance(1000)
  history.add({ offset: 7 })
  t.same(history.view().series, { lost: [0, null], offset: [null, 7] })
})

t.test('merges values of the same second from several sources', async (t) => {
  const clock = fakeClock()
  const history = createHistory({ clock, names: ['lost', 'offset'], seconds: 5 })
  history.add({ lost: 1 })
  clock.advance(400)
  history.add({ offset: 2 })
  t.same(history.view().series, { lost: [1], offset: [2] })
})

t.test('drops the oldest', async (t) => {
  const clock = fakeClock(0)
  const history = createHistory({ clock, names: ['n'], seconds: 3 })
  for (let n = 0; n < 10; n++) {
    history.add({ n })
    clock.advance(1000)
  }
  t.same(history.view(), { step_s: 1, from_at: 7000, series: { n: [7, 8, 9] } })
})

t.test('bridges one second that a late timer skipped, and no more', async (t) => {
  const clock = fakeClock()
  const history = createHistory({ clock, names: ['n'], seconds: 10 })
  history.add({ n: 1 })
  clock.advance(2000)
  history.add({ n: 2 })
  clock.advance(3000)
  history.add({ n: 3 })
  t.same(history.view().series, { n: [1, 2, 2, null, null, 3] })
})

t.test('keeps nothing from before a pause longer than its span', async (t) => {
  const clock = fakeClock()
  const history = createHistory({ clock, names: ['n'], seconds: 3 })
  history.add({ n: 1 })
  clock.advance(1000)
  history.add({ n: 2 })
  clock.advance(100_000)
  history.add({ n: 3 })
  t.same(history.view().series, { n: [null, null, 3] })
})

t.test('instants stay correct when wall time is stepped', async (t) => {
  const clock = fakeClock(1_000_000)
  const history = createHistory({ clock, names: ['n'], seconds: 3 })
  history.add({ n: 1 })
  clock.advance(1000)
  clock.stepEpoch(50_000)
  history.add({ n: 2 })
  t.equal(history.view().from_at, 1_050_000)
})

t.test('an hour of twenty series is an answer of less than a megabyte', async (t) => {
  const clock = fakeClock()
  const names = Array.from({ length: 20 }, (_, index) => `series_${index}`)
  const history = createHistory({ clock, names, seconds: HISTORY_SECONDS })
  const values = Object.fromEntries(names.map((name) => [name, -123.4567]))
  for (let second = 0; second < HISTORY_SECONDS; second++) {
    history.add(values)
    clock.advance(1000)
  }
  t.ok(JSON.stringify(history.view()).length < 1_000_000)
})

t.test(
  'an hour of twenty series takes little of the memory of its row: the rest is for the buffers of sound',
  async (t) => {
    const names = Array.from({ length: 20 }, (_, index) => `series_${index}`)
    const bytes = await heapBytesOf(() => {
      const clock = fakeClock()
      const history = createHistory({ clock, names, seconds: HISTORY_SECONDS })
      for (let second = 0; second < HISTORY_SECONDS + 10; second++, clock.advance(1000))
        history.add(Object.fromEntries(names.map((name) => [name, -123.4567])))
      return history
    })
    t.ok(bytes < rowOf(memoryPlan().rows, 'sound: buffers').allBytes / 20, `${bytes} bytes`)
  },
)
