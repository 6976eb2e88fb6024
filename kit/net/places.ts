/** Places of a server: how many connections it has, of one address and in all, and who makes room for the next. */

/** Bounds of a server. */
export interface PlaceLimits {
  /** Connections in all. */
  most: number
  /** Connections of one address. */
  mostPerAddress: number
  /** What an address is counted by; undefined where it may take every place, and loses none to others. */
  shareOf(address: string): string | undefined
}

/**
 * How much would be lost if a connection ended now, least first: it has yet to say what it wants (`opening`), it wants
 * nothing at the moment and comes back at no cost (`idle`), it wants nothing at the moment and misses its place (`kept`), it
 * waits for something (`busy`), it lasts until somebody ends it (`lasting`).
 */
export type Use = 'opening' | 'idle' | 'kept' | 'busy' | 'lasting'

/** Who has a place. */
export interface Holder {
  /** Of the same use, whoever is so for longest goes first. */
  use(): { use: Use; sinceMs: number }
  /** Others need the place, which is free already: it ends now. */
  giveWay(): void
}

export interface Places {
  readonly size: number
  /** Whether `take` would give a place now. */
  hasRoom(address: string): boolean
  /**
   * Gives a place, for which another holder may be ended:
   * - where all are taken, one of the address with most places, if that is left with more than the newcomer has;
   * - else, or where the newcomer's address has its share, one that is opening or idle.
   * @returns false where nobody makes room
   */
  take(address: string, holder: Holder): boolean
  /** Without effect for one that has no place. */
  leave(holder: Holder): void
  /** Since the start: who was turned away, and who was ended for others. */
  counts(): { refused: number; evicted: number }
}

const ORDER: Record<Use, number> = { opening: 0, idle: 1, kept: 2, busy: 3, lasting: 4 }
const TRUSTED = Symbol('trusted')

type Share = string | typeof TRUSTED

export function createPlaces({ most, mostPerAddress, shareOf }: PlaceLimits): Places {
  const shares = new Map<Share, Set<Holder>>()
  const shareOfHolder = new Map<Holder, Share>()
  let refused = 0
  let evicted = 0

  function leave(holder: Holder): void {
    const share = shareOfHolder.get(holder)
    if (share === undefined) return
    shareOfHolder.delete(holder)
    const held = shares.get(share)
    held?.delete(holder)
    if (held?.size === 0) shares.delete(share)
  }

  /** @returns who makes room for one more of that share; undefined where nobody has to, `false` where nobody does */
  function victimFor(share: Share): Holder | undefined | false {
    const own = shares.get(share)
    if (own && share !== TRUSTED && own.size >= mostPerAddress) return leastMissed(own, 'idle') ?? false
    if (shareOfHolder.size < most) return undefined
    const greediest = greediestShare()
    // As many as the newcomer will have, or fewer, and it would only be the other's turn to come again.
    if (greediest && greediest.size >= (share === TRUSTED ? 0 : (own?.size ?? 0)) + 2)
      return leastMissed(greediest, 'lasting')
    return leastMissed(shareOfHolder.keys(), 'idle') ?? false
  }

  function greediestShare(): Set<Holder> | undefined {
    let greediest: Set<Holder> | undefined
    for (const [share, held] of shares) if (share !== TRUSTED && held.size > (greediest?.size ?? 0)) greediest = held
    return greediest
  }

  const shareFor = (address: string): Share => shareOf(address) ?? TRUSTED

  return {
    get size() {
      return shareOfHolder.size
    },
    hasRoom: (address) => victimFor(shareFor(address)) !== false,
    take(address, holder) {
      const share = shareFor(address)
      const victim = victimFor(share)
      if (victim === false) {
        refused++
        return false
      }
      if (victim) {
        evicted++
        leave(victim)
        victim.giveWay()
      }
      const held = shares.get(share) ?? new Set()
      shares.set(share, held.add(holder))
      shareOfHolder.set(holder, share)
      return true
    },
    leave,
    counts: () => ({ refused, evicted }),
  }
}

/** Places of a server that shares others with more servers: who comes in needs one of its own and one of all. */
export function createPlacesWithin(own: Places, all: Places): Places {
  const holdings = new Map<Holder, Holder>()
  let refused = 0
  let evicted = 0

  function leave(holder: Holder): void {
    const holding = holdings.get(holder)
    if (!holding) return
    holdings.delete(holder)
    own.leave(holding)
    all.leave(holding)
  }

  return {
    get size() {
      return own.size
    },
    hasRoom: (address) => own.hasRoom(address) && all.hasRoom(address),
    take(address, holder) {
      if (!own.hasRoom(address) || !all.hasRoom(address)) {
        refused++
        return false
      }
      const holding: Holder = {
        use: () => holder.use(),
        giveWay() {
          evicted++
          leave(holder)
          holder.giveWay()
        },
      }
      holdings.set(holder, holding)
      return own.take(address, holding) && all.take(address, holding)
    },
    leave,
    counts: () => ({ refused, evicted }),
  }
}

/** @param worthiest those of more use are left alone */
function leastMissed(holders: Iterable<Holder>, worthiest: Use): Holder | undefined {
  let found: { holder: Holder; order: number; sinceMs: number } | undefined
  for (const holder of holders) {
    const { use, sinceMs } = holder.use()
    const order = ORDER[use]
    if (order > ORDER[worthiest]) continue
    if (!found || order < found.order || (order === found.order && sinceMs < found.sinceMs))
      found = { holder, order, sinceMs }
  }
  return found?.holder
}
