/** What the server is given beside routes: callers, statuses of faults, metrics of the audit. */
import type { Metrics } from '#kit/http/metrics.ts'
import { bearerOf, type Identify } from '#kit/http/route.ts'
import type { Rules } from '../core/surfaces.ts'
import { UI_FAULT_STATUS } from './ui-gate.ts'

// Callers of what is served beside the REST surface, such as `/metrics`: sessions of it that may read.

/**
 * An elevated session is an administrator of the house. Where a call comes from is judged as on the REST surface, by the
 * chain of trusted proxies and the mark of the tunnel: who keeps to the building reads nothing here from outside.
 * @source document 1, Authentication 5
 */
export function houseCallers(rules: Pick<Rules, 'origin' | 'resolve'>): Identify {
  return ({ authorization, remoteAddress, headers }) => {
    const origin = rules.origin(remoteAddress, headers)
    const session = rules.resolve(bearerOf(authorization), origin)
    if (!session?.may('query')) return undefined
    return { name: session.username, role: session.isElevated ? 'admin' : 'viewer' }
  }
}

// Statuses of faults.

export const faultStatus: Readonly<Record<string, number>> = {
  ...UI_FAULT_STATUS,
  audit_read_failed: 500,
}

// Metrics of the audit.

/** What an audit says of itself. */
interface AuditCounts {
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
