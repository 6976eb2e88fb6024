/** What Prometheus is told of each port. Labels are the configured paths, at most `ports.max`. */
import type { Metrics, Sample } from '#kit/http/metrics.ts'
import type { Port } from '../core/port.ts'
import type { PortRegistry } from '../core/port-registry.ts'

/** @param metrics gains a gauge of what is open and the counters of every port, by kind */
export function measurePorts(metrics: Metrics, registry: PortRegistry): void {
  metrics.gauge({ name: 'port_open', help: '1 while the line is open', labels: ['port'] }, () =>
    registry.all().map((port) => ({ labels: { port: port.path }, value: port.life().state === 'open' ? 1 : 0 })),
  )
  metrics.counts(
    { name: 'port_events_total', help: 'bytes, frames and faults of a line, by kind', labels: ['port', 'kind'] },
    () => registry.all().flatMap(samplesOf),
  )
}

function samplesOf(port: Port): Sample[] {
  return Object.entries(port.counters()).map(([kind, value]) => ({ labels: { port: port.path, kind }, value }))
}
