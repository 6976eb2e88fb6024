/** Connection limits of a server: per address and in total, and which connection is evicted for the next. */

/** Limits of a server. */
export interface PlaceLimits {
  /** Connections in all. */
  most: number
  /** Connections of one address. */
  mostPerAddress: number
  /** The key an address is counted by; undefined if it may take every place, and loses none to others. */
  shareOf(address: string): string | undefined
}

/**
 * How much would be lost if a connection ended now, least first: it has not sent a request yet (`opening`); it is idle
 * and reconnects at no cost (`idle`); it is idle but needs its place (`kept`); it waits for an answer (`busy`); it
 * lasts until somebody ends it (`lasting`).
 */
export type Use = 'opening' | 'idle' | 'kept' | 'busy' | 'lasting'

/** A connection that holds a place. */
export interface Holder {
  /** Among equal uses, the one that has been so for longest goes first. */
  use(): { use: Use; sinceMs: number }
  /** Its place, already freed, was given to another: close it now. */
  giveWay(): void
}

export interface Places {
  readonly size: number
  /** Whether `take` would give a place now. */
  hasRoom(address: string): boolean
  /**
   * Gives a place, for which another holder may be evicted:
   * - if all are taken, one of the address with the most, if that still leaves it more than the newcomer has;
   * - otherwise, or if the newcomer's address is at its limit, one that is opening or idle.
   * @returns false if no holder can be evicted
   */
  take(address: string, holder: Holder): boolean
  /** No effect for a holder that has no place. */
  leave(holder: Holder): void
  /** Counts since the start: newcomers refused, and holders evicted. */
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

  /**
   * @returns the holder to evict for one more of that share; undefined if there is room, `false` if none can be evicted
   */
  function victimFor(share: Share): Holder | undefined | false {
    const own = shares.get(share)
    if (own && share !== TRUSTED && own.size >= mostPerAddress) return leastMissed(own, 'idle') ?? false
    if (shareOfHolder.size < most) return undefined
    const greediest = greediestShare()
    // With fewer, the evicted address would only be next in turn to evict the newcomer.
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

/** Places of one server that are also limited across several servers: a connection needs one of each. */
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

/** @param worthiest holders of a greater use are left alone */
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
