import t from 'tap'
import { createPace } from '../../web/live-pace.ts'

/** Seconds of a film, to a millisecond. */
const isNear = (one: number | undefined, other: number) => Math.abs((one ?? 0) - other) < 0.001

t.test('a film begins near its newest picture, and jumps there where it is far behind or elsewhere', async (t) => {
  const pace = createPace()
  t.ok(isNear(pace.step({ start: 10, end: 14, newest: 13.9, now: 0 }).seekTo, 13.8))
  t.same(pace.step({ start: 10, end: 14, newest: 13.9, now: 13.8 }), { rate: 1 })
  t.ok(isNear(pace.step({ start: 10, end: 20, newest: 19.9, now: 14 }).seekTo, 19.8))
  t.match(pace.step({ start: 30, end: 30.1, newest: 30.05, now: 20 }), { rate: 1, seekTo: 30 }, 'behind a hole')
})

t.test('what is a little behind is caught up by playing faster', async (t) => {
  const pace = createPace()
  pace.step({ start: 0, end: 1, newest: 1, now: 0 })
  t.same(pace.step({ start: 0, end: 2, newest: 2, now: 1.4 }), { rate: 1.25 })
  t.same(pace.step({ start: 0, end: 2, newest: 2, now: 1.75 }), { rate: 1.08 })
  t.same(pace.step({ start: 0, end: 2, newest: 2, now: 1.9 }), { rate: 1 })
})

t.test(
  'each time it stands still it is played further behind, up to a second, and nearer again with time',
  async (t) => {
    const pace = createPace()
    pace.starved()
    const at = (newest: number, now: number) => pace.step({ start: 0, end: newest, newest, now })
    t.ok(isNear(at(10, 0).seekTo, 9.9), 'before it has begun it does not count')
    for (let times = 0; times < 4; times++) pace.starved()
    t.same(at(20, 19.7), { rate: 1 })
    for (let times = 0; times < 100; times++) pace.starved()
    t.same(at(20, 19), { rate: 1 })
    for (let times = 0; times < 2000; times++) at(20, 19.5)
    t.same(at(20, 19.7), { rate: 1.08 })
  },
)
