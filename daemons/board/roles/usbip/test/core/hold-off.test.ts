/** Hosts that were detached and are held off. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createHoldOff } from '../../core/host-desk.ts'

t.test('holds off a host for its time, and nobody else', (t) => {
  const clock = fakeClock()
  const holdOff = createHoldOff(clock, 60_000)
  t.equal(holdOff.untilAt(), null)
  holdOff.hold('10.0.0.5')
  t.equal(holdOff.untilAt(), clock.epochMs() + 60_000)
  t.ok(holdOff.isHeld('10.0.0.5'))
  t.notOk(holdOff.isHeld('10.0.0.6'))
  clock.advance(59_999)
  t.ok(holdOff.isHeld('10.0.0.5'))
  clock.advance(1)
  t.notOk(holdOff.isHeld('10.0.0.5'))
  t.equal(holdOff.untilAt(), null)
  t.end()
})

t.test('a wall clock that steps changes nothing', (t) => {
  const clock = fakeClock()
  const holdOff = createHoldOff(clock, 1000)
  holdOff.hold('10.0.0.5')
  clock.stepEpoch(3_600_000)
  t.ok(holdOff.isHeld('10.0.0.5'))
  t.end()
})

t.test('keeps a limited number of them, the latest', (t) => {
  const holdOff = createHoldOff(fakeClock(), 1000)
  for (let i = 0; i < 1000; i++) holdOff.hold(`host${i}`)
  t.notOk(holdOff.isHeld('host935'))
  t.ok(holdOff.isHeld('host936'))
  t.ok(holdOff.isHeld('host999'))
  t.end()
})

t.test('a time of 0 holds nobody off', (t) => {
  const holdOff = createHoldOff(fakeClock(), 0)
  holdOff.hold('10.0.0.5')
  t.notOk(holdOff.isHeld('10.0.0.5'))
  t.end()
})
