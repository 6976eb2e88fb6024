/** Points that a write touched are read again at once, off their grid. */

import t from 'tap'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import type { PointDefinition } from '../../../core/points/definition.ts'
import { act } from '../act.ts'
import { point } from './points.ts'
import { type PointsLineSetup, pointsLine } from './points-line.ts'

/** Two units with the points given; `reads` are the read requests that went out: unit, function, address, when. */
async function lineWith(points: PointDefinition[], settings: PointsLineSetup['settings'] = {}) {
  const reads: number[][] = []
  const unit = (unitId: number) =>
    simulatedUnit({ unitId, holding: new Array(50).fill(0), coils: new Array(16).fill(0) })
  const on = pointsLine({
    points,
    units: [unit(1), unit(2)],
    settings,
    onSent: ([unitId = 0, fc = 0, high = 0, low = 0], atMs) =>
      void (fc <= 4 && reads.push([unitId, fc, 256 * high + low, atMs])),
  })
  on.adapter.attach(on.line)
  await on.clock.run(5000)
  const write = async (body: object, runMs = 100) => {
    reads.length = 0
    const asked = act(on.adapter, 'request', { unitId: 1, ...body })
    asked.catch(() => {}) // the caller gets it below
    await on.clock.run(runMs)
    return await asked
  }
  return { ...on, reads, write, places: () => reads.map((read) => read.slice(0, 3)) }
}

const slow = { pollMs: 60_000 }

t.test('A.points a write to a register or a coil shows in the point at once', async (t) => {
  const on = await lineWith([
    point('setpoint', { address: 10, ...slow }),
    point('far', { address: 40, ...slow }),
    point('input', { address: 10, fc: 4, ...slow }),
    point('relay', { fc: 1, type: 'bit', address: 3, ...slow }),
    point('other', { unitId: 2, address: 10, ...slow }),
  ])
  await on.write({ fc: 6, address: 10, values: [77] })
  t.match(on.one('setpoint'), { value: 77, quality: 'good' })
  t.same(on.places(), [[1, 3, 10]], 'and nothing else is read')
  await on.write({ fc: 5, address: 3, values: [1] })
  t.match(on.one('relay'), { value: true })
  t.same(on.places(), [[1, 1, 3]])
  await on.write({ fc: 22, address: 40, and_mask: 0, or_mask: 5 })
  t.match(on.one('far'), { value: 5 })
  t.equal(on.adapter.counters().pollRereads, 3)
})

t.test(
  'a write that touches part of a point is followed by a read, one beside it or refused by the unit is not',
  async (t) => {
    const on = await lineWith([point('a', { address: 10, ...slow })])
    await t.rejects(on.write({ fc: 6, address: 4000, values: [1] }), { code: 'modbus_exception' })
    await on.write({ fc: 16, address: 8, values: [1, 2] })
    t.same(on.places(), [], 'beside it')
    await on.write({ fc: 16, address: 9, values: [1, 2] })
    t.match(on.one('a'), { value: 2 })
  },
)

t.test('after a broadcast every unit that it touched is read', async (t) => {
  const on = await lineWith([
    point('a', { address: 10, ...slow }),
    point('b', { unitId: 2, address: 10, ...slow }),
    point('c', { unitId: 2, address: 40, ...slow }),
  ])
  await on.write({ unitId: 0, fc: 6, address: 10, values: [9] }, 400)
  t.same(on.places(), [
    [1, 3, 10],
    [2, 3, 10],
  ])
  t.same([on.one('a')?.value, on.one('b')?.value], [9, 9])
})

t.test('writes without pause are followed by reads as often as reread_ms allows, the last write too', async (t) => {
  const on = await lineWith([point('a', { address: 10, ...slow })], { reread_ms: 500 })
  const all: number[][] = []
  for (let value = 1; value <= 40; value++) {
    await on.write({ fc: 6, address: 10, values: [value] }, 50)
    all.push(...on.reads)
  }
  t.ok(all.length >= 4 && all.length <= 5, `${all.length} reads in two seconds`)
  await on.clock.run(600)
  t.match(on.one('a'), { value: 40 })
})

t.test('the grid stays where it is, and a read out of turn is not an overrun', async (t) => {
  const on = await lineWith([point('a', { address: 10 })])
  const instants: number[] = []
  for (let n = 1; n <= 5; n++) {
    await on.write({ fc: 6, address: 10, values: [n] }, 500)
    instants.push(...on.reads.map(([, , , atMs = 0]) => atMs))
    t.match(on.one('a'), { value: n })
    on.reads.length = 0
    await on.clock.run(500)
    instants.push(...on.reads.map(([, , , atMs = 0]) => atMs))
  }
  const phases = Map.groupBy(instants, (atMs) => Math.round(atMs % 1000))
  t.same(
    [...phases.values()].map(({ length }) => length),
    [5, 5],
    `each at its own place in the second: ${instants}`,
  )
  t.match(on.face.polling(), { overruns: 0, periodSlipMs: 0 })
})

t.test('reread_ms 0 leaves points to their grid, and a closed line reads nothing', async (t) => {
  const off = await lineWith([point('a', { address: 10, ...slow })], { reread_ms: 0 })
  await off.write({ fc: 6, address: 10, values: [77] })
  t.same(off.places(), [])
  const on = await lineWith([point('a', { address: 10, ...slow })])
  const asked = act(on.adapter, 'request', { unitId: 1, fc: 6, address: 10, values: [1] })
  await on.clock.run(60)
  await asked
  await on.adapter.detach()
  on.reads.length = 0
  await on.clock.run(5000)
  t.same(on.reads, [])
})
