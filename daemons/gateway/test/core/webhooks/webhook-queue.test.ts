import t from 'tap'
import { WebhookQueue } from '../../../core/webhooks/queue.ts'
import { type Deed, fakeSender, hook, outgoing, queueParts } from './webhook-fixtures.ts'

function queueOver(deeds: Deed[], changes: Parameters<typeof queueParts>[1] = {}) {
  const sender = fakeSender(...deeds)
  const parts = queueParts(sender, changes)
  return { ...parts, sender, queue: new WebhookQueue(parts, '/dev/ttyUSB0', hook()) }
}

t.test('sends in order, one at a time', async (t) => {
  const { queue, sender, clock } = queueOver([200, 204, 299])
  for (const name of ['a', 'b', 'c']) queue.push(outgoing(name))
  await clock.run(0)
  await queue.whenIdle()
  t.same(sender.events(), ['a', 'b', 'c'])
  t.equal(sender.mostUnderWay(), 1)
  t.same(queue.state().counters, { delivered: 3, failed: 0, dropped: 0, retried: 0, queued: 0 })
  t.equal(queue.state().lastDeliveredAt, clock.epochMs())
})

t.test('A.webhooks.5 webhooks never block the bus: nothing is sent in the turn of the event', async (t) => {
  const { queue, sender, clock } = queueOver([])
  queue.push(outgoing('a'))
  t.same(sender.events(), [])
  t.equal(queue.state().counters.queued, 1)
  await clock.run(0)
  await queue.whenIdle()
  t.same(sender.events(), ['a'])
})

t.test('A.webhooks.5 a failed delivery is retried once, at once, over a fresh connection', async (t) => {
  const { queue, sender, clock, lines } = queueOver([500, 200])
  queue.push(outgoing('a'))
  await clock.run(0)
  await queue.whenIdle()
  t.same(sender.events(), ['a', 'a'])
  t.same(
    sender.requests.map(({ isFresh }) => isFresh),
    [false, true],
  )
  t.same(queue.state().counters, { delivered: 1, failed: 0, dropped: 0, retried: 1, queued: 0 })
  t.match(queue.state().lastError, { at: clock.epochMs(), status: 500, message: 'answered 500, expected 200 to 299' })
  t.same(lines, [])
})

t.test('A.webhooks.5 an event that fails twice is logged and dropped, and the next one follows', async (t) => {
  for (const deed of [500, 404, 302, 301, 'breaks'] as Deed[]) {
    const { queue, sender, clock, lines } = queueOver([deed, deed])
    queue.push(outgoing('a'))
    queue.push(outgoing('b'))
    await clock.run(0)
    await queue.whenIdle()
    t.same(sender.events(), ['a', 'a', 'b'], String(deed))
    t.same(queue.state().counters, { delivered: 1, failed: 1, dropped: 0, retried: 1, queued: 0 })
    const facts = { port: '/dev/ttyUSB0', webhook: 'a', target: 'http://target', count: 1, event: 'a' }
    t.match(lines, [{ event: 'webhook_failed', facts }])
  }
})

t.test('A.limits each attempt has 5 seconds', async (t) => {
  const { queue, sender, clock } = queueOver(['hangs', 'hangs'])
  queue.push(outgoing('a'))
  queue.push(outgoing('b'))
  await clock.run(4999)
  t.same(sender.events(), ['a'])
  await clock.run(1)
  t.same(sender.events(), ['a', 'a'])
  t.same(sender.aborted, ['a'])
  await clock.run(5000)
  await queue.whenIdle()
  t.same(sender.events(), ['a', 'a', 'b'])
  t.match(queue.state().counters, { delivered: 1, failed: 1, retried: 1 })
  t.match(queue.state().lastError, { status: null, message: 'no answer within 5 s' })
})

t.test('an answer of 200 counts even if its body never ends, and is cut off after 5 seconds', async (t) => {
  const { queue, sender, clock } = queueOver(['endless'])
  queue.push(outgoing('a'))
  await clock.run(4999)
  t.equal(queue.state().counters.queued, 1)
  await clock.run(1)
  await queue.whenIdle()
  t.same(sender.events(), ['a'])
  t.same(sender.aborted, ['a'])
  t.match(queue.state().counters, { delivered: 1, failed: 0 })
})

