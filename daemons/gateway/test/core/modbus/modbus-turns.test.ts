/** Polls keep their rhythm: the time that a dead unit costs is taken from the gaps. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import type { AskHow } from '../../../core/bus/transactions.ts'
import { modbusLine } from './modbus-line.ts'

const PERIOD_MS = 1000
const BAUD = 9600
const REGISTERS = 10

/** On the wire at 9600, and 5 ms in which the unit thinks: request of 8 bytes, reply of 5 and two per register. */
const ANSWER_MS = ((8 + 5 + 2 * REGISTERS) * 11_000) / BAUD + 5

/** A line of ten units, each polled once a second by the simplest poller; `isDead` says which do not answer. */
async function polledLine(isDead: (unitId: number, nowMs: number) => boolean) {
  const clock = fakeClock()
  const asked = new Map<number, number[]>()
  let nextDueMs = Number.POSITIVE_INFINITY
  const unitIds = Array.from({ length: 10 }, (_, at) => at + 1)
  const on = await modbusLine({
    clock,
    baud: BAUD,
    // Every register of a unit has the same value here, and is read again at once: no copies of answers.
    settings: { response_timeout_ms: 300, copy_window_ms: 0 },
    units: unitIds.map((unitId) => simulatedUnit({ unitId, holding: new Array(REGISTERS).fill(unitId) })),
    hooks: { idleMs: () => nextDueMs - clock.monotonicMs() },
    say(bytes, { unitId, quantity }) {
      if (quantity === REGISTERS) asked.set(unitId, [...(asked.get(unitId) ?? []), clock.monotonicMs()])
      return isDead(unitId, clock.monotonicMs()) ? [] : [{ afterMs: ANSWER_MS, bytes }]
    },
  })
  const inFlight = new Set<number>()
  const faults = new Map<number, string[]>()

  function poll(): void {
    nextDueMs = clock.monotonicMs() + PERIOD_MS
    for (const unitId of unitIds) {
      if (inFlight.has(unitId)) continue
      inFlight.add(unitId)
      on.adapter.asker
        .ask({ unitId, fc: 3, address: 0, quantity: REGISTERS }, { priority: 'poll' })
        .catch(({ code }) => faults.set(unitId, [...(faults.get(unitId) ?? []), code]))
        .finally(() => inFlight.delete(unitId))
    }
  }

  poll()
  clock.every(PERIOD_MS, poll)
  return { on, asked, faults, unitIds }
}

/** Times between requests to one unit, each with when it ended. */
function intervals(atMs: readonly number[] = []): { tookMs: number; endMs: number }[] {
  return atMs.slice(1).map((endMs, at) => ({ tookMs: endMs - (atMs[at] ?? 0), endMs }))
}

const isOff = ({ tookMs }: { tookMs: number }) => Math.abs(tookMs - PERIOD_MS) > PERIOD_MS / 10

t.test('with one dead unit among ten, the other nine keep their poll period within 10 %, every time', async (t) => {
  const { on, asked, faults, unitIds } = await polledLine((unitId) => unitId === 5)
  await on.clock.run(600_000)
  for (const unitId of unitIds.filter((one) => one !== 5)) {
    // The line learns in the first period that unit 5 is dead: the units after it begin one timeout late.
    const measured = intervals(asked.get(unitId)).slice(1)
    t.ok(measured.length >= 597, `unit ${unitId} was polled in every period`)
    t.strictSame(measured.filter(isOff), [], `unit ${unitId}`)
    t.equal(faults.get(unitId), undefined)
  }
  const tries = asked.get(5)?.length ?? 0
  t.ok(tries >= 10 && tries <= 16, `the dead one was tried ${tries} times in ten minutes`)
  t.ok(faults.get(5)?.includes('modbus_unit_silent'))
})

