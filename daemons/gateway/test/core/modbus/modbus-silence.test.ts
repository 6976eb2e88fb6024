import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { awaitSilence } from '../../../core/bus/transactions.ts'

/** Waits for silence on a line whose last byte the test sets. */
function waiting(activeMs: number, gapMs: number) {
  const clock = fakeClock()
  const on = { clock, activeMs, told: [] as [string, number][] }
  const timer = awaitSilence({
    clock,
    prompt: undefined,
    silentAtMs: () => on.activeMs + gapMs,
    limitMs: 100,
    chosen: () => undefined,
    onSent: () => {},
    onSilent: () => void on.told.push(['silent', clock.monotonicMs()]),
    onBusy: (waitedMs) => void on.told.push(['busy', waitedMs]),
  })
  return { on, timer }
}

t.test('a line that has long been silent may be sent on at once, but never in the same turn', async (t) => {
  const { on } = waiting(-50, 2)
  t.strictSame(on.told, [])
  await on.clock.run(0)
  t.strictSame(on.told, [['silent', 0]])
})

t.test('bytes left in the driver are read before the send, and restart the silence', async (t) => {
  const { on } = waiting(-50, 2)
  on.activeMs = 0
  await on.clock.run(1)
  t.strictSame(on.told, [])
  await on.clock.run(1)
  t.strictSame(on.told, [['silent', 2]])
})

t.test('after a stall of the process, input that arrived meanwhile counts before the timer', async (t) => {
  const { on } = waiting(0, 2)
  const stalledMs = 30
  // The timer runs first, as in Node; the byte that arrived during the stall is read next.
  on.clock.after(2, () => {
    on.activeMs = stalledMs
  })
  await on.clock.run(stalledMs + 1)
  t.strictSame(on.told, [])
  await on.clock.run(1)
  t.strictSame(on.told, [['silent', stalledMs + 2]])
})

t.test('waiting for a line that is never silent ends at the limit', async (t) => {
  const { on } = waiting(0, 2)
  const babble = on.clock.every(1, () => {
    on.activeMs = on.clock.monotonicMs()
  })
  await on.clock.run(200)
  babble.cancel()
  t.equal(on.told.length, 1)
  const [what, waitedMs] = on.told[0] ?? []
  t.equal(what, 'busy')
  t.ok(Number(waitedMs) >= 100 && Number(waitedMs) <= 104, `after ${waitedMs} ms`)
})

t.test('a cancelled wait reports nothing', async (t) => {
  for (const activeMs of [-50, 0]) {
    const { on, timer } = waiting(activeMs, 2)
    timer.cancel()
    await on.clock.run(50)
    t.strictSame(on.told, [])
    t.equal(on.clock.pending(), 0)
  }
})
