import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { until } from '#kit/test/until.ts'
import { createWebhookCourier } from '../../io/webhook-courier.ts'
import { hook, limitsWith } from '../core/webhooks/webhook-fixtures.ts'
import { startTarget } from './webhook-targets.ts'

const port = '/dev/ttyUSB0'

function courierFor(t: { teardown(run: () => Promise<void>): void }) {
  const errors: string[] = []
  const log = { warning: () => {}, error: (event: string) => void errors.push(event) }
  const courier = createWebhookCourier({ clock: systemClock, log, limits: limitsWith() })
  t.teardown(() => courier.close())
  const tell = (body: string) => courier.hand({ events: [{ port, event: 'frame', body }], losses: [] })
  return { courier, errors, tell }
}

t.test('a separate thread delivers, counts, tests, and is gone once it is closed', async (t) => {
  let answerTest = Promise.resolve()
  const target = await startTarget(t, (_received, answer) => void answerTest.then(() => answer.end()))
  const { courier, tell } = courierFor(t)
  const record = hook({ url: target.url, secret: 'open sesame' })
  await courier.setWebhooks(port, [record])
  await Promise.all([tell('{"n":1}'), tell('{"n":2}')])
  await courier.hand({ events: [], losses: [{ port, event: 'frame', reason: 'no room', count: 3 }] })
  await until('both arrived', () => target.received.length === 2)
  t.same(
    target.received.map(({ body }) => body.toString()),
    ['{"n":1}', '{"n":2}'],
  )
  await until('both are counted', async () => (await courier.state(port, 'a')).counters.delivered === 2)
  t.match(await courier.state(port, 'a'), { counters: { dropped: 3, queued: 0 }, pausedUntil: null })
  const { promise, resolve } = Promise.withResolvers<void>()
  answerTest = promise
  const first = courier.test(port, record)
  await t.rejects(courier.test(port, record), { code: 'webhook_test_busy' })
  resolve()
  t.match(await first, { delivered: true, status: 200 })
  await courier.close()
})

t.test('a thread that dies of a fault is restarted with the webhooks as they are', async (t) => {
  const target = await startTarget(t, (_received, answer) => answer.end())
  const { courier, errors, tell } = courierFor(t)
  await courier.setWebhooks(port, [hook({ url: target.url })])
  // No caller does this: it stands for a fault in the thread.
  await t.rejects(tell(undefined as unknown as string), { code: 'webhook_thread_ended' })
  t.same(errors, ['webhook_thread_failed'])
  await until('it delivers again', async () => {
    await tell('{}')
    return target.received.length > 0
  })
})

t.test('an event handed in right after the thread has died is delivered, or counted, as usual', async (t) => {
  const target = await startTarget(t, (_received, answer) => answer.end())
  const { courier, tell } = courierFor(t)
  await courier.setWebhooks(port, [hook({ url: target.url })])
  await t.rejects(tell(undefined as unknown as string), { code: 'webhook_thread_ended' })
  await tell('{"n":1}')
  await courier.hand({ events: [], losses: [{ port, event: 'frame', reason: 'the thread had died', count: 3 }] })
  await until('it arrives', () => target.received.length === 1)
  await until('both are counted', async () => (await courier.state(port, 'a')).counters.delivered === 1)
  t.match(await courier.state(port, 'a'), { counters: { dropped: 3 } })
})

t.test('webhooks that are set or removed while the thread dies are so afterwards', async (t) => {
  const target = await startTarget(t, (_received, answer) => answer.end())
  const { courier, tell } = courierFor(t)
  await courier.setWebhooks(port, [])
  const dies = t.rejects(tell(undefined as unknown as string), { code: 'webhook_thread_ended' })
  await courier.setWebhooks(port, [hook({ url: target.url })])
  await dies
  await tell('{"n":1}')
  await until('it arrives', () => target.received.length === 1)
})
