import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createMetrics } from '#kit/http/metrics.ts'
import { measurePoints } from '../../api/metrics.ts'
import type { Port } from '../../core/lines/port.ts'
import { registerPoints } from '../../core/modbus/points.ts'
import { PointTable } from '../../core/points/values.ts'
import { point } from '../core/points/points.ts'

t.test('Prometheus gets good values only, bits as 0 and 1, and no texts', async (t) => {
  const clock = fakeClock()
  const table = new PointTable({
    clock,
    protocol: registerPoints({ mergeGap: 8, mergeRegisters: 125 }),
    staleAfterMs: undefined,
    publish: () => {},
  })
  table.set([
    point('volts', { scale: 0.1, unit: 'V', pollMs: 60_000 }),
    point('on', { type: 'bit', bit: 0 }),
    point('count', { type: 'u64', address: 1 }),
    point('name', { type: 'string', length: 1, address: 5 }),
    point('never', { address: 9 }),
  ])
  table.take({ unitId: 1, fc: 3, address: 0, values: [2301, 0x20, 0, 0, 1, 0x4142] }, 0)
  const face = { list: () => table.list() }
  const ports = [
    { path: 'bus', adapter: { faces: { points: face } } },
    { path: 'raw', adapter: {} },
  ]
  const metrics = createMetrics({ process: false })
  measurePoints(metrics, { all: () => ports as unknown as Port[] })
  const lines = async (name: string) => (await metrics.text()).split('\n').filter((line) => line.startsWith(name))
  t.same(await lines('plantroom_point_value'), [
    'plantroom_point_value{port="bus",name="volts",unit="V"} 230.1',
    'plantroom_point_value{port="bus",name="on",unit=""} 1',
    'plantroom_point_value{port="bus",name="count",unit=""} 9007199254740992',
  ])
  await clock.run(10_000)
  t.same(await lines('plantroom_point_good'), [
    'plantroom_point_good{port="bus",name="volts",unit="V"} 1',
    'plantroom_point_good{port="bus",name="on",unit=""} 0',
    'plantroom_point_good{port="bus",name="count",unit=""} 0',
    'plantroom_point_good{port="bus",name="name",unit=""} 0',
    'plantroom_point_good{port="bus",name="never",unit=""} 0',
  ])
  t.equal((await lines('plantroom_point_value')).length, 1, 'an old value is not given as a current one')
})
