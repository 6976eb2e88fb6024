/** A dead unit among ten, polled by the points of a port as the gateway makes it. */
import t from 'tap'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import { point } from '../points/points.ts'
import { pointsLine } from '../points/points-line.ts'

const PERIOD_MS = 1000
const BAUD = 9600
const REGISTERS = 10
/** On the wire at 9600, and 5 ms in which the unit thinks: request of 8 bytes, reply of 5 and two per register. */
const ANSWER_MS = ((8 + 5 + 2 * REGISTERS) * 11_000) / BAUD + 5

t.test('with one dead unit among ten, the points of the other nine keep their period within 10 %', async (t) => {
  const sentMs = new Map<number, number[]>()
  const unitIds = Array.from({ length: 10 }, (_, at) => at + 1)
  const { adapter, clock, line, one } = pointsLine({
    baud: BAUD,
    settings: { response_timeout_ms: 300 },
    points: unitIds.flatMap((unitId) => [
      point(`${unitId} first`, { unitId, pollMs: PERIOD_MS }),
      point(`${unitId} last`, { unitId, pollMs: PERIOD_MS, address: REGISTERS - 1 }),
    ]),
    units: unitIds.map((unitId) => simulatedUnit({ unitId, holding: new Array(REGISTERS).fill(unitId) })),
    say: (bytes, { unitId }) => (unitId === 5 ? [] : [{ afterMs: ANSWER_MS, bytes }]),
    onSent([unitId = 0], atMs) {
      sentMs.set(unitId, [...(sentMs.get(unitId) ?? []), atMs])
    },
  })
  adapter.attach(line)
  await clock.run(600_000)
  for (const unitId of unitIds.filter((id) => id !== 5)) {
    const times = sentMs.get(unitId) ?? []
    const intervals = times.slice(1).map((ms, at) => ({ ms, tookMs: ms - (times[at] ?? 0) }))
    const off = intervals.filter(({ ms, tookMs }) => ms > 5000 && Math.abs(tookMs - PERIOD_MS) > PERIOD_MS / 10)
    t.strictSame(off, [], `unit ${unitId}`)
    t.ok(times.length >= 597)
    t.match(one(`${unitId} last`), { value: unitId, quality: 'good' })
  }
  t.ok((sentMs.get(5)?.length ?? 0) >= 8, `the dead one was tried ${sentMs.get(5)?.length} times`)
  t.match(one('5 first'), { quality: 'bad', fault: { code: 'modbus_unit_silent' } })
})
