/** What the server is given beside routes: callers, the mark of the tunnel, statuses of faults, metrics of the audit. */

import type { Metrics } from '#kit/http/metrics.ts'
import { bearerOf, type Identify } from '#kit/http/route.ts'
import { isWithin, type Network, parseAddress, parseNetwork } from '#kit/net/address.ts'
import type { CallHeaders, Rules } from '../core/surfaces.ts'
import { UI_FAULT_STATUS } from './ui-gate.ts'

// Calls that the cloud tunnel brought: it marks them itself, and is believed where it connects from.

/**
 * A mark makes a caller remote and gives nothing, so nobody gains by setting it; it cannot be taken off, as the tunnel
 * sets it on everything it brings.
 * @param by the keys of the table `tunnel`
 * @source document 1, Authentication 5
 */
export function createTunnelMark(by: {
  header: string
  peers: readonly string[]
}): (peer: string, headers: CallHeaders) => boolean {
  const networks = by.peers.map(parseNetwork).filter((network): network is Network => network !== undefined)
  return (peer, headers) => {
    if (headers[by.header] === undefined) return false
    const address = parseAddress(peer)
    return address !== undefined && networks.some((network) => isWithin(address, network))
  }
}

// Callers of what is served beside the REST surface, such as `/metrics`: sessions of it that may read.

/**
 * An elevated session is an administrator of the house. Where a call comes from is judged as on the REST surface, by the
 * chain of trusted proxies and the mark of the tunnel: who keeps to the building reads nothing here from outside.
 * @source document 1, Authentication 5
 */
export function houseCallers({
  rules,
  isTunnel,
}: {
  rules: Pick<Rules, 'origin' | 'resolve'>
  isTunnel(peer: string, headers: CallHeaders): boolean
}): Identify {
  return ({ authorization, remoteAddress, headers }) => {
    const origin = rules.origin(remoteAddress, headers, isTunnel(remoteAddress, headers))
    const session = rules.resolve(bearerOf(authorization), origin)
    if (session === 'invalid_session' || !session.may('query')) return undefined
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