t.test('a unit that dies during operation costs the others one timeout, once', async (t) => {
  const diesMs = 60_000
  const { on, asked, unitIds } = await polledLine((unitId, nowMs) => unitId === 5 && nowMs > diesMs)
  await on.clock.run(300_000)
  const off = unitIds
    .filter((unitId) => unitId !== 5)
    .flatMap((unitId) => intervals(asked.get(unitId)).slice(1).filter(isOff))
  t.ok(off.length <= 10, 'the units after it, once late and so once early')
  t.ok(off.every(({ endMs, tookMs }) => endMs < diesMs + 3000 && Math.abs(tookMs - PERIOD_MS) <= 320))
})

t.test('a unit that is back is polled in its rhythm again', async (t) => {
  const { on, asked } = await polledLine((unitId, nowMs) => unitId === 5 && nowMs < 100_000)
  await on.clock.run(180_000)
  const fifth = on.adapter.faces?.units?.list().find(({ unitId }) => unitId === 5)
  t.equal(fifth?.state, 'well')
  const since = (asked.get(5) ?? []).filter((atMs) => atMs > 170_000)
  t.strictSame(intervals(since).filter(isOff), [])
})

t.test("an operator's request goes out within one transaction while ten units are polled", async (t) => {
  const { on } = await polledLine((unitId) => unitId === 5)
  await on.clock.run(5500)
  const longestMs = 300 + 20
  for (let n = 0; n < 40; n++) {
    await on.clock.run(137)
    const sinceMs = on.clock.monotonicMs()
    let sentMs: number | undefined
    const before = on.line.written.length
    const asked = on.adapter.asker.ask({ unitId: 3, fc: 3, address: n % 8, quantity: 2 }, { priority: 'operator' })
    for (let left = 1000; left > 0 && sentMs === undefined; left--) {
      await on.clock.run(1)
      const behind = on.line.written.slice(before)
      if (behind.some((frame) => frame[5] === 2)) {
        sentMs = on.clock.monotonicMs()
        t.ok(behind.length <= 2, 'one transaction under way, at most')
      }
    }
    t.ok((sentMs ?? Number.POSITIVE_INFINITY) - sinceMs <= longestMs)
    await on.clock.run(60)
    t.same((await asked)?.values, [3, 3])
  }
})

/** A line on which unit 1 answers after 50 ms, and the outcome of requests to it. */
async function busyLine(idleMs: () => number, clock = fakeClock()) {
  const on = await modbusLine({
    clock,
    baud: BAUD,
    units: [simulatedUnit({ unitId: 1, holding: Array.from({ length: 100 }, (_, at) => at) })],
    say: (bytes) => [{ afterMs: 50, bytes }],
    settings: { copy_window_ms: 0 },
    hooks: { idleMs },
  })
  const cameMs: Record<number, number> = {}
  const ask = (address: number, how: AskHow, unitId = 1) =>
    void on.adapter.asker.ask({ unitId, fc: 3, address, quantity: 1 }, how).then(
      () => {
        cameMs[address] = on.clock.monotonicMs()
      },
      () => undefined,
    )
  return { on, ask, cameMs }
}

t.test('background work is sent only if no poll is due within the time that a silent unit costs', async (t) => {
  let dueMs = 1000
  const clock = fakeClock()
  const { on, ask, cameMs } = await busyLine(() => dueMs - clock.monotonicMs(), clock)
  await on.clock.run(400)
  ask(1, { priority: 'background' })
  await on.clock.run(200)
  t.equal(cameMs[1], undefined, 'the next poll is due in 300 ms')
  t.equal(on.line.written.length, 0)
  dueMs = 3000
  await on.clock.run(500)
  t.ok(cameMs[1], 'the poll was postponed: the gap is used')
})

