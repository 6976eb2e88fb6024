/** What Prometheus is told of the audit. */
import type { Metrics } from '#kit/http/metrics.ts'

/** What an audit says of itself. */
export interface AuditCounts {
  counts(): { written: number; lost: number; waiting: number; isFailing: boolean }
}

/** @param metrics gains the counts of what was written and lost, and gauges of what waits and whether the disk takes it */
export function measureAudit(metrics: Metrics, audit: AuditCounts): void {
  metrics.counts({ name: 'audit_records_written_total', help: 'Calls recorded on the disk' }, () => [
    { labels: {}, value: audit.counts().written },
  ])
  metrics.counts({ name: 'audit_records_lost_total', help: 'Calls that are not recorded, as too many waited' }, () => [
    { labels: {}, value: audit.counts().lost },
  ])
  metrics.gauge({ name: 'audit_records_waiting', help: 'Calls that wait for the disk' }, () => [
    { labels: {}, value: audit.counts().waiting },
  ])
  metrics.gauge({ name: 'audit_failing', help: 'Whether the disk takes no record, and no command is taken' }, () => [
    { labels: {}, value: audit.counts().isFailing ? 1 : 0 },
  ])
}
