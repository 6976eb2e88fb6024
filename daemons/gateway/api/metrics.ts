/** Metrics of ports, points, captures and the MQTT broker for Prometheus. */
import type { Metrics, Sample } from '#kit/http/metrics.ts'
import type { MqttOutlet } from '#kit/net/mqtt/outlet.ts'
import { unitStatesOf } from '../core/lines/adapter.ts'
import type { Captures } from '../core/lines/capture.ts'
import type { Port } from '../core/lines/port.ts'
import type { PortRegistry } from '../core/lines/port-registry.ts'
import type { PointBase } from '../core/points/definition.ts'
import type { PointView } from '../core/points/values.ts'

/** The gauges among a port's numbers: values that rise and fall. */
const NOW: ReadonlySet<string> = new Set(['waiting', 'unitsHeld', 'tcpClients'])

/**
 * @param metrics gets gauges of what is open, queued and on hold, of units by state, and the counters of every port by
 * kind
 */
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
  metrics.gauge({ name: 'port_units', help: 'units of a line, by state', labels: ['port', 'state'] }, () =>
    registry.all().flatMap(unitSamplesOf),
  )
}

/**
 * Units by state, not by number: 64 lines of 247 units each would be tens of thousands of series, and a client's
 * mistake can create any of them. `GET /api/ports/:path/units` shows which unit it is.
 */
function unitSamplesOf(port: Port): Sample[] {
  const states = Object.entries(unitStatesOf(port.adapter)?.states() ?? {})
  return states.map(([state, value]) => ({ labels: { port: port.path, state }, value }))
}

function samplesOf(port: Port, isMeant: (kind: string) => boolean): Sample[] {
  const counters = Object.entries(port.counters()).filter(([kind]) => isMeant(kind))
  return counters.map(([kind, value]) => ({ labels: { port: port.path, kind }, value }))
}

// Points for Prometheus. `points.total` bounds the number of series.

/** @param metrics gets the values that are good (bits as 0 and 1, no texts), and which points are good */
export function measurePoints(metrics: Metrics, registry: Pick<PortRegistry, 'all'>): void {
  const labels = ['port', 'name', 'unit']
  metrics.gauge({ name: 'point_value', help: 'value of a point, while it is good', labels }, () =>
    samples(registry, ({ quality, type, value }) =>
      quality === 'good' && type !== 'string' && value !== null ? Number(value) : undefined,
    ),
  )
  metrics.gauge({ name: 'point_good', help: '1 while the value of a point is good', labels }, () =>
    samples(registry, ({ quality }) => (quality === 'good' ? 1 : 0)),
  )
}

function samples(
  registry: Pick<PortRegistry, 'all'>,
  measure: (point: PointView<PointBase>) => number | undefined,
): Sample[] {
  return registry.all().flatMap(({ path, adapter }) =>
    (adapter.faces?.points?.list() ?? []).flatMap((point) => {
      const value = measure(point)
      return value === undefined ? [] : [{ labels: { port: path, name: point.name, unit: point.unit ?? '' }, value }]
    }),
  )
}

// Live captures for Prometheus.

/** @param metrics gets a gauge of running captures, and a count of those that broke off */
export function measureCaptures(metrics: Metrics, captures: Captures): void {
  metrics.gauge({ name: 'captures_running', help: 'Live captures' }, () => [
    { labels: {}, value: captures.counts().running },
  ])
  metrics.counts(
    { name: 'captures_broken_off_total', help: 'Live captures that were not read as fast as they grew' },
    () => [{ labels: {}, value: captures.counts().brokenOff }],
  )
}

// Counters of the MQTT outlet, for Prometheus.

/** @param outlet undefined: no broker is set, and there is nothing to measure */
export function measureMqtt(metrics: Metrics, outlet: Pick<MqttOutlet, 'view'> | undefined): void {
  if (!outlet) return
  metrics.gauge({ name: 'mqtt_connected', help: '1 while the MQTT broker takes messages' }, () => [
    { labels: {}, value: outlet.view().state === 'connected' ? 1 : 0 },
  ])
  metrics.counts(
    { name: 'mqtt_messages_total', help: 'Messages for the MQTT broker, by fate', labels: ['fate'] },
    () => {
      const { dropped, published, refused } = outlet.view()
      return Object.entries({ dropped, published, refused }).map(([fate, value]) => ({ labels: { fate }, value }))
    },
  )
}
