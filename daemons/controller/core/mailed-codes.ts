/** Codes that this run of the daemon mailed: how old each is, whatever the wall clock does, and how often it was missed. */
import type { Clock } from '#kit/clock.ts'
import type { CodeState } from './code-state-table.ts'
import type { Row } from './row.ts'

/** The last code of each account. In memory: a restart forgives misses, and nobody outside can make one. */
export interface MailedCodes {
  /** Another letter goes to the account. @returns to be called where it did not arrive */
  add(id: number, code: string, mailedMs: number): () => void
  /** Of the code on an account; NaN where nobody knows. */
  ageMs(row: Row): number
  /** Counts a wrong code. @returns how many there were of the code that the account has */
  missed(row: Row): number
  /** Whether the last letter keeps the next one back: nothing is mailed to an account more often than so. */
  keepsBack(row: Row, state: CodeState, forMs: number): boolean
  /** Nothing keeps the next letter back: the last code was used, or its time is over. */
  forget(id: number): void
}

interface Mailed {
  code: string
  /** Monotonic. */
  atMs: number
  misses: number
  isUndelivered: boolean
}

/** @param keptMs what is older than this decides nothing any more, and makes room */
export function createMailedCodes({ clock, keptMs }: { clock: Clock; keptMs(): number }): MailedCodes {
  const startedMs = clock.monotonicMs()
  const mailedTo = new Map<number, Mailed>()

  function ofCode(row: Row): Mailed | undefined {
    const mailed = mailedTo.get(row.id)
    return mailed?.code === row.two_factor_token ? mailed : undefined
  }

  function ageMs(row: Row): number {
    const mailed = ofCode(row)
    if (mailed) return clock.monotonicMs() - mailed.atMs
    // From before the start: however the wall clock is set meanwhile, it is not accepted for longer than one life.
    return Math.max(wallAgeMs(row, clock.epochMs()), clock.monotonicMs() - startedMs)
  }

  function makeRoom(): void {
    for (const [id, { atMs }] of mailedTo) if (clock.monotonicMs() - atMs >= keptMs()) mailedTo.delete(id)
  }

  return {
    add(id, code, mailedMs) {
      makeRoom()
      const mailed = { code, atMs: mailedMs, misses: 0, isUndelivered: false }
      mailedTo.set(id, mailed)
      return () => {
        mailed.isUndelivered = true
      }
    },
    ageMs,
    missed(row) {
      const mailed = ofCode(row) ?? {
        code: String(row.two_factor_token),
        ...{ atMs: clock.monotonicMs() - ageMs(row), misses: 0, isUndelivered: false },
      }
      mailedTo.set(row.id, mailed)
      return ++mailed.misses
    },
    keepsBack(row, state, forMs) {
      if (state === 'lapsed') return false
      const mailed = mailedTo.get(row.id)
      if (mailed) return !mailed.isUndelivered && clock.monotonicMs() - mailed.atMs < forMs
      return state === 'issued' && ageMs(row) < forMs
    },
    forget: (id) => void mailedTo.delete(id),
  }
}

/** By the time that stands beside it. A wall clock that was set back makes that one of the future, which says nothing. */
function wallAgeMs({ two_factor_issued_at: issuedAt }: Row, nowMs: number): number {
  return typeof issuedAt === 'number' && issuedAt <= nowMs ? nowMs - issuedAt : Number.NaN
}
