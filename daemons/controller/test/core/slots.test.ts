import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createSlots } from '../../core/turns.ts'

t.test('no more tasks run at once than there are slots, in order, also after one that failed', async (t) => {
  const clock = fakeClock()
  const inSlots = createSlots(2, clock)
  const ends: (() => void)[] = []
  const begun: number[] = []
  const tasks = [0, 1, 2, 3].map((n) =>
    inSlots(async () => {
      begun.push(n)
      await new Promise<void>((resolve) => ends.push(resolve))
      if (n === 0) throw new Error('no')
    }),
  )
  const outcomes = Promise.allSettled(tasks)
  t.strictSame(begun, [0, 1])
  ends[0]?.()
  await tasks[0]?.catch(() => {})
  await clock.run(0)
  t.strictSame(begun, [0, 1, 2])
  ends[1]?.()
  await tasks[1]
  await clock.run(0)
  t.strictSame(begun, [0, 1, 2, 3])
  ends[2]?.()
  ends[3]?.()
  t.strictSame(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  )
})
