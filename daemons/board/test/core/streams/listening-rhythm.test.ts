/** Tests of core/streams/book.ts. */
import t from 'tap'
import { createRhythm } from '../../../core/streams/book.ts'

t.test('ten missed announcements are too many, 30 s apart until the rhythm is known', async (t) => {
  const rhythm = createRhythm(0)
  t.equal(rhythm.isOver(300_000), false)
  t.equal(rhythm.isOver(300_001), true)
  rhythm.heard(5000)
  t.equal(rhythm.isOver(55_000), false)
  t.equal(rhythm.isOver(55_001), true)
})

t.test('a lost or repeated announcement does not change the rhythm much', async (t) => {
  const rhythm = createRhythm(0)
  for (let nowMs = 10_000; nowMs <= 100_000; nowMs += 10_000) rhythm.heard(nowMs)
  rhythm.heard(100_500)
  rhythm.heard(120_000)
  t.equal(rhythm.isOver(120_000 + 125_000), false)
  t.equal(rhythm.isOver(120_000 + 125_001), true)
})
