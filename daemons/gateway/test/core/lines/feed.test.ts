import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createEventHub, createFeed, type EventHub } from '../../../core/lines/events.ts'

function feedOn(mayHear = (_port: string) => true, of?: EventHub) {
  const clock = fakeClock()
  const hub = of ?? createEventHub(clock, { history: 10, historyBytes: 1000, totalBytes: 100_000 })
  const got: { type: string; payload?: unknown; dropped?: number }[] = []
  const sink = {
    isFull: false,
    hasCaughtUp: true,
    send: (text: string) => !sink.isFull && got.push(JSON.parse(text)) > 0,
  }
  const feed = createFeed({ hub, clock, sink, limits: { summaryMs: 1000 }, mayHear })
  return { clock, feed, got, hub, sink }
}

t.test('sends the events that were asked for, by port and by name', async (t) => {
  const { feed, got, hub } = feedOn()
  feed.subscribe({ port: '/dev/a', events: ['frame'] })
  hub.publish('/dev/a', 'frame', 1)
  hub.publish('/dev/a', 'port', 2)
  hub.publish('/dev/b', 'frame', 3)
  t.match(got, [{ type: 'event', port: '/dev/a', event: 'frame', payload: 1 }])
  t.equal(got.length, 1)
})

t.test('begins with past events when asked to, and a new subscription replaces the old one', async (t) => {
  const { feed, got, hub } = feedOn()
  for (const number of [1, 2, 3]) hub.publish('/dev/a', 'frame', number)
  feed.subscribe({ port: '/dev/a', replay: 2 })
  t.same(
    got.map((message) => message.payload),
    [2, 3],
  )
  feed.subscribe({ port: '/dev/b' })
  hub.publish('/dev/a', 'frame', 4)
  t.equal(got.length, 2)
})

t.test('a listener that falls behind loses events and is told how many before it gets a new one', async (t) => {
  const { clock, feed, got, hub, sink } = feedOn()
  feed.subscribe({})
  sink.isFull = true
  for (const number of [1, 2, 3]) hub.publish('/dev/a', 'frame', number)
  await clock.run(1000)
  sink.isFull = false
  hub.publish('/dev/a', 'frame', 4)
  t.same(got, [])
  await clock.run(1000)
  hub.publish('/dev/a', 'frame', 5)
  t.match(got, [
    { type: 'summary', dropped: 4 },
    { type: 'event', payload: 5 },
  ])
})

t.test('a listener is told what it missed after it has read what waited, and only once', async (t) => {
  const { clock, feed, got, hub, sink } = feedOn()
  feed.subscribe({})
  sink.isFull = true
  hub.publish('/dev/a', 'frame', 1)
  // Room for a summary, and none for an event.
  Object.assign(sink, { isFull: false, hasCaughtUp: false })
  await clock.run(5000)
  hub.publish('/dev/a', 'frame', 2)
  t.same(got, [])
  sink.hasCaughtUp = true
  await clock.run(1000)
  t.same(got, [{ type: 'summary', dropped: 2 }])
})

t.test('a listener that is behind gets no past events, however often it asks', async (t) => {
  const { clock, feed, got, hub, sink } = feedOn()
  const recent = t.capture(hub, 'recent', hub.recent)
  hub.publish('/dev/a', 'frame', 1)
  feed.subscribe({ port: '/dev/a' })
  sink.isFull = true
  hub.publish('/dev/a', 'frame', 2)
  for (let times = 0; times < 5; times++) feed.subscribe({ port: '/dev/a', replay: 10 })
  t.equal(recent().length, 0)
  sink.isFull = false
  await clock.run(1000)
  t.same(got, [{ type: 'summary', dropped: 1 }])
  feed.subscribe({ port: '/dev/a', replay: 10 })
  t.equal(got.length, 3)
})

t.test('holds nothing after it is closed', async (t) => {
  const { clock, feed, got, hub, sink } = feedOn()
  feed.subscribe({})
  sink.isFull = true
  hub.publish('/dev/a', 'frame', 1)
  feed.close()
  sink.isFull = false
  hub.publish('/dev/a', 'frame', 2)
  await clock.run(5000)
  t.same(got, [])
  t.equal(clock.pending(), 0)
})

t.test('a listener gets no events, past or present, of ports that are not its own', async (t) => {
  const { feed, got, hub } = feedOn((port) => port === '/dev/a')
  for (const port of ['/dev/a', '/dev/b']) hub.publish(port, 'frame', `past of ${port}`)
  feed.subscribe({ port: '/dev/b', replay: 10 })
  hub.publish('/dev/b', 'frame', 'now')
  t.same(got, [])
  feed.subscribe({})
  for (const port of ['/dev/a', '/dev/b', '/dev/a/b', '']) hub.publish(port, 'frame', port)
  t.match(got, [{ port: '/dev/a' }])
  t.equal(got.length, 1)
})

t.test('an event is serialised once for all listeners, and not at all if nobody wants it', async (t) => {
  const { feed, hub, got } = feedOn()
  let made = 0
  const payload = { toJSON: () => ++made }
  hub.publish('/dev/a', 'frame', payload)
  t.equal(made, 0, 'nobody listens')
  const others = [1, 2, 3].map(() => feedOn(undefined, hub))
  for (const one of [feed, ...others.map((other) => other.feed)]) one.subscribe({ port: '/dev/a' })
  const fenced = feedOn((port) => port === '/dev/b', hub)
  fenced.feed.subscribe({})
  hub.publish('/dev/b', 'frame', payload)
  t.equal(made, 1, 'one subscribed to the other port')
  hub.publish('/dev/a', 'frame', payload)
  t.equal(made, 2, 'four subscribed to this one')
  t.same(
    [got, fenced.got, ...others.map((other) => other.got)].map((heard) => heard.map(({ payload }) => payload)),
    [[2], [1], [2], [2], [2]],
  )
  t.equal(JSON.parse(hub.recent('/dev/a', 1)[0]?.message ?? '').payload, 3, 'kept with nothing but its payload')
})
