/** Points on a Modbus line, by the adapter that a port gets. */

import t from 'tap'
import { simulatedUnit } from '../../../../../scripts/sim/modbus-unit.ts'
import type { ValuePayload } from '../../../core/points/values.ts'
import { sealed } from '../../../wire/modbus-request.ts'
import { act } from '../act.ts'
import { point } from '../points/points.ts'
import { type PointsLineSetup, pointsLine } from '../points/points-line.ts'

function adapterOf(setup: PointsLineSetup) {
  const told: ValuePayload[] = []
  return { ...pointsLine({ ...setup, onValue: (payload) => void told.push(payload) }), told }
}

const holding = () => Array.from({ length: 50 }, (_, at) => 3 * at)

t.test('A.points values of a unit are read in merged requests, and published when they change', async (t) => {
  const registers = holding()
  const { adapter, clock, face, line, one, told } = adapterOf({
    points: [
      point('a', { address: 10 }),
      point('b', { address: 12, scale: 0.1 }),
      point('c', { address: 40, type: 'u32' }),
      point('coil', { fc: 1, type: 'bit', address: 1 }),
    ],
    units: [simulatedUnit({ unitId: 1, holding: registers, coils: [0, 1] })],
  })
  t.match(one('a'), { quality: 'unknown', value: null })
  adapter.attach(line)
  await clock.run(2000)
  t.match(
    face.list().map(({ value, quality }) => [value, quality]),
    [
      [30, 'good'],
      [3.6, 'good'],
      [120 * 65_536 + 123, 'good'],
      [true, 'good'],
    ],
  )
  t.match(face.polling(), { reads: 3, pointsPerRead: 1.33, overruns: 0 })
  t.equal(told.length, 4)
  registers[10] = 31
  await clock.run(1000)
  t.match(told.at(-1), { name: 'a', value: 31, previous: 30 })
  t.equal(adapter.counters().pollOverruns, 0)
  t.ok((adapter.counters().pollReads ?? 0) >= 6)
})

t.test(
  'late-replies: a unit with one coil and one register that never change stays good, however often it is read',
  async (t) => {
    const { adapter, clock, line, one, told } = adapterOf({
      points: [
        point('a', { address: 49, pollMs: 100 }),
        point('coil', { fc: 1, type: 'bit', address: 1, pollMs: 100 }),
      ],
      units: [simulatedUnit({ unitId: 1, holding: holding(), coils: [0, 1] })],
    })
    adapter.attach(line)
    for (let n = 0; n < 60; n++) {
      await clock.run(500)
      t.match(
        [one('a'), one('coil')],
        [
          { value: 147, quality: 'good' },
          { value: true, quality: 'good' },
        ],
      )
    }
    t.equal(told.length, 2)
    t.match(adapter.counters(), { copies: 0 })
  },
)

t.test('the reads of other callers refresh points too, with any function that reads registers', async (t) => {
  const { adapter, clock, line, one } = adapterOf({
    points: [point('a', { address: 10, pollMs: 86_400_000 })],
    units: [simulatedUnit({ unitId: 1, holding: holding() })],
  })
  adapter.attach(line)
  await clock.run(2000)
  t.match(one('a'), { value: 30 })
  const asked = act(adapter, 'request', {
    unitId: 1,
    fc: 23,
    address: 8,
    quantity: 5,
    write_address: 10,
    values: [77],
  })
  await clock.run(1000)
  t.match(await asked, { values: [24, 27, 77, 33, 36] })
  t.match(one('a'), { value: 77, quality: 'good' })
})

t.test('a dead unit makes its points bad with the reason, and the others are read on their grid', async (t) => {
  const { adapter, clock, line, one, face } = adapterOf({
    points: [point('alive', { unitId: 1 }), point('dead', { unitId: 9 })],
    units: [simulatedUnit({ unitId: 1, holding: holding() })],
  })
  adapter.attach(line)
  await clock.run(20_000)
  t.match(one('alive'), { quality: 'good', fault: null })
  t.match(one('dead'), { quality: 'bad', value: null, fault: { message: /[Uu]nit 9/ } })
  t.ok((one('alive')?.ageMs ?? Number.NaN) <= 1000)
  t.ok(face.polling().periodSlipMs !== null)
})

t.test('values of a lost line are no longer good, and reading resumes when it is back', async (t) => {
  const { adapter, clock, line, one } = adapterOf({
    points: [point('a', { address: 10 })],
    units: [simulatedUnit({ unitId: 1, holding: holding() })],
  })
  adapter.attach(line)
  await clock.run(1500)
  await adapter.detach()
  t.match(one('a'), { value: 30, quality: 'stale', fault: { code: 'line_closed' } })
  adapter.attach(line)
  await clock.run(1500)
  t.match(one('a'), { value: 30, quality: 'good', fault: null })
})

t.test('on a line with another master points are refreshed by what is overheard, and nothing is sent', async (t) => {
  const sent: Uint8Array[] = []
  const { adapter, clock, line, one } = adapterOf({
    points: [point('a', { address: 10 }), point('coil', { fc: 1, type: 'bit', address: 3 })],
    units: [],
    settings: { mode: 'listen' },
    onSent: (frame) => void sent.push(frame),
  })
  adapter.attach(line)
  const hear = async (...bytes: number[]) => {
    line.arrive(sealed(bytes), clock.monotonicMs() * 1000)
    await clock.run(50)
  }
  await clock.run(500)
  await hear(1, 3, 0, 9, 0, 2)
  await hear(1, 3, 4, 0, 1, 0, 2)
  await hear(1, 1, 0, 0, 0, 8)
  await hear(1, 1, 1, 0x08)
  t.match(one('a'), { value: 2, quality: 'good' })
  t.match(one('coil'), { value: true, quality: 'good' })
  await clock.run(3000)
  t.match(one('a'), { value: 2, quality: 'stale' })
  t.same(sent, [])
})

t.test('a port that is set up again, or removed, publishes nothing more of its old values', async (t) => {
  const { adapter, clock, line, told } = adapterOf({
    points: [point('a', { address: 10 })],
    units: [simulatedUnit({ unitId: 1, holding: holding() })],
  })
  adapter.attach(line)
  await clock.run(1500)
  await adapter.detach()
  adapter.end?.()
  const last = { value: 30, quality: 'stale' }
  t.match(told, [{ value: 30, quality: 'good' }, last])
  await clock.run(60_000)
  t.equal(told.length, 2)
  t.equal(clock.pending(), 0)
})
