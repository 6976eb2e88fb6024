/** What Prometheus is told of each port. Labels are the configured paths, at most `ports.max`. */
import type { Metrics, Sample } from '#kit/http/metrics.ts'
import type { Port } from '../core/port.ts'
import type { PortRegistry } from '../core/port-registry.ts'

/** What a port counts that is so now, and goes down again. */
const NOW: ReadonlySet<string> = new Set(['waiting', 'unitsHeld', 'tcpClients'])

/** @param metrics gains gauges of what is open, waits and is held, of units by state, and the counters of every port, by kind */
export function measurePorts(metrics: Metrics, registry: PortRegistry): void {
  metrics.gauge({ name: 'port_open', help: '1 while the line is open', labels: ['port'] }, () =>
    registry.all().map((port) => ({ labels: { port: port.path }, value: port.life().state === 'open' ? 1 : 0 })),
  )
  metrics.counts(
    { name: 'port_events_total', help: 'bytes, frames and faults of a line, by kind', labels: ['port', 'kind'] },
    () => registry.all().flatMap((port) => samplesOf(port, (kind) => !NOW.has(kind))),
  )
  metrics.gauge(
    {
      name: 'port_now',
      help: 'requests that wait, units held back and TCP clients of a line',
      labels: ['port', 'kind'],
    },
    () => registry.all().flatMap((port) => samplesOf(port, (kind) => NOW.has(kind))),
  )
  metrics.gauge({ name: 'port_units', help: 'units of a Modbus line, by state', labels: ['port', 'state'] }, () =>
    registry.all().flatMap(unitSamplesOf),
  )
}

/**
 * Units by state, not by number: 64 lines of 247 units each would be tens of thousands of series, and a mistaken client
 * makes any of them. Which unit it is stands in `GET /api/ports/:path/units`.
 */
function unitSamplesOf(port: Port): Sample[] {
  const states = Object.entries(port.adapter.faces?.units?.states() ?? {})
  return states.map(([state, value]) => ({ labels: { port: port.path, state }, value }))
}

function samplesOf(port: Port, isMeant: (kind: string) => boolean): Sample[] {
  const counters = Object.entries(port.counters()).filter(([kind]) => isMeant(kind))
  return counters.map(([kind, value]) => ({ labels: { port: port.path, kind }, value }))
}
