/** Counts what is open at once, by each account and in all. */
import { Fault } from '#kit/pure/fault.ts'
import { counted } from '#kit/pure/text.ts'

/** Bounds, and the names of their settings. */
interface MeterBounds {
  ofAccount: number
  inAll: number
  /** `playback.streams`, `playback.total_streams`. */
  keys: { ofAccount: string; inAll: string }
  /** What is counted, as a sentence says it: `live stream`. */
  what: string
}

export interface StreamMeter {
  /** @throws Fault `too_many_streams` if one more of an account would be too many */
  check(account: string): void
  /**
   * Where all places are taken, the oldest of the account with the most gives way, as long as that leaves it more than the
   * newcomer has: two accounts with all they may have would else keep out everybody.
   * @param giveWay ends it at once, its place already another's; without it, it is not asked to
   * @returns what ends it, once. @throws Fault `too_many_streams`
   */
  take(account: string, giveWay?: (why: Fault) => void): () => void
}

interface Held {
  giveWay: ((why: Fault) => void) | undefined
}

export function createStreamMeter({ inAll: mostInAll, keys, ofAccount: most, what }: MeterBounds): StreamMeter {
  /** The oldest of each account first. */
  const open = new Map<string, Set<Held>>()

  function leave(account: string, one: Held): void {
    const own = open.get(account)
    own?.delete(one)
    if (own?.size === 0) open.delete(account)
  }

  /** @returns who would give way to one more of an account; undefined if there is room */
  function check(account: string): { account: string; one: Held } | undefined {
    const own = open.get(account)?.size ?? 0
    if (own >= most)
      throw new Fault(
        'too_many_streams',
        `This account has ${counted(own, what)} open already; ${keys.ofAccount} allows ${most}. Close one first.`,
      )
    const inAll = [...open.values()].reduce((sum, { size }) => sum + size, 0)
    if (inAll < mostInAll) return undefined
    const [greediest] = [...open].toSorted(([, one], [, other]) => other.size - one.size)
    // With fewer, it would only be next in turn to come back in the newcomer's place.
    const oldest = greediest && greediest[1].size >= own + 2 && [...greediest[1]].find(({ giveWay }) => giveWay)
    if (greediest && oldest) return { account: greediest[0], one: oldest }
    throw new Fault(
      'too_many_streams',
      `${counted(inAll, what)} are open already; ${keys.inAll} allows ${mostInAll}. Try again later.`,
    )
  }

  return {
    check: (account) => void check(account),
    take(account, giveWay) {
      const other = check(account)
      if (other) leave(other.account, other.one)
      const one = { giveWay }
      open.set(account, (open.get(account) ?? new Set()).add(one))
      other?.one.giveWay?.(
        new Fault('too_many_streams', `Another account needs the place of this ${what}: all ${mostInAll} are taken.`),
      )
      return () => leave(account, one)
    },
  }
}
