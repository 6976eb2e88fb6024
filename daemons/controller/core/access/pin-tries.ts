/** How often a PIN may be tried: it is short, so wrong ones make it rest, ever longer, until the account signs in. */
import type { Contender } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'

export interface PinLimits {
  /** Wrong PINs in a row before the PIN of an account rests. */
  pinTries: number
  /** How long at first; doubles each time. */
  pinRestMs: number
  pinRestMaxMs: number
  /** Accounts of which wrong PINs are remembered. */
  triesTable: number
}

/** Counts for each account, existing or not. */
export interface PinTries {
  /** How long its PIN still rests; 0 if it may be tried. */
  restMs(who: Contender): number
  /** Counts a wrong PIN. @returns whether it rests from now on */
  missed(who: Contender): boolean
  /** The account has signed in. */
  forget(who: Contender): void
}

interface PinTriesParts {
  clock: Clock
  limits: PinLimits
  /** The network, if the account has signed in from there before: who guesses elsewhere keeps no wall panel out. */
  homeOf(who: Contender): string | undefined
}

interface Tried {
  misses: number
  rests: number
  untilMs: number
}

/** Where an account has signed in before it is counted apart for each network, and everywhere else together. */
export function createPinTries({ clock, limits, homeOf }: PinTriesParts): PinTries {
  const tries = new Map<string, Tried>()
  const keyOf = (who: Contender) => `${homeOf(who) ?? ''} ${who.account}`

  function restMs(who: Contender): number {
    return Math.max(0, (tries.get(keyOf(who))?.untilMs ?? 0) - clock.monotonicMs())
  }

  return {
    restMs,
    missed(who) {
      const key = keyOf(who)
      const tried = tries.get(key) ?? { misses: 0, rests: 0, untilMs: 0 }
      // Most recently tried last, so that the one that was left alone for longest goes first.
      tries.delete(key)
      const [oldest] = tries.keys()
      if (tries.size >= limits.triesTable && oldest !== undefined) tries.delete(oldest)
      tries.set(key, tried)
      if (++tried.misses < limits.pinTries) return false
      tried.misses = 0
      tried.untilMs = clock.monotonicMs() + Math.min(limits.pinRestMaxMs, limits.pinRestMs * 2 ** tried.rests)
      tried.rests++
      return true
    },
    forget(who) {
      tries.delete(keyOf(who))
    },
  }
}
