/** What Prometheus is told of live captures. */
import type { Metrics } from '#kit/http/metrics.ts'
import type { Captures } from '../core/capture.ts'

/** @param metrics gains a gauge of those that run and a count of those that broke off */
export function measureCaptures(metrics: Metrics, captures: Captures): void {
  metrics.gauge({ name: 'captures_running', help: 'Live captures' }, () => [
    { labels: {}, value: captures.counts().running },
  ])
  metrics.counts(
    { name: 'captures_broken_off_total', help: 'Live captures that were not read as fast as they grew' },
    () => [{ labels: {}, value: captures.counts().brokenOff }],
  )
}