t.test('background work that finds no gap is sent after background_wait_ms, in turn with polls', async (t) => {
  const { on, ask, cameMs } = await busyLine(() => 10)
  await on.clock.run(100)
  const startMs = on.clock.monotonicMs()
  for (const address of [1, 2, 3]) ask(address, { priority: 'background', deadlineMs: 60_000 })
  let polls = 10
  const more = on.clock.every(50, () => ask(polls++, { priority: 'poll', deadlineMs: 60_000 }))
  await on.clock.run(5600)
  more.cancel()
  const waitedMs = [1, 2, 3].map((address) => (cameMs[address] ?? Number.POSITIVE_INFINITY) - startMs)
  t.ok(
    waitedMs.every((ms) => ms > 5000),
    'none earlier',
  )
  t.ok(
    waitedMs.every((ms) => ms < 5600),
    'all soon after',
  )
  const order = on.line.written.map((frame) => frame[3] ?? 0)
  const turns = [1, 2, 3].map((address) => order.indexOf(address))
  t.ok((turns[1] ?? 0) - (turns[0] ?? 0) >= 2 && (turns[2] ?? 0) - (turns[1] ?? 0) >= 2, 'polls go in between')
})

t.test('if nothing is polled in a rhythm, a unit that failed once is not put off', async (t) => {
  const { on, ask, cameMs } = await busyLine(() => Number.POSITIVE_INFINITY)
  let address = 10
  on.clock.every(40, () => ask(address++, { priority: 'poll', deadlineMs: 60_000 }))
  ask(1, { priority: 'poll' }, 2)
  await on.clock.run(2000)
  const sent = () => on.line.written.filter((frame) => frame[0] === 2).length
  t.equal(sent(), 1)
  ask(2, { priority: 'poll' }, 2)
  await on.clock.run(1500)
  t.equal(sent(), 2, 'in order of arrival, as any other')
  t.ok(Object.keys(cameMs).length > 20)
})

t.test(
  'operators that ask without pause, one or many, leave polls a turn after every operator_row of theirs',
  async (t) => {
    for (const many of [1, 2, 20]) {
      const { on, ask, cameMs } = await busyLine(() => Number.POSITIVE_INFINITY)
      let isAsking = true
      async function operator(): Promise<void> {
        while (isAsking)
          await on.adapter.asker.ask({ unitId: 1, fc: 3, address: 0, quantity: 2 }, { priority: 'operator' })
      }
      for (let n = 0; n < many; n++) void operator()
      await on.clock.run(100)
      const from = on.line.written.length
      for (const address of [1, 2, 3]) ask(address, { priority: 'poll' })
      await on.clock.run(1500)
      t.strictSame(Object.keys(cameMs), ['1', '2', '3'], `${many} at once`)
      const order = on.line.written.slice(from).map((frame) => (frame[3] === 0 ? 'o' : 'p'))
      t.match(order.join(''), /^o{0,4}poooopoooopoooo/)
      isAsking = false
    }
  },
)

t.test('an operator waits for one transaction, and for one poll after operator_row turns of operators', async (t) => {
  const { on, ask } = await busyLine(() => Number.POSITIVE_INFINITY)
  for (let address = 1; address < 20; address++) ask(address, { priority: 'poll', deadlineMs: 60_000 })
  await on.clock.run(10)
  for (let address = 50; address < 54; address++) ask(address, { priority: 'operator' })
  await on.clock.run(300)
  t.strictSame(
    on.line.written.map((frame) => frame[3]),
    [1, 50, 51, 52, 53, 2],
  )
})

t.test('polls find places when operators fill the queue, and TCP clients leave places for points', async (t) => {
  const { on, ask } = await busyLine(() => Number.POSITIVE_INFINITY)
  const full = () => on.count('queueFull')
  const owner = {}
  for (let n = 0; n < 70; n++) ask(n, { priority: 'poll', owner })
  t.equal(on.count('waiting'), 40, 'of 64 places 8 are for operators, 16 for points')
  t.equal(full(), 30)
  for (let n = 0; n < 20; n++) ask(n, { priority: 'poll' })
  t.equal(full(), 34, '16 points find a place')
  for (let n = 0; n < 70; n++) ask(n, { priority: 'operator' })
  t.equal(on.count('waiting'), 64)
  await on.clock.run(30_000)
  for (let n = 0; n < 70; n++) ask(n, { priority: 'operator' })
  const before = full()
  for (let n = 0; n < 10; n++) ask(n, { priority: 'poll' })
  t.equal(full() - before, 2, 'operators fill the queue; 8 polls still find a place')
})
