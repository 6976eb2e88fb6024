import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createTransactionQueue } from '../../core/transaction-queue.ts'

function queueOf(limit: number) {
  const clock = fakeClock()
  const expired: [string, number][] = []
  const queue = createTransactionQueue<string>({
    clock,
    limit,
    waitMs: 100,
    onExpired: (item, waitedMs) => void expired.push([item, waitedMs]),
  })
  return { clock, expired, queue }
}

t.test('gives out in order of arrival, passing over those that may not go yet', async (t) => {
  const { queue } = queueOf(3)
  for (const item of ['held', 'a', 'b']) t.equal(queue.push(item), true)
  const mayGo = (item: string) => item !== 'held'
  t.equal(queue.has(mayGo), true)
  t.equal(queue.take(mayGo), 'a')
  t.equal(queue.take(mayGo), 'b')
  t.equal(queue.take(mayGo), undefined)
  t.equal(
    queue.take(() => true),
    'held',
  )
})

t.test('refuses more than its limit', async (t) => {
  const { queue } = queueOf(1)
  t.equal(queue.push('a'), true)
  t.equal(queue.push('b'), false)
  t.equal(queue.size, 1)
})

t.test('lets go of what waited too long, and of nothing that was taken', async (t) => {
  const { clock, expired, queue } = queueOf(3)
  queue.push('early')
  clock.advance(40)
  queue.push('late')
  queue.push('taken')
  queue.take((item) => item === 'taken')
  clock.advance(60)
  t.strictSame(expired, [['early', 100]])
  clock.advance(40)
  t.strictSame(expired.at(-1), ['late', 100])
  t.equal(queue.size, 0)
})

t.test('is empty and without timers once cleared', async (t) => {
  const { clock, queue } = queueOf(3)
  queue.push('a')
  queue.push('b')
  t.strictSame(queue.clear(), ['a', 'b'])
  t.equal(clock.pending(), 0)
})
