import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { within } from '../../core/turns.ts'

const late = () => new Fault('driver_timeout', 'too late')
const never = new Promise<never>(() => {})

t.test('a task that ends in time ends the wait, and leaves no timer', async (t) => {
  const clock = fakeClock()
  t.equal(await within(Promise.resolve(5), { clock, limitMs: 10, late }), 5)
  await t.rejects(within(Promise.reject(new Error('no')), { clock, limitMs: 10, late }), { message: 'no' })
  t.equal(clock.pending(), 0)
})

t.test('a task that takes too long is abandoned', async (t) => {
  const clock = fakeClock()
  const waited = within(never, { clock, limitMs: 10, late })
  clock.advance(10)
  await t.rejects(waited, { code: 'driver_timeout' })
})

t.test('a stop signal ends the wait, even if it came before', async (t) => {
  const clock = fakeClock()
  const stopper = new AbortController()
  const waited = within(never, { clock, limitMs: 10, late, stop: stopper.signal })
  stopper.abort(new Error('enough'))
  await t.rejects(waited, { message: 'enough' })
  await t.rejects(within(never, { clock, limitMs: 10, late, stop: stopper.signal }), { message: 'enough' })
  t.equal(clock.pending(), 0)
})
