import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createStatusFeed } from '../../../core/live/feed.ts'

function stage() {
  const clock = fakeClock(0)
  const cameras = new Map([
    ['door', 'recording'],
    ['yard', 'lost'],
  ])
  const feed = createStatusFeed<readonly string[]>({
    clock,
    maySee: (account, id) => account.includes(id),
    seenBy: (account) =>
      [...cameras]
        .filter(([id]) => account.includes(id))
        .map(([id, state]) => ({ id, view: { id, state }, mark: state })),
  })
  /** A reader that takes nothing while it is full. */
  function read(...account: string[]) {
    return greeted('cameras', ...account)
  }
  function greeted(greeting: 'cameras' | 'ids', ...account: string[]) {
    const heard: Record<string, unknown>[] = []
    const reader = { heard, isFull: false, end: () => {} }
    reader.end = feed.open(
      account,
      (text) => {
        if (!reader.isFull) heard.push(JSON.parse(text))
        return !reader.isFull
      },
      greeting,
    )
    return reader
  }
  return { cameras, clock, feed, greeted, read }
}

t.test('A.Events.2 a reader is greeted with its cameras, and told of no other', async (t) => {
  const { cameras, clock, feed, read } = stage()
  const [guard, boss] = [read('door'), read('door', 'yard')]
  t.same(guard.heard, [{ type: 'hello', at: 0, cameras: [{ id: 'door', state: 'recording' }] }])
  cameras.set('yard', 'recording')
  feed.changed()
  feed.changed()
  clock.advance(100)
  const told = { type: 'camera-state', cameraId: 'yard', camera: { id: 'yard', state: 'recording' } }
  t.same(boss.heard.slice(1), [told], 'once for both changes')
  cameras.delete('yard')
  cameras.set('door', 'off')
  feed.changed()
  clock.advance(100)
  t.match(guard.heard.slice(1), [{ type: 'camera-state', cameraId: 'door', camera: { state: 'off' } }])
  t.match(boss.heard.slice(2), [{ cameraId: 'door' }, { type: 'camera-removed', cameraId: 'yard' }])
})

t.test(
  'A.Events.2 of many cameras a reader may ask for the ids first, and each camera as a message of its own',
  async (t) => {
    const { cameras, clock, feed, greeted } = stage()
    for (let at = 0; at < 128; at++) cameras.set(`c${at}`, 'recording')
    const all = [...cameras.keys()].filter((id) => id !== 'yard')
    const { heard } = greeted('ids', ...all)
    t.same(heard[0], { type: 'hello', at: 0, cameraIds: all })
    t.same(
      heard.slice(1).map(({ type, cameraId }) => [type, cameraId]),
      all.map((id) => ['camera-state', id]),
    )
    cameras.set('c9', 'lost')
    feed.changed()
    clock.advance(100)
    t.match(heard.slice(1 + all.length), [{ type: 'camera-state', cameraId: 'c9', camera: { state: 'lost' } }])
  },
)

t.test('A.Limits a heartbeat comes every 15 seconds, and with it what was missed', async (t) => {
  const { cameras, clock, feed, read } = stage()
  const reader = read('door', 'yard')
  reader.isFull = true
  for (const state of ['lost', 'connecting', 'recording', 'off']) {
    cameras.set('door', state)
    feed.changed()
    clock.advance(100)
  }
  reader.isFull = false
  clock.advance(15_000 - 400)
  t.same(reader.heard.slice(1), [
    { type: 'camera-state', cameraId: 'door', camera: { id: 'door', state: 'off' } },
    { type: 'heartbeat', at: 15_000 },
  ])
  clock.advance(15_000)
  t.same(reader.heard.at(-1), { type: 'heartbeat', at: 30_000 })
})

t.test('nothing runs while nobody reads', async (t) => {
  const { clock, feed, read } = stage()
  feed.changed()
  t.equal(clock.pending(), 0)
  const [one, other] = [read('door'), read('door')]
  one.end()
  feed.changed()
  t.equal(clock.pending(), 2)
  other.end()
  t.equal(clock.pending(), 0)
})

t.test(
  'A.Events.2 news go to whom they are for, and to a reader that is slow once, later and without a camera',
  async (t) => {
    const { clock, feed, read } = stage()
    const [guard, boss] = [read('door'), read('door', 'yard')]
    const about = (id: string) => (account: readonly string[]) => account.includes(id)
    feed.tellStale({ type: 'site-plan-changed', cameraId: 'yard' }, about('yard'))
    t.same(guard.heard.slice(1), [])
    t.same(boss.heard.slice(1), [{ type: 'site-plan-changed', cameraId: 'yard' }])
    boss.isFull = true
    for (const id of ['door', 'yard', 'door']) feed.tellStale({ type: 'site-plan-changed', cameraId: id }, about(id))
    t.equal(guard.heard.length, 3)
    for (const state of ['grace', 'licensed']) feed.tellStale({ type: 'license-changed', state }, () => true)
    boss.isFull = false
    clock.advance(15_000)
    t.same(boss.heard.slice(2), [
      { type: 'site-plan-changed' },
      { type: 'license-changed', state: 'licensed' },
      { type: 'heartbeat', at: 15_000 },
    ])
  },
)

t.test('A.Events.2 what happened once is told to who sees its camera, and to a slow reader never', async (t) => {
  const { clock, feed, read } = stage()
  const [guard, boss] = [read('door'), read('door', 'yard')]
  const happen = () => {
    feed.tell('yard', { type: 'detections', boxes: [] })
    feed.tellEach((account) => (account.includes('yard') ? { type: 'alert', cameras: account.length } : undefined))
  }
  happen()
  t.same(guard.heard.slice(1), [])
  t.same(boss.heard.slice(1), [
    { type: 'detections', cameraId: 'yard', boxes: [] },
    { type: 'alert', cameras: 2 },
  ])
  boss.isFull = true
  happen()
  boss.isFull = false
  clock.advance(15_000)
  t.same(boss.heard.slice(3), [{ type: 'heartbeat', at: 15_000 }])
})
