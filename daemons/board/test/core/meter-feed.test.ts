/** Tests of the levels sent to pages: while somebody watches, batched, and without losing a peak. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Meters } from '../../core/role.ts'
import { createMeterFeed } from '../../core/status.ts'

function setup() {
  const clock = fakeClock()
  const hearers = new Set<(meters: Meters) => void>()
  const listen = (hear: (meters: Meters) => void) => {
    hearers.add(hear)
    return () => void hearers.delete(hear)
  }
  const feed = createMeterFeed({ clock, listen, leastMs: 50 })
  const level = (peak: number | null, rms: number | null = peak) => {
    for (const hear of hearers) hear({ peak_db: [peak], rms_db: [rms] })
  }
  function watch() {
    const heard: Meters[] = []
    const watcher = { hasCaughtUp: true, send: (text: string) => heard.push(JSON.parse(text).meters) > 0 }
    return { heard, watcher, end: feed.watch(watcher) }
  }
  return { clock, feed, hearers, level, watch }
}

t.test('levels are listened to while somebody watches, and only then', async (t) => {
  const { clock, feed, hearers, level, watch } = setup()
  t.equal(hearers.size, 0)
  const one = watch()
  const two = watch()
  t.equal(hearers.size, 1)
  level(-20)
  one.end()
  t.equal(hearers.size, 1)
  level(-10)
  two.end()
  t.equal(hearers.size, 0)
  clock.advance(1000)
  t.same([one.heard.length, two.heard.length], [1, 1], 'levels gathered for nobody are not sent later')
  t.equal(clock.pending(), 0)
  watch()
  feed.close()
  t.equal(hearers.size, 0)
})

t.test('messages keep their interval, and carry the highest peak in between', async (t) => {
  const { clock, level, watch } = setup()
  const { heard } = watch()
  level(-20)
  t.same(heard, [{ peak_db: [-20], rms_db: [-20] }], 'the first at once')
  level(-0.1, -18)
  clock.advance(10)
  level(-40, -45)
  clock.advance(39)
  t.equal(heard.length, 1)
  clock.advance(1)
  t.same(heard.at(-1), { peak_db: [-0.1], rms_db: [-45] })
  for (let ms = 0; ms < 1000; ms++) {
    level(-30)
    clock.advance(1)
  }
  t.equal(heard.length, 2 + 20)
})

t.test('silence is null, and any peak is louder', async (t) => {
  const { clock, level, watch } = setup()
  const { heard } = watch()
  level(null)
  level(null)
  clock.advance(50)
  level(-60)
  level(null)
  clock.advance(50)
  t.same(
    heard.map(({ peak_db }) => peak_db[0]),
    [null, null, -60],
  )
})

t.test('a change of channels starts again', async (t) => {
  const { clock, hearers, level, watch } = setup()
  const { heard } = watch()
  level(-20)
  level(-3)
  for (const hear of hearers) hear({ peak_db: [-9, -8], rms_db: [-12, -11] })
  clock.advance(50)
  t.same(heard.at(-1), { peak_db: [-9, -8], rms_db: [-12, -11] })
})

t.test('a client that does not keep up misses messages, and the others none', async (t) => {
  const { clock, level, watch } = setup()
  const slow = watch()
  const quick = watch()
  slow.watcher.hasCaughtUp = false
  for (let at = 0; at < 10; at++) {
    level(-20)
    clock.advance(50)
  }
  t.same([slow.heard.length, quick.heard.length], [0, 10])
  slow.watcher.hasCaughtUp = true
  level(-20)
  t.equal(slow.heard.length, 1)
})
