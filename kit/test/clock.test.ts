/** The clock of the machine, and the one that tests move. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { t } from 'tap'
import { atMost, systemClock, wait } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'

t.test('the machine’s clock advances and runs its timers, unless cancelled', async (t) => {
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

t.test('a timer longer than Node supports is made of several, and never runs early', async (t) => {
  const set: { delayMs: number; run: () => void; isOver: boolean }[] = []
  t.intercept(globalThis, 'setTimeout', {
    value: (run: () => void, delayMs: number) => {
      const own = { delayMs, run, isOver: false, unref: () => {} }
      return set.push(own) && own
    },
  })
  t.intercept(globalThis, 'clearTimeout', {
    value: (own: { isOver: boolean }) => {
      own.isOver = true
    },
  })
  let times = 0
  const longest = 2 ** 31 - 1
  systemClock.after(2 * longest + 500, () => times++)
  systemClock.after(Number.POSITIVE_INFINITY, () => t.fail('never'))
  t.same(
    set.map(({ delayMs }) => delayMs),
    [longest, longest],
  )
  set[0]?.run()
  set[2]?.run()
  t.equal(times, 0)
  set[3]?.run()
  t.equal(times, 1)
  set[1]?.run()
  t.same(
    set.map(({ delayMs }) => delayMs),
    [longest, longest, longest, 500, longest],
  )
  const cancelled = systemClock.after(3 * longest, () => t.fail('was cancelled'))
  set[5]?.run()
  cancelled.cancel()
  t.equal(set[6]?.isOver, true, 'the part that runs now is cancelled')
})

t.test('a period longer than Node supports becomes the longest one', async (t) => {
  const periods: number[] = []
  t.intercept(globalThis, 'setInterval', {
    value: (_run: () => void, periodMs: number) => periods.push(periodMs) && { unref: () => {} },
  })
  systemClock.every(2 ** 31, () => {})
  systemClock.every(1000, () => {})
  t.same(periods, [2 ** 31 - 1, 1000])
})

t.test('a callback set to run soon runs after pending input has been read, unless cancelled', async (t) => {
  systemClock.soon(() => t.fail('was cancelled')).cancel()
  const begun = systemClock.soon(() => t.fail('was cancelled'))
  await new Promise((resolve) => setImmediate(resolve))
  begun.cancel()
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  for (let times = 0; times < 20; times++) {
    const told: string[] = []
    accepted.once('data', () => told.push('read'))
    client.write('x')
    // A process that stalls: the byte is ready when it continues.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    await new Promise<void>((resolve) => {
      systemClock.soon(() => {
        told.push('soon')
        resolve()
      })
    })
    t.same(told, ['read', 'soon'])
  }
  client.destroy()
  server.close()
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

t.test('the fake clock steps only wall time', async (t) => {
  const clock = fakeClock(1000)
  clock.stepEpoch(-500)
  t.equal(clock.epochMs(), 500)
  t.equal(clock.monotonicMs(), 0)
})

t.test('the fake clock lets promises continue between timers', async (t) => {
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

t.test('a task that ends soon is waited for, also if it fails, and leaves no timer', async (t) => {
  const clock = fakeClock()
  t.equal(await atMost(clock, 2000, Promise.resolve()), true)
  await t.rejects(atMost(clock, 2000, Promise.reject(new Error('broken'))), /broken/)
  t.equal(clock.pending(), 0)
})

t.test('a task that takes longer is left running', async (t) => {
  const clock = fakeClock()
  let isOver = false
  const waited = atMost(clock, 2000, new Promise<void>(() => {})).finally(() => {
    isOver = true
  })
  await clock.run(1999)
  t.equal(isOver, false)
  await clock.run(1)
  t.equal(await waited, false)
  t.equal(isOver, true)
})
