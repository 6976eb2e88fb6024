import t from 'tap'
import { createWebhookDelivery } from '../../../core/webhooks/delivery.ts'
import { type Deed, fakeSender, hook, publishTo, queueParts } from './webhook-fixtures.ts'

const port = '/dev/ttyUSB0'

function deliveryOver(deeds: Deed[], changes: Parameters<typeof queueParts>[1] = {}) {
  const sender = fakeSender(...deeds)
  const parts = queueParts(sender, changes)
  return { ...parts, sender, delivery: createWebhookDelivery(parts) }
}

const frame = (payload?: unknown) => ({ port, event: 'frame', timestamp: 1_900_000_000_123, payload })

t.test('A.webhooks.4 the body is port, event, timestamp and payload, in that order', async (t) => {
  const { delivery, sender, clock } = deliveryOver([])
  delivery.setWebhooks(port, [hook()])
  publishTo(delivery, frame({ hex: 'C3 A4', text: 'ä' }))
  publishTo(delivery, frame(undefined))
  await clock.run(0)
  const bodies = sender.requests.map(({ body }) => new TextDecoder().decode(body))
  t.same(bodies, [
    '{"port":"/dev/ttyUSB0","event":"frame","timestamp":1900000000123,"payload":{"hex":"C3 A4","text":"ä"}}',
    '{"port":"/dev/ttyUSB0","event":"frame","timestamp":1900000000123,"payload":null}',
  ])
})

t.test(
  'A.webhooks.1 every enabled webhook of the port whose list is empty or names the event is sent it',
  async (t) => {
    const { delivery, sender, clock } = deliveryOver([])
    delivery.setWebhooks(port, [
      hook({ id: 'a', url: 'http://all/' }),
      hook({ id: 'b', url: 'http://frames/', events: ['port', 'frame'] }),
      hook({ id: 'c', url: 'http://others/', events: ['port'] }),
      hook({ id: 'd', url: 'http://off/', enabled: false }),
    ])
    delivery.setWebhooks('/dev/ttyUSB1', [hook({ id: 'e', url: 'http://elsewhere/' })])
    publishTo(delivery, frame())
    await clock.run(0)
    t.same(
      sender.requests.map(({ url }) => url),
      ['http://all/', 'http://frames/'],
    )
  },
)

t.test('A.webhooks.5 a hanging target does not delay any other target', async (t) => {
  const hanging = 20
  const { delivery, sender, clock } = deliveryOver(Array.from({ length: hanging }, (): Deed => 'hangs'))
  const slow = Array.from({ length: hanging }, (_, n) => hook({ id: `slow${n}`, url: 'http://slow/' }))
  delivery.setWebhooks(port, [...slow, hook({ id: 'good', url: 'http://good/' })])
  for (let n = 0; n < 3; n += 1) publishTo(delivery, frame(n))
  await clock.run(0)
  t.equal(sender.requests.filter(({ url }) => url === 'http://good/').length, 3)
  t.equal(delivery.state(port, 'good').counters.delivered, 3)
  t.equal(delivery.state(port, 'slow0').counters.queued, 3)
})

t.test('disabling drops waiting events and keeps the counters; enabling starts afresh', async (t) => {
  const { delivery, sender, clock } = deliveryOver([200, 'hangs'])
  delivery.setWebhooks(port, [hook()])
  for (let n = 0; n < 3; n += 1) publishTo(delivery, frame(n))
  await clock.run(0)
  delivery.setWebhooks(port, [hook({ enabled: false })])
  publishTo(delivery, frame(3))
  await clock.run(20_000)
  t.equal(sender.requests.length, 2)
  t.same(delivery.state(port, 'a').counters, { delivered: 1, failed: 0, dropped: 2, retried: 0, queued: 0 })
  delivery.setWebhooks(port, [hook()])
  publishTo(delivery, frame(4))
  await clock.run(0)
  t.equal(delivery.state(port, 'a').counters.delivered, 2)
})

t.test('deleting drops waiting events and aborts the delivery under way', async (t) => {
  const { delivery, sender, clock, lines } = deliveryOver(['hangs'])
  delivery.setWebhooks(port, [hook()])
  for (let n = 0; n < 3; n += 1) publishTo(delivery, frame(n))
  await clock.run(0)
  delivery.setWebhooks(port, [])
  await clock.run(20_000)
  t.equal(sender.requests.length, 1)
  t.same(sender.aborted, ['frame'])
  t.same(delivery.state(port, 'a').counters, { delivered: 0, failed: 0, dropped: 0, retried: 0, queued: 0 })
  t.equal(
    lines.reduce((sum, { facts }) => sum + Number(facts.count), 0),
    3,
    'the log tells how many were dropped',
  )
})

t.test('a test sends one sample at once, past the queue, also when disabled, and reports the outcome', async (t) => {
  const { delivery, sender, clock } = deliveryOver([404])
  const record = hook({ enabled: false, events: ['port'], secret: 's', headers: { A: 'b' } })
  delivery.setWebhooks(port, [record])
  t.same(await delivery.test(port, record), {
    delivered: false,
    status: 404,
    message: 'answered 404, expected 200 to 299',
    tookMs: 0,
  })
  t.equal(sender.requests.length, 1, 'no retry: the answer says what happened')
  t.match(sender.requests[0], { event: 'test', port, secret: 's', headers: { A: 'b' } })
  const { event, timestamp } = JSON.parse(new TextDecoder().decode(sender.requests[0]?.body))
  t.same({ event, timestamp }, { event: 'test', timestamp: clock.epochMs() })
  t.match(delivery.state(port, 'a'), { counters: { failed: 0, retried: 0 }, lastError: null })
})

t.test('a second test of one webhook is refused while the first is under way', async (t) => {
  const { delivery, clock } = deliveryOver(['hangs'])
  const first = delivery.test(port, hook())
  await t.rejects(delivery.test(port, hook()), { code: 'webhook_test_busy' })
  await clock.run(5000)
  t.match(await first, { delivered: false, status: null, message: 'no answer within 5 s', tookMs: 5000 })
  t.match(await delivery.test(port, hook()), { delivered: true, status: 200 })
})

t.test('closing sends waiting events, accepts no more and closes the sender', async (t) => {
  const { delivery, sender, clock } = deliveryOver([])
  delivery.setWebhooks(port, [hook()])
  for (let n = 0; n < 3; n += 1) publishTo(delivery, frame(n))
  const closed = delivery.close()
  publishTo(delivery, frame(3))
  await clock.run(0)
  await closed
  t.equal(sender.requests.length, 3)
  t.equal(sender.isClosed, true)
})

t.test('closing waits no longer than webhooks.drain_ms for a target that hangs', async (t) => {
  const { delivery, sender, clock, lines } = deliveryOver(['hangs'], { drain_ms: 2000 })
  delivery.setWebhooks(port, [hook()])
  for (let n = 0; n < 3; n += 1) publishTo(delivery, frame(n))
  await clock.run(0)
  let isClosed = false
  const closed = delivery.close().then(() => {
    isClosed = true
  })
  await clock.run(1999)
  t.equal(isClosed, false)
  await clock.run(1)
  await closed
  t.same(sender.aborted, ['frame'])
  t.match(delivery.state(port, 'a').counters, { dropped: 3, queued: 0 })
  t.match(lines[0], { event: 'webhook_dropped', facts: { reason: 'gateway stopped' } })
})
