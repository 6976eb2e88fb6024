import fc from 'fast-check'
import t from 'tap'
import { MIB } from '#kit/pure/memory-plan.ts'
import { heapBytesOf, heldBytes, rowOf } from '#kit/test/heap.ts'
import { holds } from '#kit/test/holds.ts'
import { memoryPlan } from '../../../core/memory.ts'
import { createHeldBodies, createWaitingLine, type WaitingBounds } from '../../../core/webhooks/queue.ts'
import { WEBHOOK_HEAP_MIB } from '../../../core/webhooks/records.ts'
import { limitsWith, outgoing } from './webhook-fixtures.ts'

/** A queue beside which nothing else waits. */
function lineHere(bounds: WaitingBounds) {
  return createWaitingLine(bounds, createHeldBodies(1000), () => {})
}

function namesOf(line: ReturnType<typeof createWaitingLine>): string[] {
  const names: string[] = []
  for (let next = line.take(); next; next = line.take()) names.push(next.event)
  return names
}

t.test('gives events back in order', async (t) => {
  const line = lineHere({ queue: 4, queue_bytes: 100 })
  for (const name of ['a', 'b', 'c']) t.equal(line.add(outgoing(name)), 0)
  t.same(namesOf(line), ['a', 'b', 'c'])
  t.equal(line.length(), 0)
})

t.test('drops the oldest when the count is reached', async (t) => {
  const line = lineHere({ queue: 2, queue_bytes: 100 })
  t.same(
    ['a', 'b', 'c', 'd'].map((name) => line.add(outgoing(name))),
    [0, 0, 1, 1],
  )
  t.same(namesOf(line), ['c', 'd'])
})

t.test('drops the oldest until the bytes fit, and drops a body that can never fit', async (t) => {
  const line = lineHere({ queue: 10, queue_bytes: 10 })
  line.add(outgoing('a', 4))
  line.add(outgoing('b', 4))
  t.equal(line.add(outgoing('c', 7)), 2)
  t.equal(line.add(outgoing('d', 11)), 2)
  t.same(namesOf(line), [])
})

t.test('never holds more than its limits, and counts every event it loses', async (t) => {
  const sizes = fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 40 })
  holds(
    t,
    fc.property(sizes, (given) => {
      const line = lineHere({ queue: 5, queue_bytes: 50 })
      const dropped = given.reduce((sum, size, n) => sum + line.add(outgoing(String(n), size)), 0)
      const held = namesOf(line)
      const bytes = held.reduce((sum, name) => sum + (given[Number(name)] ?? 0), 0)
      return held.length <= 5 && bytes <= 50 && held.length + dropped === given.length
    }),
  )
})

/** Queues that share a common limit. */
function linesHere(count: number, mostBytes: number) {
  const held = createHeldBodies(mostBytes)
  const lost = new Array<number>(count).fill(0)
  const bounds = { queue: 100, queue_bytes: 1000 }
  const lines = lost.map((_, at) =>
    createWaitingLine(bounds, held, () => {
      lost[at] = (lost[at] ?? 0) + 1
    }),
  )
  const [one, other, third] = lines as [Line, Line, Line]
  return { held, lost, one, other, third }
}

type Line = ReturnType<typeof createWaitingLine>

t.test('when too much waits for all targets together, the one with most loses its oldest', async (t) => {
  const { held, lost, one, other, third } = linesHere(3, 100)
  for (const name of ['a', 'b', 'c', 'd']) one.add(outgoing(name, 20))
  other.add(outgoing('e', 20))
  t.same(lost, [0, 0, 0], 'filled to the bound')
  t.equal(held.bytes, 100)
  third.add(outgoing('f', 20))
  third.add(outgoing('g', 20))
  t.same(lost, [2, 0, 0])
  t.equal(held.bytes, 100)
  t.same([namesOf(one), namesOf(other), namesOf(third)], [['c', 'd'], ['e'], ['f', 'g']])
  t.equal(held.bytes, 0)
})

t.test('a body that waits for many targets is held once', async (t) => {
  const { held, lost, one, other, third } = linesHere(3, 50)
  for (const name of ['a', 'b']) {
    const shared = outgoing(name, 20)
    for (const line of [one, other, third]) line.add(shared)
  }
  t.same(lost, [0, 0, 0])
  t.equal(held.bytes, 40)
  one.take()
  t.equal(held.bytes, 40, 'others still hold it')
  other.take()
  third.take()
  t.equal(held.bytes, 20)
})

t.test('never holds more for all targets than is allowed, and counts every event it loses', async (t) => {
  const adds = fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 60 })), { maxLength: 40 })
  holds(
    t,
    fc.property(adds, (given) => {
      const { held, lost, one, other, third } = linesHere(3, 100)
      const lines = [one, other, third]
      for (const [at, size] of given) {
        lines[at]?.add(outgoing('x', size))
        if (held.bytes > 100) return false
      }
      const kept = lines.reduce((sum, line) => sum + line.length(), 0)
      return kept + lost.reduce((sum, many) => sum + many, 0) === given.length
    }),
  )
})

t.test(
  'queues of all targets, full of the shortest or the longest events, take what their row and the heap of their thread say',
  async (t) => {
    const limits = limitsWith({ held_bytes: 8 * MIB })
    const settings = { 'webhooks.queue_bytes': limits.queue_bytes, 'webhooks.held_bytes': limits.held_bytes }
    const { allBytes } = rowOf(memoryPlan().rows, 'events that wait for targets', settings)
    const encoder = new TextEncoder()
    const filledWith = (length: number, each: number) => {
      const held = createHeldBodies(limits.held_bytes)
      const lines = Array.from({ length: limits.total }, () => createWaitingLine(limits, held, () => {}))
      for (const line of lines)
        for (let count = 0; count < each; count++)
          line.add({ port: '/dev/ttyUSB0', event: 'frame', body: encoder.encode('x'.repeat(length)) })
      return { held, lines }
    }
    const shortest = await heapBytesOf(() => filledWith(80, limits.queue))
    const most = WEBHOOK_HEAP_MIB.old * MIB
    t.ok(shortest < most / 4, `${shortest} bytes with those of the heap, of ${most}`)
    const before = await heldBytes()
    const { held } = filledWith(50_000, 2)
    t.ok(held.bytes > limits.held_bytes - 50_000, 'filled to the bound')
    const bytes = (await heldBytes()) - before
    t.ok(bytes < allBytes + 262_144, `${bytes} bytes, of ${allBytes}`)
    t.ok(held.bytes <= allBytes)
  },
)
