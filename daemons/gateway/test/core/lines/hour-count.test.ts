/** Tests of counts over the last hour. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createHourCount } from '../../../core/lines/port.ts'

const MINUTE_MS = 60_000

t.test('counts events of the last hour and forgets older ones', async (t) => {
  const clock = fakeClock()
  const count = createHourCount(clock)
  t.equal(count.lastHour(), 0)
  count.add()
  count.add()
  clock.advance(30 * MINUTE_MS)
  count.add()
  t.equal(count.lastHour(), 3)
  clock.advance(30 * MINUTE_MS)
  t.equal(count.lastHour(), 1, 'the first two are an hour old')
  clock.advance(30 * MINUTE_MS)
  t.equal(count.lastHour(), 0)
})

t.test('an hour and more without a count is an empty hour', async (t) => {
  const clock = fakeClock()
  const count = createHourCount(clock)
  for (let minute = 0; minute < 60; minute++) {
    count.add()
    clock.advance(MINUTE_MS)
  }
  t.equal(count.lastHour(), 59, 'the oldest minute has just gone')
  clock.advance(1000 * MINUTE_MS)
  t.equal(count.lastHour(), 0)
  count.add()
  t.equal(count.lastHour(), 1)
})
