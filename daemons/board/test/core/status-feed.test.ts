import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createStatusFeed } from '../../core/status.ts'

function setup() {
  const clock = fakeClock()
  const world = { made: 0 }
  const status = () => ({ made: ++world.made })
  const feed = createStatusFeed({ clock, status, leastMs: 250, mostMs: 1000 })
  function watch() {
    const heard: string[] = []
    const watcher = { hasCaughtUp: true, send: (text: string) => heard.push(text) > 0 }
    return { heard, watcher, end: feed.watch(watcher) }
  }
  return { clock, world, feed, watch }
}

t.test('a client that watches gets the status at once, and every second', async (t) => {
  const { clock, watch } = setup()
  const { heard } = watch()
  t.same(heard, ['{"type":"status","status":{"made":1}}'])
  clock.advance(3000)
  t.equal(heard.length, 4)
})

t.test('changes are sent soon, batched, at most four times a second', async (t) => {
  const { clock, feed, watch } = setup()
  const { heard } = watch()
  for (let ms = 0; ms < 1000; ms++) {
    feed.changed()
    clock.advance(1)
  }
  t.equal(heard.length, 1 + 4)
  clock.advance(500)
  feed.changed()
  clock.advance(0)
  t.equal(heard.length, 6, 'a change after a quiet time is sent at once')
})

t.test('one message is made for all clients that watch', async (t) => {
  const { clock, world, watch } = setup()
  const all = Array.from({ length: 50 }, watch)
  world.made = 0
  clock.advance(1000)
  t.equal(world.made, 1)
  for (const { heard } of all) t.equal(heard.length, 2)
})

t.test('a client that does not keep up is skipped until it has caught up, and has then missed nothing', async (t) => {
  const { clock, watch } = setup()
  const { heard, watcher } = watch()
  watcher.hasCaughtUp = false
  clock.advance(10_000)
  t.equal(heard.length, 1)
  watcher.hasCaughtUp = true
  clock.advance(1000)
  t.equal(heard.length, 2)
})

t.test('nothing is made while nobody watches', async (t) => {
  const { clock, world, feed, watch } = setup()
  feed.changed()
  const { end } = watch()
  feed.changed()
  end()
  feed.changed()
  clock.advance(60_000)
  t.equal(world.made, 1)
  t.equal(clock.pending(), 0)
  const { heard } = watch()
  feed.changed()
  clock.advance(250)
  t.equal(heard.length, 2, 'a change is sent soon, even if the last one was sent to nobody')
  feed.close()
  t.equal(clock.pending(), 0)
})
