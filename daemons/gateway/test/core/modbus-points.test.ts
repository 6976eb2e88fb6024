/** Points on a Modbus line, by the adapter that a port gets. */
import t from 'tap'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { simulateModbusLine } from '../../../../scripts/sim/modbus-device.ts'
import { type SimulatedUnit, simulatedUnit } from '../../../../scripts/sim/modbus-unit.ts'
import { requireFace } from '../../core/adapter-faces.ts'
import { makeAdapter } from '../../core/make-adapter.ts'
import type { ModbusSettings } from '../../core/modbus-settings.ts'
import type { PointDefinition } from '../../core/point-record.ts'
import type { ValuePayload } from '../../core/points-face.ts'
import { createModbusSerialPdu } from '../../io/modbus-serial-pdu.ts'
import { fakeLine, plainLine } from './fake-line.ts'
import { settingsWith } from './modbus-line.ts'
import { point } from './points.ts'

interface Setup {
  points: PointDefinition[]
  units: SimulatedUnit[]
  settings?: Partial<ModbusSettings>
}

/** The adapter as a port has it, on a line in memory; not attached yet. */
function adapterOf({ points, units, settings }: Setup) {
  const clock: FakeClock = fakeClock()
  const line = fakeLine()
  const told: ValuePayload[] = []
  const path = '/dev/ttyTEST'
  const adapter = makeAdapter(
    {
      path,
      protocol: 'modbus-rtu',
      line: plainLine,
      settings: settingsWith(settings),
      enabled: true,
      points,
      webhooks: [],
    },
    {
      port: path,
      lineSettings: { ...plainLine, baud: 19_200 },
      clock,
      publish: (event, payload) => void (event === 'value' && told.push(payload as ValuePayload)),
    },
    {
      silenceFramer: () => ({ feed: () => {}, onFrame: () => {}, close: () => {} }),
      openSockets: () => Promise.reject(new Error('not here')),
      openModbusTcp: () => Promise.reject(new Error('not here')),
      retry: { firstMs: 1000, maxMs: 1000 },
      modbusPdu: createModbusSerialPdu(),
      modbusIdentity: ['', '', ''],
    },
  )
  let hear: (bytes: Uint8Array) => void = () => {}
  const write = line.write.bind(line)
  line.write = async (bytes) => {
    await write(bytes)
    hear(bytes)
  }
  simulateModbusLine({
    clock,
    units,
    duplex: {
      onBytes(handler) {
        hear = handler
      },
      write: (bytes) => line.arrive(bytes, clock.monotonicMs() * 1000),
    },
  })
  const face = requireFace({ path, adapter }, 'points')
  const one = (name: string) => face.list().find((view) => view.name === name)
  return { adapter, clock, face, line, one, told }
}

const holding = () => Array.from({ length: 50 }, (_, at) => 3 * at)

t.test('A.points values of a unit are read in merged requests, and told when they change', async (t) => {
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

t.test('what somebody else asks refreshes points too, by whatever function reads registers', async (t) => {
  const { adapter, clock, line, one } = adapterOf({
    points: [point('a', { address: 10, pollMs: 86_400_000 })],
    units: [simulatedUnit({ unitId: 1, holding: holding() })],
  })
  adapter.attach(line)
  await clock.run(2000)
  t.match(one('a'), { value: 30 })
  const asked = adapter.act('request', {
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

t.test('a line that is lost leaves values to grow old, and reads on when it is back', async (t) => {
  const { adapter, clock, line, one } = adapterOf({
    points: [point('a', { address: 10 })],
    units: [simulatedUnit({ unitId: 1, holding: holding() })],
  })
  adapter.attach(line)
  await clock.run(1500)
  await adapter.detach()
  t.match(one('a'), { value: 30, quality: 'good', fault: { code: 'line_closed' } })
  await clock.run(3000)
  t.match(one('a'), { value: 30, quality: 'stale' })
  adapter.attach(line)
  await clock.run(1500)
  t.match(one('a'), { value: 30, quality: 'good', fault: null })
})
