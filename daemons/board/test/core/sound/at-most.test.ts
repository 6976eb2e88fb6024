/** Tests of core/sound/at-most.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { atMost } from '../../../core/sound/at-most.ts'

t.test('what is soon over is waited for, with its failure, and leaves no timer', async (t) => {
  const clock = fakeClock()
  await atMost(clock, 2000, Promise.resolve())
  await t.rejects(atMost(clock, 2000, Promise.reject(new Error('broken'))), /broken/)
  t.equal(clock.pending(), 0)
})

t.test('what takes longer is left to itself', async (t) => {
  const clock = fakeClock()
  let isOver = false
  const waited = atMost(clock, 2000, new Promise<void>(() => {})).then(() => {
    isOver = true
  })
  await clock.run(1999)
  t.equal(isOver, false)
  await clock.run(1)
  await waited
  t.equal(isOver, true)
})
