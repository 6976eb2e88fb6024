/** Routes and metrics of the boards on the network; this board comes first. */
import { Type } from 'typebox'
import type { Metrics } from '#kit/http/metrics.ts'
import { type Route, route } from '#kit/http/route.ts'
import type { MdnsCounts } from '#kit/net/mdns/mdns.ts'
import type { Recorder } from '#kit/records/records.ts'
import { type FoundPeer, type PeerCounts, type PeerTable, urlOf } from '../core/peers/peers.ts'
import type { RoleName } from '../wire/names.ts'
import { dismissedAnswer, peersAnswer } from './answers.ts'

/** This board. */
interface OwnPeer {
  hostname: string
  /** Empty if it has none. */
  address: string
  port: number
  role: RoleName
  name: string
  version: string
  /** `239.69.1.2:5004`, the group it sends sound to. */
  stream: string | null
}

/** Dependencies. */
interface PeerRouteParts {
  self(): OwnPeer
  table: Pick<PeerTable, 'list' | 'dismiss'>
  recorder: Recorder
}

export function peerRoutes({ self, table, recorder }: PeerRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/peers',
      who: 'admin',
      reply: peersAnswer,
      summary: 'This board and every other board found over mDNS, those that are gone too until they are dismissed',
      handle: () => [ownView(self()), ...table.list().map(viewOf)],
    }),
    route({
      method: 'POST',
      path: '/api/peers/dismiss',
      who: 'admin',
      reply: dismissedAnswer,
      summary: 'Lets go of a board that does not answer; it is found again when it does',
      body: Type.Object(
        { id: Type.String({ minLength: 1, maxLength: 256, description: 'id of the board in GET /api/peers' }) },
        { additionalProperties: false },
      ),
      async handle(ask) {
        const { name, address, answeredAt } = table.dismiss(ask.body.id)
        await recorder.changed(ask, 'board dismissed', name, { address, last_answer_at: answeredAt })
        return { dismissed: ask.body.id }
      },
    }),
  ]
}

/** `IP` is the name in the interface document; `ip` is for callers in JavaScript. */
function ownView({ hostname, address, port, role, name, stream, version }: OwnPeer) {
  return {
    ...{ hostname, IP: address, ip: address, role, name, stream, port },
    ...{ url: urlOf(address || `${hostname}.local`, port), path: '/', version },
    ...{ id: null, self: true, state: 'here', last_heard_at: null, last_answer_at: null },
  }
}

function viewOf({ id, host, address, role, name, stream, port, path, version, ...seen }: FoundPeer) {
  const { state, heardAt, answeredAt } = seen
  return {
    ...{ hostname: host.replace(/\.local$/, ''), IP: address, ip: address, role, name, stream, port },
    ...{ url: urlOf(address, port), path, version },
    ...{ id, self: false, state, last_heard_at: heardAt, last_answer_at: answeredAt },
  }
}

// Metrics.

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