t.test('order is kept under mixed failures', async (t) => {
  const { queue, sender, clock } = queueOver([500, 200, 'hangs', 'breaks', 200, 'breaks', 302, 200])
  for (const name of ['a', 'b', 'c', 'd', 'e']) queue.push(outgoing(name))
  await clock.run(5000)
  await queue.whenIdle()
  t.same(sender.events(), ['a', 'a', 'b', 'b', 'c', 'd', 'd', 'e'])
  t.match(queue.state().counters, { delivered: 3, failed: 2, retried: 3 })
})

t.test('holds at most webhooks.queue events, drops the oldest, counts them and says so once', async (t) => {
  const { queue, sender, clock, lines } = queueOver(['hangs'], { queue: 3 })
  queue.push(outgoing('first'))
  await clock.run(0)
  for (let n = 1; n <= 10; n += 1) queue.push(outgoing(`n${n}`))
  t.match(queue.state().counters, { dropped: 7, queued: 4 })
  t.match(lines, [{ event: 'webhook_dropped', facts: { count: 1, reason: 'queue full, the oldest go' } }])
  t.equal(lines.length, 1)
  await clock.run(10_000)
  await queue.whenIdle()
  t.same(sender.events(), ['first', 'first', 'n8', 'n9', 'n10'])
  t.match(lines[1], { event: 'webhook_dropped', facts: { count: 6 } })
})

t.test('holds at most webhooks.queue_bytes of bodies', async (t) => {
  const { queue, clock } = queueOver(['hangs'], { queue_bytes: 100 })
  queue.push(outgoing('first'))
  await clock.run(0)
  for (let n = 0; n < 4; n += 1) queue.push(outgoing(`n${n}`, 40))
  t.match(queue.state().counters, { dropped: 2, queued: 3 })
  queue.push(outgoing('huge', 101))
  t.match(queue.state().counters, { dropped: 5, queued: 1 })
})

t.test('a changed address, header or secret is used for waiting events and for a retry', async (t) => {
  const { queue, sender, clock } = queueOver(['hangs'])
  queue.push(outgoing('a'))
  queue.push(outgoing('b'))
  await clock.run(0)
  queue.setRecord(hook({ url: 'http://other/', secret: 'new', headers: { A: 'b' } }))
  await clock.run(5000)
  await queue.whenIdle()
  t.match(sender.requests, [
    { event: 'a', url: 'http://target/x', secret: null },
    { event: 'a', url: 'http://other/', secret: 'new', headers: { A: 'b' } },
    { event: 'b', url: 'http://other/', secret: 'new' },
  ])
})

t.test('dropping aborts the delivery under way without a retry, counts all, and accepts later events', async (t) => {
  const { queue, sender, clock, lines } = queueOver(['hangs'])
  for (const name of ['a', 'b', 'c']) queue.push(outgoing(name))
  await clock.run(0)
  queue.drop('webhook disabled')
  queue.push(outgoing('d'))
  await clock.run(0)
  await queue.whenIdle()
  t.same(sender.events(), ['a', 'd'])
  t.same(sender.aborted, ['a'])
  t.same(queue.state().counters, { delivered: 1, failed: 0, dropped: 3, retried: 0, queued: 0 })
  t.equal(queue.state().lastError, null, 'an aborted delivery is not a failure of the target')
  t.same(
    lines.map(({ event, facts }) => [event, facts.count, facts.reason]),
    [
      ['webhook_dropped', 2, 'webhook disabled'],
      ['webhook_dropped', 1, 'webhook disabled'],
    ],
  )
})

t.test('every event ends in exactly one counter', async (t) => {
  const deeds = Array.from({ length: 60 }, (_, n): Deed => ([200, 500, 'breaks', 'hangs', 204] as const)[n % 5] ?? 200)
  const { queue, clock } = queueOver(deeds, { queue: 16 })
  for (let n = 0; n < 50; n += 1) {
    queue.push(outgoing(`n${n}`))
    if (n % 10 === 0) await clock.run(1000)
  }
  queue.lose('x', 'payload is not JSON')
  await clock.run(600_000)
  await queue.whenIdle()
  const { delivered, failed, dropped, queued } = queue.state().counters
  t.equal(delivered + failed + dropped, 51)
  t.equal(queued, 0)
})

