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
  /** @returns what ends it, once. @throws Fault `too_many_streams` */
  take(account: string): () => void
}

export function createStreamMeter({ inAll: mostInAll, keys, ofAccount: most, what }: MeterBounds): StreamMeter {
  const open = new Map<string, number>()

  function check(account: string): void {
    const own = open.get(account) ?? 0
    const inAll = [...open.values()].reduce((all, one) => all + one, 0)
    if (own >= most)
      throw new Fault(
        'too_many_streams',
        `This account has ${counted(own, what)} open already; ${keys.ofAccount} allows ${most}. Close one first.`,
      )
    if (inAll >= mostInAll)
      throw new Fault(
        'too_many_streams',
        `${counted(inAll, what)} are open already; ${keys.inAll} allows ${mostInAll}. Try again later.`,
      )
  }

  return {
    check,
    take(account) {
      check(account)
      open.set(account, (open.get(account) ?? 0) + 1)
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        const rest = (open.get(account) ?? 1) - 1
        if (rest === 0) open.delete(account)
        else open.set(account, rest)
      }
    },
  }
}
