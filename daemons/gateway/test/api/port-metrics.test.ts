import t from 'tap'
import { createMetrics } from '#kit/http/metrics.ts'
import { measurePorts } from '../../api/metrics.ts'
import type { PortRegistry } from '../../core/lines/port-registry.ts'

/** What `/metrics` says of one port that counts these. */
async function toldOf(counters: Record<string, number>): Promise<string[]> {
  const metrics = createMetrics({ process: false })
  const port = {
    path: '/dev/ttyUSB0',
    life: () => ({ state: 'open' }),
    counters: () => counters,
    adapter: { faces: { units: { states: () => ({ well: 2, silent: 1 }) } } },
  }
  measurePorts(metrics, { all: () => [port] } as unknown as PortRegistry)
  return (await metrics.text()).split('\n')
}

t.test('a number that only grows is a counter, and a present state is a gauge', async (t) => {
  const lines = await toldOf({ rxBytes: 10, timeouts: 2, waiting: 3, unitsHeld: 1, tcpClients: 4 })
  const samples = lines.filter((line) => line.startsWith('plantroom_port_events_total{') || /port_now\{/.test(line))
  const label = (kind: string) => `{port="/dev/ttyUSB0",kind="${kind}"}`
  t.strictSame(samples.sort(), [
    `plantroom_port_events_total${label('rxBytes')} 10`,
    `plantroom_port_events_total${label('timeouts')} 2`,
    `plantroom_port_now${label('tcpClients')} 4`,
    `plantroom_port_now${label('unitsHeld')} 1`,
    `plantroom_port_now${label('waiting')} 3`,
  ])
  t.ok(lines.includes('# TYPE plantroom_port_events_total counter'))
  t.ok(lines.includes('# TYPE plantroom_port_now gauge'))
})

t.test('open lines and units by state are gauges', async (t) => {
  const lines = await toldOf({})
  t.ok(lines.includes('plantroom_port_open{port="/dev/ttyUSB0"} 1'))
  t.ok(lines.includes('plantroom_port_units{port="/dev/ttyUSB0",state="well"} 2'))
  t.ok(lines.includes('plantroom_port_units{port="/dev/ttyUSB0",state="silent"} 1'))
})
