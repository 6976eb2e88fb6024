import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { AskHow } from '../../../core/bus/transactions.ts'
import { isTouched, registerPlanner, registerPoints } from '../../../core/modbus/points.ts'
import type { PointDefinition } from '../../../core/points/definition.ts'
import { PointPoller } from '../../../core/points/polling.ts'
import type { ModbusRequest } from '../../../wire/modbus-request.ts'
import { point } from './points.ts'

interface Asked {
  atMs: number
  unitId: number
  address: number
  quantity: number
}

interface Setup {
  /** How long the unit takes; or the Fault it ends with, after 10 ms. */
  answer?: (request: ModbusRequest) => number | Fault
  window?: number
  mergeGap?: number
}

const { verdict } = registerPoints({ mergeGap: 8, mergeRegisters: 125 })

function pollerOf(points: PointDefinition[], { answer = () => 10, window = 16, mergeGap = 8 }: Setup = {}) {
  const clock = fakeClock()
  const asked: Asked[] = []
  const failed: [string[], string, string][] = []
  const priorities = new Set<string>()
  const poller = new PointPoller({
    clock,
    planner: registerPlanner({ mergeGap, mergeRegisters: 125 }),
    verdict,
    rereadMs: 250,
    window,
    onFailed: (those, event, fault) => void failed.push([those.map(({ name }) => name), event, fault.code]),
  })
  const asker = {
    ask(request: ModbusRequest, how: AskHow): Promise<readonly number[]> {
      priorities.add(how.priority)
      const { unitId, address, quantity } = request
      asked.push({ atMs: clock.monotonicMs(), unitId, address, quantity })
      const took = answer(request)
      return new Promise((resolve, reject) => {
        clock.after(took instanceof Fault ? 10 : took, () =>
          took instanceof Fault ? reject(took) : resolve(new Array(quantity).fill(0)),
        )
      })
    },
  }
  poller.set(points)
  return { asked, asker, clock, failed, poller, priorities, times: () => asked.map(({ atMs }) => atMs) }
}

const exception = (code: number) =>
  new Fault('modbus_exception', `exception ${code}`, { details: { exception: { code, name: '' } } })

t.test('reads begin when the line opens, and come at start + n * period however long the answers take', async (t) => {
  let took = 0
  const { asker, clock, poller, priorities, times } = pollerOf([point('a')], {
    answer: () => (took = (took + 371) % 990),
  })
  await clock.run(5000)
  t.same(times(), [], 'not before')
  poller.start(asker)
  await clock.run(10_500)
  t.same(
    times(),
    Array.from({ length: 11 }, (_, n) => 5000 + 1000 * n),
  )
  t.same([...priorities], ['poll'])
})

t.test('reads are not all due together, and leave most of the shortest interval free in one piece', async (t) => {
  const points = [1, 2, 3, 4].map((unitId) => point(`u${unitId}`, { unitId, pollMs: 1000 }))
  const { asked, asker, clock, poller } = pollerOf(points)
  poller.start(asker)
  await clock.run(1999)
  t.same(
    asked.map(({ atMs, unitId }) => [unitId, atMs]),
    [1, 2, 3, 4, 1, 2, 3, 4].map((unitId, at) => [unitId, 1000 * Math.floor(at / 4) + 20 * (at % 4)]),
  )
  const dense = pollerOf(Array.from({ length: 40 }, (_, at) => point(`u${at}`, { unitId: 1 + at, pollMs: 1000 })))
  dense.poller.start(dense.asker)
  await dense.clock.run(999)
  t.same(
    dense.times(),
    Array.from({ length: 40 }, (_, at) => 6 * at),
  )
})

t.test('a read that is still under way when it is due again is skipped and counted, not queued twice', async (t) => {
  const { asker, clock, poller, times } = pollerOf([point('a')], { answer: () => 2500 })
  poller.start(asker)
  await clock.run(9500)
  t.same(times(), [0, 3000, 6000, 9000])
  t.equal(poller.view().overruns, 6)
  t.match(poller.counts(), { pollReads: 4, pollOverruns: 6 })
})

