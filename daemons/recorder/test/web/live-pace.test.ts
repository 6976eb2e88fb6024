import t from 'tap'
import { createPace } from '../../web/live-pace.ts'

/** Seconds of a film, to a millisecond. */
const isNear = (one: number | undefined, other: number) => Math.abs((one ?? 0) - other) < 0.001

t.test('a film begins near its newest picture, and jumps there where it is far behind or elsewhere', async (t) => {
  const pace = createPace(false)
  t.ok(isNear(pace.step({ start: 10, end: 14, newest: 13.9, now: 0 }).seekTo, 13.8))
  t.same(pace.step({ start: 10, end: 14, newest: 13.9, now: 13.8 }), { rate: 1 })
  t.ok(isNear(pace.step({ start: 10, end: 20, newest: 19.9, now: 14 }).seekTo, 19.8))
  t.match(pace.step({ start: 30, end: 30.1, newest: 30.05, now: 20 }), { rate: 1, seekTo: 30 }, 'behind a hole')
})

t.test('what is a little behind is caught up by playing faster', async (t) => {
  const pace = createPace(false)
  pace.step({ start: 0, end: 1, newest: 1, now: 0 })
  t.same(pace.step({ start: 0, end: 2, newest: 2, now: 1.4 }), { rate: 1.25 })
  t.same(pace.step({ start: 0, end: 2, newest: 2, now: 1.75 }), { rate: 1.08 })
  t.same(pace.step({ start: 0, end: 2, newest: 2, now: 1.85 }), { rate: 1.08 })
  t.same(pace.step({ start: 0, end: 2, newest: 2, now: 1.87 }), { rate: 1 })
})

t.test(
  'each time it stands still it is played further behind, up to a second, and nearer again with time',
  async (t) => {
    const pace = createPace(false)
    pace.starved()
    const at = (newest: number, now: number) => pace.step({ start: 0, end: newest, newest, now })
    t.ok(isNear(at(10, 0).seekTo, 9.9), 'before it has begun it does not count')
    for (let times = 0; times < 4; times++) pace.starved()
    t.same(at(20, 19.7), { rate: 1 })
    for (let times = 0; times < 100; times++) pace.starved()
    t.same(at(20, 19), { rate: 1 })
    for (let seconds = 0; seconds < 60; seconds++)
      for (let at = 0; at < 50; at++) pace.step(standAt(20 + seconds + at / 50))
    t.same(at(80, 79.7), { rate: 1 }, 'by half a second in a minute')
    for (let seconds = 0; seconds < 60; seconds++)
      for (let at = 0; at < 50; at++) pace.step(standAt(80 + seconds + at / 50))
    t.same(at(140, 139.7), { rate: 1.08 })
  },
)

/** Half a second behind its newest picture. */
const standAt = (newest: number) => ({ start: 0, end: newest, newest, now: newest - 0.5 })

t.test('one with sound jumps each ten minutes, since browsers let sound and pictures drift apart', async (t) => {
  for (const isHeard of [true, false]) {
    const pace = createPace(isHeard)
    const jumps = Array.from({ length: 1300 }, (_, at) => pace.step({ start: 0, end: at, newest: at, now: at - 0.1 }))
    t.equal(jumps.filter(({ seekTo }) => seekTo !== undefined).length, isHeard ? 3 : 1)
  }
})
