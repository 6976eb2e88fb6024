/** This board among the others of the network: announces it, finds others, and polls them. */
import { request } from 'node:http'
import type { Clock } from '#kit/clock.ts'
import type { MdnsConfig } from '#kit/config/tables.ts'
import type { Log } from '#kit/log.ts'
import { reachableAddresses } from '#kit/net/address.ts'
import { createPresence, type MdnsCounts } from '#kit/net/mdns/mdns.ts'
import type { Part } from '#kit/run/parts.ts'
import type { Kept } from '../core/machine/ports.ts'
import type { PeerLimits } from '../core/peers/keys.ts'
import { type KeptPeer, type PeerAsker, type PeerPlace, streamText } from '../core/peers/peer.ts'
import { createPeerBook, PeerTable } from '../core/peers/peers.ts'
import type { RoleName } from '../wire/names.ts'

// Polls a board over HTTP.

/** Sent in every answer of a board: its full name on the network. Answers of anything else have none, or another. */
const INSTANCE_HEADER = 'plantroom-instance'

/** User agent of polls, which come from no person. */
export const PEER_AGENT = 'plantroom-peer'

/** No board's head is larger. */
const MOST_HEAD_BYTES = 8192

/**
 * Requests the status without credentials: any answer will do, even a 401, if it comes from the right board. Only the
 * head is read.
 * @param answerMs from connecting to the head of the answer
 */
export function createPeerAsker({ answerMs }: { answerMs: number }): PeerAsker {
  return {
    // What is no address cannot even be asked: Node throws.
    ask: (place, id) => ask(place, id).catch(() => false),
  }

  function ask({ address, port }: PeerPlace, id: string): Promise<boolean> {
    return new Promise((resolve) => {
      const asked = request({
        host: address,
        port,
        path: '/api/status',
        // A new connection each time: one left open says little about the machine behind it.
        agent: false,
        headers: { 'user-agent': PEER_AGENT },
        maxHeaderSize: MOST_HEAD_BYTES,
        signal: AbortSignal.timeout(answerMs),
      })
      function settle(hasAnswered: boolean): void {
        resolve(hasAnswered)
        asked.destroy()
      }
      asked.on('response', ({ headers }) => settle(headers[INSTANCE_HEADER] === id))
      asked.on('upgrade', () => settle(false))
      asked.on('error', () => settle(false))
      asked.on('close', () => settle(false))
      asked.end()
    })
  }
}

// Announces this board, and looks for others.

/** Dependencies and settings. */
interface NeighbourhoodOptions {
  clock: Clock
  log: Log
  config: { mdns: MdnsConfig; peers: PeerLimits; http: { listen: string } }
  stateFolder: string
  version: string
  /** Boards found before. */
  file: Kept<readonly KeptPeer[]>
  /** Port of HTTP; called once it is known. */
  port(): number
  says(): { role: RoleName; name: string; hostname: string; mcast: string; port: number }
  /** Another board came, changed or went. */
  onChange(): void
}

/** The board and its neighbours. */
export interface Neighbourhood {
  part: Part
  peers: PeerTable
  /** Headers of every answer, by which other boards recognize this one. */
  readonly headers: Readonly<Record<string, string>>
  mdnsCounts(): MdnsCounts
  /** The address that others most likely know it by; empty if it has none. */
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
    onRenamed() {
      headers[INSTANCE_HEADER] = presence.id()
    },
    finding: {
      queryMs: limits.query_ms,
      onHeard: (service) => peers.hear(service),
      onGoodbye: (id) => peers.bidFarewell(id),
    },
  })
  const headers = { [INSTANCE_HEADER]: presence.id() }
  return {
    part: {
      name: 'peers',
      async start() {
        // State copied from another board may list this one among the others.
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
    headers,
    mdnsCounts: () => presence.counts(),
    address: () => presence.address() || (reachableAddresses()[0]?.address ?? ''),
  }
}