t.test('one slow unit does not delay the others', async (t) => {
  const points = [point('slow', { unitId: 1 }), point('quick', { unitId: 2 })]
  const { asked, asker, clock, poller } = pollerOf(points, { answer: ({ unitId }) => (unitId === 1 ? 30_000 : 5) })
  poller.start(asker)
  await clock.run(20_000)
  t.same(
    asked.filter(({ unitId }) => unitId === 2).map(({ atMs }) => atMs),
    Array.from({ length: 20 }, (_, n) => 20 + 1000 * n),
  )
})

t.test(
  'no more reads than the window are given to the bus at once; the others wait in order of their instants',
  async (t) => {
    const points = [1, 2, 3, 4, 5].map((unitId) => point(`u${unitId}`, { unitId, pollMs: 5000 }))
    const { asked, asker, clock, poller } = pollerOf(points, { window: 2, answer: () => 1000 })
    poller.start(asker)
    await clock.run(450)
    t.same(
      asked.map(({ unitId }) => unitId),
      [1, 2],
    )
    t.equal(poller.idleMs(), 0, 'one waits')
    await clock.run(4000)
    t.same(
      asked.map(({ unitId, atMs }) => [unitId, atMs]),
      [
        [1, 0],
        [2, 20],
        [3, 1000],
        [4, 1020],
        [5, 2000],
      ],
    )
    t.equal(poller.idleMs(), 550)
  },
)

t.test('a merged read that is refused is read in two parts, at once and from then on, and counted', async (t) => {
  for (const code of [2, 3]) {
    const points = [0, 1, 5, 6].map((address) => point(`p${address}`, { address }))
    const { asked, asker, clock, failed, poller } = pollerOf(points, {
      answer: ({ quantity }) => (quantity > 2 ? exception(code) : 10),
    })
    poller.start(asker)
    await clock.run(2500)
    t.same(
      asked.map(({ atMs, address, quantity }) => [atMs, address, quantity]),
      [
        [0, 0, 7],
        [10, 0, 2],
        [10, 5, 2],
        [1000, 0, 2],
        [1000, 5, 2],
        [2000, 0, 2],
        [2000, 5, 2],
      ],
    )
    t.same(failed, [])
    t.match(poller.counts(), { pollSplits: 1, pollFailures: 1 })
    t.match(poller.view(), { reads: 2, pointsPerRead: 2 })
  }
})

t.test('one register that the unit does not have is found, and its neighbours are still read', async (t) => {
  const points = Array.from({ length: 16 }, (_, address) => point(`p${address}`, { address }))
  const { asker, clock, failed, poller } = pollerOf(points, {
    answer: ({ address, quantity }) => (address <= 11 && 11 < address + quantity ? exception(2) : 10),
  })
  poller.start(asker)
  await clock.run(900)
  t.same(failed, [[['p11'], 'refused', 'modbus_exception']])
  t.match(poller.counts(), { pollSplits: 4 })
  t.equal(poller.view().reads, 5)
  const splits = poller.counts().pollSplits
  await clock.run(5000)
  t.equal(poller.counts().pollSplits, splits, 'it is remembered')
  poller.stop()
  poller.start(asker)
  t.equal(poller.view().reads, 1, 'until the line is opened again: another device may be there')
})

t.test('refused and unanswered reads are distinguished', async (t) => {
  const outcomes: [Fault, 'refused' | 'unanswered'][] = [
    [exception(1), 'refused'],
    [exception(2), 'refused'],
    [exception(4), 'refused'],
    [exception(6), 'unanswered'],
    [exception(11), 'unanswered'],
    [new Fault('modbus_timeout', 'no answer'), 'unanswered'],
    [new Fault('modbus_unit_silent', 'held back'), 'unanswered'],
  ]
  for (const [fault, event] of outcomes) {
    const { asker, clock, failed, poller } = pollerOf([point('a')], { answer: () => fault })
    poller.start(asker)
    await clock.run(500)
    t.same(failed, [[['a'], event, fault.code]])
  }
})

