import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { createWebhookDelivery } from '../../core/webhooks/delivery.ts'
import type { WebhookLimits } from '../../core/webhooks/records.ts'
import { hook, type LoggedLine, limitsWith, publishTo } from '../core/webhooks/webhook-fixtures.ts'
import { type Received, refusingUrl, selfSigned, senderFor, startTarget } from './webhook-targets.ts'

const port = '/dev/ttyUSB0'

/** Deliveries over real connections; an attempt has 1 s, so that a hang does not cost the test 5 s. */
function deliveryFor(t: Parameters<typeof senderFor>[0], changes: Partial<WebhookLimits> = {}) {
  const lines: LoggedLine[] = []
  const delivery = createWebhookDelivery({
    sender: senderFor(t),
    clock: systemClock,
    log: { warning: (event, facts) => void lines.push({ event, facts }) },
    limits: limitsWith({ timeout_ms: 1000, drain_ms: 30_000, ...changes }),
  })
  return { delivery, lines }
}

const frame = (payload: unknown) => ({ port, event: 'frame', timestamp: 1_900_000_000_000, payload })
const payloadOf = ({ body }: Received) => JSON.parse(body.toString()).payload

/** Treats each request as its payload and the number of the try ask for. */
function obedient(received: Received, answer: ServerResponse, tries: Map<string, number>): void {
  const [deed = '', second = deed] = String(payloadOf(received)).replace(/^\d+ /, '').split(', ')
  const tried = tries.get(payloadOf(received)) ?? 0
  tries.set(payloadOf(received), tried + 1)
  const now = tried === 0 ? deed : second
  if (now === 'hangs') return
  if (now === 'resets') received.socket.resetAndDestroy()
  else answer.writeHead(Number(now), { location: '/elsewhere' }).end()
}

t.test('A.webhooks.5 order is kept under mixed failures of a real target, each tried at most twice', async (t) => {
  const tries = new Map<string, number>()
  const target = await startTarget(t, (received, answer) => obedient(received, answer, tries))
  const { delivery, lines } = deliveryFor(t)
  delivery.setWebhooks(port, [hook({ url: target.url })])
  const deeds = ['200', '500, 200', 'hangs, 204', 'resets', '302', 'resets, 200', '500, hangs', '200']
  const payloads = deeds.map((deed, n) => `${n} ${deed}`)
  for (const payload of payloads) publishTo(delivery, frame(payload))
  await delivery.close()
  t.same([...tries.keys()], payloads)
  t.same([...tries.values()], [1, 2, 2, 2, 2, 2, 2, 1])
  t.same(delivery.state(port, 'a').counters, { delivered: 5, failed: 3, dropped: 0, retried: 6, queued: 0 })
  t.match(delivery.state(port, 'a').lastError, { status: null, message: 'no answer within 1 s' })
  t.equal(
    lines.reduce((sum, { facts }) => sum + Number(facts.count), 0),
    3,
    'every failed delivery is in the log',
  )
})

t.test('A.webhooks.5 targets that hang, are down, redirect or are not trusted do not delay a good one', async (t) => {
  const hanging = await startTarget(t, () => {})
  const failing = await startTarget(t, (_received, answer) => void answer.writeHead(500).end())
  const redirecting = await startTarget(t, (_received, answer) => void answer.writeHead(307, { location: '/' }).end())
  const untrusted = await startTarget(t, undefined, selfSigned(t).tls)
  let seen = 0
  const allSeen = Promise.withResolvers<void>()
  const good = await startTarget(t, (_received, answer) => {
    answer.end()
    if (++seen === 20) allSeen.resolve()
  })
  // An attempt has its full 5 s here: the good target must not wait for even one of them.
  const { delivery } = deliveryFor(t, { timeout_ms: 5000, drain_ms: 0 })
  const urls = [hanging.url, failing.url, redirecting.url, untrusted.url, await refusingUrl(), good.url]
  delivery.setWebhooks(
    port,
    urls.map((url, n) => hook({ id: `w${n}`, url })),
  )
  const goneAfter = Array.from({ length: 20 }, (_, n) => `n${n}`)
  for (const payload of goneAfter) publishTo(delivery, frame(payload))
  await allSeen.promise
  t.same(good.received.map(payloadOf), goneAfter)
  t.ok(hanging.received.length <= 1, 'the hanging one is still at its first')
  t.match(delivery.state(port, 'w0').counters, { delivered: 0, queued: 20 })
  await delivery.close()
  t.match(delivery.state(port, 'w0').counters, { dropped: 20, queued: 0 })
  t.same(untrusted.received, [])
})

t.test('a kept connection that died unnoticed costs a retry, but no event', async (t) => {
  const answered = new Map<unknown, number>()
  const target = await startTarget(t, ({ socket }, answer) => {
    const already = answered.get(socket) ?? 0
    answered.set(socket, already + 1)
    // Each connection serves one request, and breaks at the next, as behind a proxy that restarts.
    if (already > 0) socket.destroy()
    else answer.end()
  })
  const { delivery } = deliveryFor(t)
  delivery.setWebhooks(port, [hook({ url: target.url })])
  for (let n = 0; n < 5; n += 1) publishTo(delivery, frame(n))
  await delivery.close()
  t.match(delivery.state(port, 'a').counters, { delivered: 5, failed: 0 })
})

t.test('disabling closes the connection of a delivery under way', async (t) => {
  const arrived = Promise.withResolvers<Received>()
  const target = await startTarget(t, (received) => arrived.resolve(received))
  const { delivery } = deliveryFor(t, { timeout_ms: 5000 })
  delivery.setWebhooks(port, [hook({ url: target.url })])
  publishTo(delivery, frame(1))
  const { socket } = await arrived.promise
  const isClosed = once(socket, 'close')
  delivery.setWebhooks(port, [hook({ url: target.url, enabled: false })])
  await isClosed
  await delivery.close()
  t.same(delivery.state(port, 'a').counters, { delivered: 0, failed: 0, dropped: 1, retried: 0, queued: 0 })
})
