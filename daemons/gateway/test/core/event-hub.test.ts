import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createEventHub } from '../../core/event-hub.ts'

t.test('A.webhooks.1 hands every event of an adapter to every listener, with port, name and epoch ms', async (t) => {
  const clock = fakeClock(1000)
  const hub = createEventHub(clock, { history: 4, historyBytes: 1000 })
  const first: unknown[] = []
  const second: unknown[] = []
  hub.subscribe((event) => first.push(event))
  const leave = hub.subscribe((event) => second.push(event))
  hub.publish('/dev/a', 'frame', { hex: '01' })
  leave()
  hub.publish('/dev/a', 'port', { state: 'open' })
  t.match(first, [
    { port: '/dev/a', event: 'frame', timestamp: 1000, payload: { hex: '01' } },
    { event: 'port', payload: { state: 'open' } },
  ])
  t.equal(second.length, 1)
})

t.test('keeps the newest events of each port, oldest first, and no more than the bound', async (t) => {
  const hub = createEventHub(fakeClock(), { history: 3, historyBytes: 1000 })
  for (const number of [1, 2, 3, 4, 5]) hub.publish('/dev/a', 'frame', number)
  hub.publish('/dev/b', 'frame', 9)
  const numbers = (port: string, limit: number) => hub.recent(port, limit).map((event) => event.payload)
  t.same(numbers('/dev/a', 10), [3, 4, 5])
  t.same(numbers('/dev/a', 2), [4, 5])
  t.same(numbers('/dev/b', 10), [9])
  hub.forget('/dev/a')
  t.same(numbers('/dev/a', 10), [])
})

t.test('keeps no more bytes of a port than the bound, but always its newest event', async (t) => {
  const hub = createEventHub(fakeClock(), { history: 10, historyBytes: 1000 })
  const kept = () => hub.recent('/dev/a', 10).map((event) => event.payload)
  for (const number of [1, 2, 3]) hub.publish('/dev/a', 'frame', number, 400)
  t.same(kept(), [2, 3])
  hub.publish('/dev/a', 'port', 4)
  t.same(kept(), [2, 3, 4])
  hub.publish('/dev/a', 'frame', 5, 5000)
  t.same(kept(), [5])
})

t.test('makes a payload once, and only when somebody reads it', async (t) => {
  const hub = createEventHub(fakeClock(), { history: 3, historyBytes: 1000 })
  let made = 0
  hub.publish('/dev/a', 'frame', () => ({ made: ++made }))
  t.equal(made, 0)
  t.equal(JSON.stringify(hub.recent('/dev/a', 1)[0]?.payload), '{"made":1}')
  t.match(JSON.parse(JSON.stringify(hub.recent('/dev/a', 1)[0])), { payload: { made: 1 } })
  t.equal(made, 1)
})