t.test('points are changed live: reads that stay keep their instants, new ones begin at once', async (t) => {
  const { asked, asker, clock, poller } = pollerOf([point('a')])
  poller.start(asker)
  await clock.run(1400)
  poller.set([point('a', { unit: 'V' }), point('b', { unitId: 2 })])
  await clock.run(1000)
  t.same(
    asked.map(({ atMs, unitId }) => [atMs, unitId]),
    [
      [0, 1],
      [1000, 1],
      [1400, 2],
      [2000, 1],
      [2400, 2],
    ],
  )
  poller.set([])
  await clock.run(5000)
  t.equal(asked.length, 5)
  t.equal(clock.pending(), 0)
  t.same(poller.view(), { reads: 0, pointsPerRead: null, periodSlipMs: null, overruns: 0 })
})

t.test('an answer from before the line was opened again is ignored', async (t) => {
  const { asked, asker, clock, failed, poller } = pollerOf([point('a')], {
    answer: () => (asked.length === 1 ? new Fault('line_gone', 'pulled') : 10),
    window: 1,
  })
  poller.start(asker)
  await clock.run(5)
  poller.stop()
  t.equal(poller.idleMs(), Number.POSITIVE_INFINITY)
  poller.start(asker)
  await clock.run(100)
  t.same(failed, [])
  t.equal(asked.length, 2)
})

t.test('it says how long the line is free of polls, and how far answers were off their grid', async (t) => {
  let took = 10
  const { asker, clock, poller } = pollerOf([point('a')], { answer: () => took })
  t.equal(poller.idleMs(), Number.POSITIVE_INFINITY)
  poller.start(asker)
  await clock.run(300)
  t.equal(poller.idleMs(), 700)
  t.equal(poller.view().periodSlipMs, null)
  await clock.run(1000)
  t.equal(poller.view().periodSlipMs, 0)
  took = 45
  await clock.run(1000)
  t.equal(poller.view().periodSlipMs, 35)
})

t.test('a timer that runs too late skips the reads it missed and stays on the grid', async (t) => {
  const { asker, clock, poller, times } = pollerOf([point('a')])
  let nowMs = 0
  const late = { ...clock, monotonicMs: () => nowMs }
  const slow = new PointPoller({
    clock: late,
    planner: registerPlanner({ mergeGap: 0, mergeRegisters: 1 }),
    verdict,
    rereadMs: 250,
    window: 1,
    onFailed: () => {},
  })
  slow.set([point('a')])
  slow.start(asker)
  await clock.run(0)
  nowMs = 3700
  await clock.run(1000)
  t.equal(slow.counts().pollOverruns, 2)
  t.equal(slow.idleMs(), 300)
  t.same(times(), [0, 1000])
  poller.stop()
})

t.test('a read after a write that is still under way when the next poll is due takes its place', async (t) => {
  const { asker, clock, poller, times } = pollerOf([point('a')], { answer: () => 300 })
  const written = { unitId: 1, fc: 3, address: 0, quantity: 1 } as const
  poller.start(asker)
  await clock.run(100)
  poller.readAgain((point) => isTouched(point, written)) // the read is under way: it reaches the unit after the write
  await clock.run(800)
  poller.readAgain((point) => isTouched(point, written))
  poller.readAgain((point) => isTouched(point, written))
  await clock.run(1500)
  t.same(times(), [0, 900, 2000])
  t.match(poller.counts(), { pollReads: 3, pollRereads: 1, pollOverruns: 0 })
  t.equal(poller.view().periodSlipMs, 0)
})
