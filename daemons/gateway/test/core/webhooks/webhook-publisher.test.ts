import { serialize } from 'node:v8'
import t from 'tap'
import { heapBytesOf, rowOf } from '#kit/test/heap.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { createWebhookPublisher, type WebhookCourier } from '../../../core/webhooks/book.ts'
import { createWebhookDelivery } from '../../../core/webhooks/delivery.ts'
import { courierTo, eventsHere, fakeSender, hook, queueParts } from './webhook-fixtures.ts'

const port = '/dev/ttyUSB0'
const frame = (payload?: unknown) => ({ port, event: 'frame', timestamp: 1_900_000_000_123, payload })

/** @param changes to a courier that otherwise takes everything at once */
function publisherOver(changes: Partial<WebhookCourier> = {}, transitBytes = 65_536) {
  const sender = fakeSender()
  const parts = queueParts(sender)
  const delivery = createWebhookDelivery(parts)
  const courier = { ...courierTo(delivery), ...changes }
  const hub = eventsHere()
  const publisher = createWebhookPublisher(courier, { hub, clock: parts.clock, transitBytes })
  return { ...parts, hub, sender, delivery, publisher }
}

t.test('serialises an event once for all targets, and not at all if none wants it', async (t) => {
  const { hub, publisher, sender, clock } = publisherOver()
  let reads = 0
  const counted = {
    ...frame(),
    get payload() {
      reads += 1
      return 1
    },
  }
  hub.publish(counted)
  await publisher.setWebhooks(port, [hook({ id: 'x', events: ['port'] }), hook({ id: 'y', enabled: false })])
  hub.publish(counted)
  t.equal(reads, 0)
  await publisher.setWebhooks(port, [hook({ id: 'a' }), hook({ id: 'b' })])
  t.equal(publisher.size(), 2)
  hub.publish(counted)
  t.equal(reads, 1)
  await clock.run(0)
  t.equal(sender.requests.length, 2)
  t.equal(sender.requests[0]?.body, sender.requests[1]?.body)
})

t.test('events are heard only while a port has a webhook', async (t) => {
  const { hub, publisher } = publisherOver()
  t.equal(hub.isHeard(), false)
  await publisher.setWebhooks(port, [hook()])
  await publisher.setWebhooks('/dev/ttyUSB1', [hook()])
  await publisher.setWebhooks(port, [])
  t.equal(hub.isHeard(), true)
  await publisher.setWebhooks('/dev/ttyUSB1', [])
  t.equal(hub.isHeard(), false)
  await publisher.setWebhooks(port, [hook()])
  await publisher.close()
  t.equal(hub.isHeard(), false)
})

t.test('a payload that is not JSON is counted, and is never a fault for the publisher', async (t) => {
  const { hub, publisher, delivery, sender, clock, lines } = publisherOver()
  await publisher.setWebhooks(port, [hook()])
  hub.publish(frame(1n))
  await clock.run(0)
  t.same(sender.requests, [])
  t.equal(delivery.state(port, 'a').counters.dropped, 1)
  t.match(lines, [{ event: 'webhook_dropped', facts: { event: 'frame', reason: /payload is not JSON/ } }])
})

t.test('what is published in one turn goes to the thread together, in order', async (t) => {
  const handed: string[][] = []
  const { hub, publisher, clock } = publisherOver({
    hand: async ({ events }) => void handed.push(events.map(({ event }) => event)),
  })
  await publisher.setWebhooks(port, [hook()])
  for (const event of ['a', 'b', 'c']) hub.publish({ ...frame(), event })
  t.same(handed, [], 'not in the turn of the bus')
  await clock.run(0)
  hub.publish({ ...frame(), event: 'd' })
  await clock.run(0)
  t.same(handed, [['a', 'b', 'c'], ['d']])
})

t.test(
  'for a thread that takes nothing webhooks.transit_bytes are held at most; later events are dropped and counted',
  async (t) => {
    const taken = Promise.withResolvers<void>()
    const losses: number[] = []
    const { hub, publisher, clock } = publisherOver(
      {
        hand(batch) {
          for (const { count } of batch.losses) losses.push(count)
          return taken.promise
        },
      },
      1000,
    )
    await publisher.setWebhooks(port, [hook()])
    for (let n = 0; n < 10; n++) hub.publish(frame('x'.repeat(200)))
    await clock.run(0)
    t.same(losses, [7], 'three bodies of 280 bytes fit')
    hub.publish(frame('x'.repeat(200)))
    await clock.run(0)
    t.same(losses, [7, 1])
    taken.resolve()
    await clock.run(0)
    hub.publish(frame('x'.repeat(200)))
    await clock.run(0)
    t.same(losses, [7, 1], 'the room is back once they were taken')
  },
)

t.test('events lost with a thread that ended are counted by the next one', async (t) => {
  let isBroken = true
  const { hub, publisher, delivery, clock, lines } = publisherOver({
    async hand(batch) {
      if (isBroken) throw new Error('the thread has ended')
      await courierTo(delivery).hand(batch)
    },
  })
  await publisher.setWebhooks(port, [hook()])
  hub.publish(frame(1))
  clock.advance(0)
  isBroken = false
  hub.publish(frame(2))
  await clock.run(0)
  t.match(delivery.state(port, 'a').counters, { dropped: 1, delivered: 1 })
  t.match(lines, [{ event: 'webhook_dropped', facts: { reason: /the thread has ended/ } }])
})

t.test(
  'events in transit, the shortest and the longest, in non-Latin letters, take the memory their row says',
  async (t) => {
    const transitBytes = 1_048_576
    const settings = { 'webhooks.transit_bytes': transitBytes }
    const { allBytes } = rowOf(memoryPlan().rows, 'events on their way', settings)
    for (const payload of [null, 'ж', 'ж'.repeat(8192)]) {
      let count = 0
      const bytes = await heapBytesOf(async () => {
        // Like a thread that takes nothing.
        const messages: unknown[] = []
        const { hub, publisher, clock } = publisherOver(
          {
            hand(batch) {
              messages.push(serialize({ number: 1, task: { kind: 'hand', ...batch } }), batch)
              return new Promise(() => {})
            },
          },
          transitBytes,
        )
        await publisher.setWebhooks(port, [hook()])
        const size = JSON.stringify(frame(payload)).length
        for (count = 0; count < Math.ceil(transitBytes / size); count++) {
          hub.publish(frame(payload))
          if (count % 100 === 0) await clock.run(0)
        }
        await clock.run(0)
        return [publisher, clock, messages]
      })
      t.ok(bytes < allBytes, `${count} events take ${bytes} of ${allBytes} bytes`)
    }
  },
)
