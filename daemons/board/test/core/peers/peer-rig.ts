/** Announced boards that answer or do not, for tests of the table of peers. */
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import type { HeardService } from '#kit/net/mdns/library.ts'
import type { PeerLimits } from '../../../core/peers/keys.ts'
import type { KeptPeer, PeerPlace } from '../../../core/peers/peer.ts'
import { PeerTable } from '../../../core/peers/peers.ts'

export const LIMITS: PeerLimits = {
  query_ms: 10_000,
  poll_ms: 3000,
  answer_ms: 2000,
  polls: 8,
  doubt_ms: 4000,
  lost_ms: 10_000,
  unreachable_ms: 600_000,
  absent_poll_ms: 30_000,
  save_ms: 600_000,
  max: 256,
  absent_max: 128,
  per_sender: 16,
}

/** The announcement of a board at 10.0.0.`host`. */
export function heard(
  host: number,
  more: Partial<HeardService> & { texts?: Record<string, string> } = {},
): HeardService {
  const { texts = {}, ...rest } = more
  const address = `10.0.0.${host}`
  const text = { role: 'serial', name: `Board ${host}`, version: '1.2.3', path: '/', ...texts }
  return {
    id: `board-${host}._plantroom._tcp.local`,
    name: `board-${host}`,
    host: `b${host}.local`,
    port: 80,
    reach: [address],
    from: address,
    text: new Map(Object.entries(text)),
    ...rest,
  }
}

/**
 * A table on a fake clock, and the boards that answer.
 * @param kept boards known from before
 */
export function peerRig(limits: Partial<PeerLimits> = {}, kept: readonly KeptPeer[] = []) {
  const clock: FakeClock = fakeClock()
  /** By `address:port`: the id of the board there. */
  const answers = new Map<string, string>()
  /** Announcements sent when the network is queried. */
  const announced = new Set<HeardService>()
  const asked: PeerPlace[] = []
  const under = { way: 0, most: 0 }
  let networkAsked = 0
  let changes = 0
  const table = new PeerTable({
    clock,
    limits: { ...LIMITS, ...limits },
    asker: {
      async ask(place, id) {
        asked.push(place)
        under.most = Math.max(under.most, ++under.way)
        const there = answers.get(`${place.address}:${place.port}`)
        // Like a machine that is switched off: runs into a timeout.
        if (there === undefined) await new Promise<void>((resolve) => clock.after(2000, resolve))
        under.way--
        return there === id
      },
    },
    askNetwork() {
      networkAsked++
      clock.after(100, () => {
        for (const service of announced) table.hear(service)
      })
    },
    onChange: () => void changes++,
  })
  table.start(kept)

  /** Makes a board present and announced. */
  function appear(service: HeardService): void {
    answers.set(`${service.reach[0]}:${service.port}`, service.id)
    table.hear(service)
  }
  const inState = (isAbsent: boolean) => table.list().filter(({ state }) => (state === 'absent') === isAbsent)
  return {
    table,
    clock,
    answers,
    announced,
    asked,
    under,
    appear,
    /** Names of boards that are present, or may be. */
    names: () => inState(false).map(({ name }) => name),
    /** Names of boards that were there once. */
    absent: () => inState(true).map(({ name }) => name),
    networkAsked: () => networkAsked,
    changes: () => changes,
  }
}
