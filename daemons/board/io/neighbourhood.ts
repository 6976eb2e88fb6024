/** This board among the others of the network: announced, and looking for them. */
import type { Clock } from '#kit/clock.ts'
import type { MdnsConfig } from '#kit/config/mdns-table.ts'
import type { Log } from '#kit/log.ts'
import type { MdnsCounts } from '#kit/net/mdns/mdns.ts'
import { createPresence } from '#kit/net/mdns/presence.ts'
import { reachableAddresses } from '#kit/net/own-addresses.ts'
import type { Part } from '#kit/run/parts.ts'
import type { Kept } from '../core/machine-ports.ts'
import type { KeptPeer } from '../core/peer.ts'
import { createPeerBook } from '../core/peer-book.ts'
import { streamText } from '../core/peer-claim.ts'
import type { PeerLimits } from '../core/peer-keys.ts'
import { PeerTable } from '../core/peer-table.ts'
import type { RoleName } from '../wire/role-name.ts'
import { createPeerAsker, INSTANCE_HEADER } from './peer-asker.ts'

/** What it is made of. */
export interface NeighbourhoodOptions {
  clock: Clock
  log: Log
  config: { mdns: MdnsConfig; peers: PeerLimits; http: { listen: string } }
  stateFolder: string
  version: string
  /** Boards found before. */
  file: Kept<readonly KeptPeer[]>
  /** Where HTTP listens; asked for once that is known. */
  port(): number
  says(): { role: RoleName; name: string; hostname: string; mcast: string; port: number }
  /** Another board came, changed or went. */
  onChange(): void
}

/** The board and its neighbours. */
export interface Neighbourhood {
  part: Part
  peers: PeerTable
  /** Of every answer, so that others know whom they asked. */
  headers(): Record<string, string>
  mdnsCounts(): MdnsCounts
  /** The address that others most likely know it by; empty where it has none. */
  address(): string
}

export function createNeighbourhood(options: NeighbourhoodOptions): Neighbourhood {
  const { clock, config, file, log } = options
  const { peers: limits } = config
  const asker = createPeerAsker({ answerMs: limits.answer_ms })
  function onChange(): void {
    book.changed()
    options.onChange()
  }
  const peers = new PeerTable({ clock, limits, asker, askNetwork: () => presence.ask(), onChange })
  const book = createPeerBook({ clock, log, file, saveMs: limits.save_ms, kept: () => peers.kept() })
  const presence = createPresence({
    ...options,
    daemon: 'board',
    says() {
      const said = options.says()
      const stream = streamText(said)
      return stream === null ? said : { ...said, more: { stream } }
    },
    finding: {
      queryMs: limits.query_ms,
      onHeard: (service) => peers.hear(service),
      onGoodbye: (id) => peers.bidFarewell(id),
    },
  })
  return {
    part: {
      name: 'peers',
      async start() {
        // State that was copied from another board may have this one among the others.
        const own = presence.id()
        peers.start((await book.open()).filter(({ id }) => id !== own))
        await presence.part.start()
      },
      async stop() {
        await book.close()
        peers.stop()
        await presence.part.stop()
      },
    },
    peers,
    headers: () => ({ [INSTANCE_HEADER]: presence.id() }),
    mdnsCounts: () => presence.counts(),
    address: () => presence.address() || (reachableAddresses()[0]?.address ?? ''),
  }
}
