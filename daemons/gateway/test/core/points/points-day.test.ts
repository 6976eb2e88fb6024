/** A day of polling on a fake clock: nothing drifts, nothing grows. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { registerPlanner } from '../../../core/modbus/points.ts'
import { PointPoller } from '../../../core/points/polling.ts'
import { point } from './points.ts'
import { pointsLine } from './points-line.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The heap after everything that can be collected is gone. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  gc()
  gc()
  return process.memoryUsage().heapUsed
}

t.test(
  'every instant of a day is start + n * interval, to the millisecond, however long the answers take',
  async (t) => {
    const clock = fakeClock()
    const points = [
      point('quick', { unitId: 1, pollMs: 2000 }),
      point('five', { unitId: 2, pollMs: 5000 }),
      point('minute', { unitId: 3, pollMs: 60_000 }),
      point('odd', { unitId: 4, pollMs: 7321 }),
    ]
    const wrong: string[] = []
    const reads = new Map<number, number>()
    const poller = new PointPoller({
      clock,
      planner: registerPlanner({ mergeGap: 8, mergeRegisters: 125 }),
      verdict: () => 'unanswered',
      rereadMs: 250,
      window: 16,
      onFailed: () => {},
    })
    poller.set(points)
    let seed = 1
    poller.start({
      ask({ unitId, quantity }) {
        const read = reads.get(unitId) ?? 0
        reads.set(unitId, read + 1)
        const dueMs = 20 * (unitId - 1) + read * (points[unitId - 1]?.pollMs ?? 0)
        if (clock.monotonicMs() !== dueMs)
          wrong.push(`unit ${unitId} read ${read} at ${clock.monotonicMs()}, not ${dueMs}`)
        seed = (seed * 48_271) % 0x7fff_ffff
        return new Promise((resolve) => void clock.after(seed % 900, () => resolve(new Array(quantity).fill(0))))
      },
    })
    await clock.run(DAY_MS - 1)
    t.same(wrong, [])
    t.same(
      [...reads.values()],
      points.map(({ pollMs }, at) => Math.ceil((DAY_MS - 20 * at) / pollMs)),
    )
    t.match(poller.counts(), { pollOverruns: 0, pollFailures: 0 })
    t.equal(poller.view().overruns, 0)
  },
)

t.test('a day on a line with a dead unit: the others keep their rhythm, and nothing grows', async (t) => {
  const periodMs = 15_000
  const registers = Array.from({ length: 60 }, (_, at) => at)
  const firstMs = new Map<number, number>()
  let worstMs = 0
  let lastMs = 0
  let told = 0
  const { adapter, clock, face, line, one } = pointsLine({
    points: [1, 2, 9].flatMap((unitId) => [
      point(`${unitId} low`, { unitId, pollMs: periodMs }),
      point(`${unitId} high`, { unitId, pollMs: periodMs, address: 40, deadband: 5 }),
    ]),
    units: [1, 2].map((unitId) => simulatedUnit({ unitId, holding: registers })),
    onValue: () => void told++,
    onSent([unitId = 0, , , address = 0], atMs) {
      // The first round waits until the line is known to be silent.
      if (unitId === 9 || atMs < periodMs) return
      const place = unitId * 256 + address
      const first = firstMs.get(place) ?? atMs
      firstMs.set(place, first)
      const offMs = Math.abs(atMs - first - periodMs * Math.round((atMs - first) / periodMs))
      worstMs = Math.max(worstMs, offMs)
      lastMs = offMs
    },
  })
  adapter.attach(line)
  await clock.run(HOUR_MS)
  const [pending, values] = [clock.pending(), told]
  const held: number[] = []
  for (let hour = 1; hour < 24; hour++) {
    if (hour >= 8) held.push(heldBytes())
    registers[0] = 1000 + hour
    registers[40] = 40 + hour
    await clock.run(hour < 23 ? HOUR_MS : HOUR_MS - 1)
  }
  // Before the first assertion: what assertions themselves keep is not growth.
  held.push(heldBytes())
  t.match(one('1 low'), { value: 1023, quality: 'good' })
  t.match(one('9 low'), { value: null, quality: 'bad' })
  t.ok((one('2 low')?.ageMs ?? Number.NaN) <= periodMs)
  t.equal(told - values, 2 * (23 + 3), 'each change is published once, and of the slow points every sixth')
  t.equal(adapter.counters().pollReads, (6 * DAY_MS) / periodMs)
  t.equal(face.polling().overruns, 0)
  t.equal(lastMs, 0, 'no drift')
  t.ok(worstMs < 300, `at worst ${worstMs} ms off, less than the dead unit's timeout`)
  t.ok(clock.pending() <= pending + 1, `${clock.pending()} timers, ${pending} after an hour`)
  // The engine's own data on the code can jump by 2.5 MB in any hour; what polls leave behind grows by the same amount each hour.
  const grown = held.slice(1).map((bytes, at) => bytes - (held[at] ?? 0))
  const usual = grown.sort((a, b) => a - b)[Math.floor(grown.length / 2)] ?? Number.NaN
  // 1440 reads: seventy bytes left behind by each would show.
  t.ok(usual < 100_000, `grown by ${usual} bytes in an hour`)
})
