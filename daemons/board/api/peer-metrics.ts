/** Counts and gauges of the boards that were found. */
import type { Metrics } from '#kit/http/metrics.ts'
import type { MdnsCounts } from '#kit/net/mdns/mdns.ts'
import type { PeerCounts } from '../core/peer-table.ts'

export function measurePeers(metrics: Metrics, peers: () => PeerCounts, mdns: () => MdnsCounts): void {
  metrics.gauge(
    {
      name: 'peers',
      help: 'Boards known by state; new ones have not answered yet, absent ones not any more',
      labels: ['state'],
    },
    () => Object.entries(peers().states).map(([state, value]) => ({ labels: { state }, value })),
  )
  const counted = (name: string, help: string, read: () => number) =>
    metrics.counts({ name, help }, () => [{ labels: {}, value: read() }])
  counted('peers_refused_total', 'Boards heard of and left out, since there were too many', () => peers().refused)
  counted('peer_polls_unanswered_total', 'Times that a board did not answer', () => peers().unanswered)
  counted('mdns_broken_total', 'Multicast messages that could not be read', () => mdns().broken)
  metrics.gauge({ name: 'mdns_links', help: 'Interfaces over which boards are found' }, () => [
    { labels: {}, value: mdns().links },
  ])
  metrics.counts({ name: 'mdns_refused_total', help: 'Multicast messages left out, by why', labels: ['why'] }, () =>
    Object.entries(mdns().refused).map(([why, value]) => ({ labels: { why }, value })),
  )
}
