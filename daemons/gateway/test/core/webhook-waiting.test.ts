import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { createWaitingLine } from '../../core/webhook-waiting.ts'
import { outgoing } from './webhook-fixtures.ts'

function namesOf(line: ReturnType<typeof createWaitingLine>): string[] {
  const names: string[] = []
  for (let next = line.take(); next; next = line.take()) names.push(next.event)
  return names
}

t.test('gives events back in order', async (t) => {
  const line = createWaitingLine({ queue: 4, queue_bytes: 100 })
  for (const name of ['a', 'b', 'c']) t.equal(line.add(outgoing(name)), 0)
  t.same(namesOf(line), ['a', 'b', 'c'])
  t.equal(line.length(), 0)
})

t.test('drops the oldest when the count is reached', async (t) => {
  const line = createWaitingLine({ queue: 2, queue_bytes: 100 })
  t.same(
    ['a', 'b', 'c', 'd'].map((name) => line.add(outgoing(name))),
    [0, 0, 1, 1],
  )
  t.same(namesOf(line), ['c', 'd'])
})

t.test('drops the oldest until the bytes fit, and a body that never fits', async (t) => {
  const line = createWaitingLine({ queue: 10, queue_bytes: 10 })
  line.add(outgoing('a', 4))
  line.add(outgoing('b', 4))
  t.equal(line.add(outgoing('c', 7)), 2)
  t.equal(line.add(outgoing('d', 11)), 2)
  t.same(namesOf(line), [])
})

t.test('never holds more than its bounds and loses none uncounted', async (t) => {
  const sizes = fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 40 })
  holds(
    t,
    fc.property(sizes, (given) => {
      const line = createWaitingLine({ queue: 5, queue_bytes: 50 })
      const dropped = given.reduce((sum, size, n) => sum + line.add(outgoing(String(n), size)), 0)
      const held = namesOf(line)
      const bytes = held.reduce((sum, name) => sum + (given[Number(name)] ?? 0), 0)
      return held.length <= 5 && bytes <= 50 && held.length + dropped === given.length
    }),
  )
})
