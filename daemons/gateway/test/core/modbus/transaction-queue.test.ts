import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createTransactionQueue } from '../../../core/bus/turns.ts'

function queueOf(limits = { high: 4, low: 2 }) {
  const clock = fakeClock()
  const expired: [string, number][] = []
  const queue = createTransactionQueue<'high' | 'low', string>({
    clock,
    limits,
    onExpired: (item, waitedMs) => void expired.push([item, waitedMs]),
  })
  const items = (priority: 'high' | 'low') => [...queue.lane(priority)].map(({ item }) => item)
  function take(wanted: string) {
    for (const priority of ['high', 'low'] as const)
      for (const waiting of queue.lane(priority)) if (waiting.item === wanted) return queue.take(waiting)
    return undefined
  }
  return { clock, expired, queue, items, take }
}

t.test('keeps each priority in order of arrival, also when one is taken from the middle', async (t) => {
  const { queue, items, take } = queueOf({ high: 9, low: 9 })
  for (const item of ['a', 'b', 'c']) t.equal(queue.push(item, 'low', 100), true)
  queue.push('first', 'high', 100)
  t.equal(take('b'), 'b')
  t.strictSame([items('high'), items('low')], [['first'], ['a', 'c']])
  t.equal(queue.size, 3)
})

t.test('refuses a priority once the queue is as full as it may make it, and leaves room for higher ones', async (t) => {
  const { queue } = queueOf()
  const pushed = (['low', 'low', 'low', 'high', 'high', 'high', 'low'] as const).map((priority) =>
    queue.push('x', priority, 100),
  )
  t.strictSame(pushed, [true, true, false, true, true, false, false])
  t.equal(queue.size, 4)
})

t.test('drops what waited too long, each after its own time, and nothing that was taken', async (t) => {
  const { clock, expired, queue, take } = queueOf({ high: 9, low: 9 })
  queue.push('early', 'low', 100)
  clock.advance(40)
  queue.push('late', 'high', 100)
  queue.push('patient', 'low', 500)
  queue.push('taken', 'high', 100)
  take('taken')
  clock.advance(60)
  t.strictSame(expired, [['early', 100]])
  clock.advance(40)
  t.strictSame(expired.at(-1), ['late', 100])
  t.equal(queue.size, 1)
  clock.advance(400)
  t.strictSame(expired.at(-1), ['patient', 500])
  t.equal(expired.length, 3)
})

t.test('an entry taken twice counts once', async (t) => {
  const { queue } = queueOf()
  queue.push('a', 'low', 100)
  queue.push('b', 'low', 100)
  const [first] = queue.lane('low')
  if (first) for (let times = 2; times > 0; times--) queue.take(first)
  t.equal(queue.size, 1)
})

t.test('clearing returns all entries in the order of their turns, and leaves no entry and no timer', async (t) => {
  const { clock, queue } = queueOf()
  queue.push('a', 'low', 100)
  queue.push('b', 'high', 100)
  t.strictSame(queue.clear(), ['b', 'a'])
  t.equal(queue.size, 0)
  t.equal(clock.pending(), 0)
})
