/** Tests of core/streams/finding.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { gathered } from '../../../core/streams/finding.ts'

t.test('a change is sent at once, a thousand that follow together, and the last one always', async (t) => {
  const clock = fakeClock()
  const toldMs: number[] = []
  const change = gathered(clock, 100, () => void toldMs.push(clock.monotonicMs()))
  change()
  t.same(toldMs, [0])
  for (let count = 0; count < 1000; count++) change()
  clock.advance(50)
  change()
  clock.advance(1000)
  t.same(toldMs, [0, 100])
  change()
  t.same(toldMs, [0, 100, 1050])
  clock.advance(100)
  t.equal(clock.pending(), 0)
})
