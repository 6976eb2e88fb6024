/** What Prometheus is told of points. Series are bound by `points.total`. */
import type { Metrics, Sample } from '#kit/http/metrics.ts'
import type { PointView } from '../core/points-face.ts'
import type { PortRegistry } from '../core/port-registry.ts'

/** @param metrics gains the values that are good (bits as 0 and 1; texts have none), and which points are good */
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

function samples(registry: Pick<PortRegistry, 'all'>, measure: (point: PointView) => number | undefined): Sample[] {
  return registry.all().flatMap(({ path, adapter }) =>
    (adapter.faces?.points?.list() ?? []).flatMap((point) => {
      const value = measure(point)
      return value === undefined ? [] : [{ labels: { port: path, name: point.name, unit: point.unit ?? '' }, value }]
    }),
  )
}
