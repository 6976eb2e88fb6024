/** What Prometheus is told of the serial ports. */
import type { Metrics, Sample } from '#kit/http/metrics.ts'
import type { SerialPorts } from '../core/serial-ports.ts'

/** @param metrics gains gauges of what is open and who is connected, and the counters of every port, by kind */
export function measureSerial(metrics: Metrics, ports: SerialPorts): void {
  metrics.gauge({ name: 'serial_port_open', help: '1 while the line is open', labels: ['port'] }, () =>
    ports.all.map(({ port, state }) => ({ labels: { port }, value: state === 'open' ? 1 : 0 })),
  )
  metrics.gauge({ name: 'serial_port_clients', help: 'TCP clients connected', labels: ['port'] }, () =>
    ports.all.map(({ port, clientCount }) => ({ labels: { port }, value: clientCount })),
  )
  metrics.counts(
    {
      name: 'serial_port_events_total',
      help: 'bytes, clients and faults of a line, by kind',
      labels: ['port', 'kind'],
    },
    () => ports.views().flatMap(({ port, counters }) => samplesOf(port, { ...counters })),
  )
}

/** What the driver does not count is left out. */
function samplesOf(port: number, counters: Readonly<Record<string, number | null>>): Sample[] {
  return Object.entries(counters).flatMap(([kind, value]) =>
    value === null || kind === 'clients' ? [] : [{ labels: { port, kind }, value }],
  )
}