t.test(
  'A.webhooks.5 a target that keeps failing is tried less and less often, and nothing is lost in a short outage',
  async (t) => {
    const dead: Deed[] = new Array(8).fill('breaks')
    const { queue, sender, clock } = queueOver(dead, { pause_after: 2, pause_first_ms: 1000, pause_max_ms: 60_000 })
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) queue.push(outgoing(name))
    await clock.run(999)
    t.same(sender.events(), ['a', 'a', 'b', 'b'], 'each was tried twice, then there is a pause')
    t.equal(queue.state().pausedUntil, clock.epochMs() + 1)
    t.match(queue.state().counters, { failed: 2, queued: 4 })
    await clock.run(1)
    t.same(sender.events().slice(4), ['c', 'c'])
    await clock.run(1999)
    t.equal(sender.events().length, 6, 'the second pause is twice as long')
    await clock.run(1)
    t.same(sender.events().slice(6), ['d', 'd'])
    await clock.run(4000)
    await queue.whenIdle()
    t.same(sender.events().slice(8), ['e', 'f'], 'it answers again, and gets all waiting events, in order')
    t.match(queue.state(), { pausedUntil: null, counters: { delivered: 2, failed: 4, dropped: 0, queued: 0 } })
  },
)

t.test('a pause is no longer than webhooks.pause_max_ms, and a success resets it to the first', async (t) => {
  const limits = { pause_after: 1, pause_first_ms: 1000, pause_max_ms: 3000 }
  const { queue, sender, clock } = queueOver([500, 500, 500, 500, 500, 500, 500, 500, 200, 500, 500], limits)
  for (let n = 0; n < 7; n++) queue.push(outgoing(`n${n}`))
  const waits: number[] = []
  while (queue.state().counters.queued > 0) {
    await clock.run(0)
    const { pausedUntil } = queue.state()
    if (pausedUntil === null) break
    waits.push(pausedUntil - clock.epochMs())
    await clock.run(pausedUntil - clock.epochMs())
  }
  t.same(waits, [1000, 2000, 3000, 3000, 1000])
  t.equal(sender.events().length, 12)
})

t.test(
  'a target that was changed or has just answered a test is tried at once; while it is paused the oldest events are dropped',
  async (t) => {
    const { queue, sender, clock, lines } = queueOver([500, 500], { pause_after: 1, pause_first_ms: 60_000, queue: 2 })
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      queue.push(outgoing(name))
      await clock.run(0)
    }
    t.same(sender.events(), ['a', 'a'])
    t.match(queue.state().counters, { failed: 1, dropped: 2, queued: 2 })
    t.match(lines.at(-1), { event: 'webhook_dropped', facts: { reason: 'queue full, the oldest go' } })
    queue.setRecord(hook({ events: ['frame'] }))
    await clock.run(0)
    t.equal(sender.events().length, 2, 'a change of events is the same target')
    queue.setRecord(hook({ url: 'http://other/' }))
    await clock.run(0)
    t.same(sender.events(), ['a', 'a', 'd', 'e'])
    t.equal(queue.state().pausedUntil, null)
  },
)

t.test('a paused target delays neither its deletion nor the end of the daemon', async (t) => {
  const limits = { pause_after: 1, pause_first_ms: 60_000 }
  const deleted = queueOver([500, 500], limits)
  deleted.queue.push(outgoing('a'))
  deleted.queue.push(outgoing('b'))
  await deleted.clock.run(0)
  deleted.queue.drop('webhook deleted')
  await deleted.queue.whenIdle()
  t.match(deleted.queue.state(), { pausedUntil: null, counters: { failed: 1, dropped: 1, queued: 0 } })
  for (const ends of ['while it is paused', 'before its next failure']) {
    const { queue, clock, sender } = queueOver([500, 500], limits)
    queue.push(outgoing('a'))
    queue.push(outgoing('b'))
    if (ends === 'while it is paused') await clock.run(0)
    queue.end()
    await clock.run(0)
    await queue.whenIdle()
    t.same(sender.events(), ['a', 'a'], ends)
    t.match(queue.state(), { pausedUntil: null, counters: { failed: 1, dropped: 1, queued: 0 } }, ends)
  }
})
