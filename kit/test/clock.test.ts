/** The clock of the machine, and the one that tests move. */
import { t } from 'tap'
import { systemClock, wait } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'

t.test('the machine’s clock counts on and runs what was set, unless cancelled', async (t) => {
  const before = systemClock.monotonicMs()
  const cancelled = systemClock.after(0, () => t.fail('was cancelled'))
  cancelled.cancel()
  cancelled.cancel()
  // Timers of the clock do not keep a process alive, a test is kept alive by this one.
  const keepAlive = setInterval(() => {}, 1000)
  await new Promise<void>((resolve) => {
    const timer = systemClock.every(1, () => {
      timer.cancel()
      resolve()
    })
  })
  await wait(systemClock, 1)
  clearInterval(keepAlive)
  t.ok(systemClock.monotonicMs() > before)
  t.ok(Number.isInteger(systemClock.epochMs()))
})

t.test('the fake clock runs timers in order of their time, each at its own instant', async (t) => {
  const clock = fakeClock(1000)
  const told: [string, number][] = []
  clock.after(20, () => told.push(['b', clock.monotonicMs()]))
  clock.after(10, () => told.push(['a', clock.monotonicMs()]))
  const every = clock.every(15, () => told.push(['every', clock.monotonicMs()]))
  clock.advance(30)
  t.same(told, [
    ['a', 10],
    ['every', 15],
    ['b', 20],
    ['every', 30],
  ])
  every.cancel()
  t.equal(clock.pending(), 0)
  t.equal(clock.epochMs(), 1030)
})

t.test('the fake clock steps wall time alone', async (t) => {
  const clock = fakeClock(1000)
  clock.stepEpoch(-500)
  t.equal(clock.epochMs(), 500)
  t.equal(clock.monotonicMs(), 0)
})

t.test('the fake clock lets promises go on between timers', async (t) => {
  const clock = fakeClock()
  const told: number[] = []
  const run = (async () => {
    for (let n = 0; n < 3; n++) {
      await wait(clock, 10)
      told.push(clock.monotonicMs())
    }
  })()
  await clock.run(30)
  await run
  t.same(told, [10, 20, 30])
})
