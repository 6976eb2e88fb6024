/** The second factor: a mailed code, stored on the account and used once. */
import type { Clock } from '#kit/clock.ts'
import type { Book, Keeper, Row } from '../site/book.ts'
import { createTurnsByKey } from '../turns.ts'
import type { Letter, PeopleSettings, Postman, Secrets } from './accounts.ts'
import { CODE_LETTERS, isSameText, randomText } from './sessions.ts'

// The states of a code: state x event -> next state.

/**
 * - `none` the account has no code: never issued, used up, or void
 * - `issued` a code was mailed and is still accepted
 * - `lapsed` its time is over, or its time of issue cannot be told
 */
export type CodeState = 'none' | 'issued' | 'lapsed'

/**
 * - `asked` a sign-in without a code: a new one is mailed
 * - `matched` the right code was submitted
 * - `missed` a wrong code was submitted
 * - `voided` a wrong code was submitted, and it was the last one allowed
 */
export type CodeEvent = 'asked' | 'matched' | 'missed' | 'voided'

/** A pair that is not listed does not change the state. @source document 1, States, Two-factor code */
export const codeStateTable: Readonly<Record<CodeState, Partial<Record<CodeEvent, CodeState>>>> = {
  none: { asked: 'issued' },
  issued: { asked: 'issued', matched: 'none', voided: 'none' },
  lapsed: { asked: 'issued', matched: 'none', missed: 'none', voided: 'none' },
}

/** @returns the state after the event; unchanged if the table has no such pair */
export function nextCodeState(state: CodeState, event: CodeEvent): CodeState {
  return codeStateTable[state][event] ?? state
}

// The mail with a code.

/** @param code as it is typed; apart from the address, the mail contains nothing that the account chose itself */
export function codeLetter(to: string, code: string, ttlSeconds: number): Letter {
  return {
    to,
    subject: 'Your sign-in code',
    text: [
      `Your sign-in code is ${code}`,
      '',
      `It can be used once, within ${lifeText(ttlSeconds)}. If you did not just sign in, somebody else knows your password:`,
      'change it.',
      '',
    ].join('\n'),
    lifeMs: ttlSeconds * 1000,
  }
}

function lifeText(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`
  return `${Math.floor(seconds / 60)} minutes`
}

// Codes mailed since the daemon started: the age of each, independent of the wall clock, and its wrong tries.

/** The last code of each account. Kept in memory: a restart resets the misses, but nobody outside can cause one. */
interface MailedCodes {
  /** Records another letter to the account. @returns a function to call if it was not delivered */
  add(id: number, code: string, mailedMs: number): () => void
  /** The age of the account's code; NaN if unknown. */
  ageMs(row: Row): number
  /** Counts a wrong code. @returns the misses so far for the account's current code */
  missed(row: Row): number
  /** Whether the last letter blocks the next one: an account gets at most one letter per `forMs`. */
  keepsBack(row: Row, state: CodeState, forMs: number): boolean
  /** Unblocks the next letter: the last code was used, or its time is over. */
  forget(id: number): void
}

interface Mailed {
  code: string
  /** Monotonic. */
  atMs: number
  misses: number
  isUndelivered: boolean
}

/** @param keptMs entries older than this no longer matter, and are evicted */
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
    // Issued before the start: even if the wall clock is changed, it is not accepted for longer than one life.
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

/** Age by the stored time of issue. If the wall clock was set back, that time lies in the future and says nothing. */
function wallAgeMs({ two_factor_issued_at: issuedAt }: Row, nowMs: number): number {
  return typeof issuedAt === 'number' && issuedAt <= nowMs ? nowMs - issuedAt : Number.NaN
}

// How a sign-in with the right password is judged.
/**
 * `challenged`: a code was mailed, now or a moment ago. `withheld`: the last code is void after too many misses, and it
 * is too early to mail another.
 */
type FactorVerdict = 'passed' | 'challenged' | 'withheld' | 'failed'

export interface SecondFactor {
  /**
   * Judges a sign-in whose password was right. Of two with the same code at once, only one passes.
   * @param submitted undefined if no code was submitted
   * @param undelivered called once if the mail could not be sent; the next sign-in without a code then mails a new one
   * at once
   * @source document 1, States, Two-factor code
   */
  judge(
    user: SecondFactorUser,
    submitted: string | undefined,
    undelivered: (error: unknown) => void,
  ): Promise<FactorVerdict>
}

/** The user who has to enter a code. */
interface SecondFactorUser {
  id: number
  /** Accepted by `isMailAddress`. */
  email: string
}

interface SecondFactorParts {
  book: Book
  keeper: Keeper
  clock: Clock
  secrets: Secrets
  postman: Postman
  settings(): PeopleSettings
  limits: SecondFactorLimits
}

export interface SecondFactorLimits {
  /** Shortest time between two mails, while a code is accepted or after it became void by misses. */
  mailAgainMs: number
  /** Wrong tries after which a code is void. */
  misses: number
}

const CODE_LENGTH = 6

/** Only such texts are compared. With ASCII only, changing the case never turns one character into two. */
const CODE_FORM = /^[A-Za-z0-9]{1,32}$/

export function createSecondFactor(parts: SecondFactorParts): SecondFactor {
  const { book, clock, keeper, limits, postman, secrets } = parts
  const turns = createTurnsByKey<number>()
  const ttlMs = () => parts.settings().api_2fa_ttl_seconds * 1000
  const mailed = createMailedCodes({ clock, keptMs: () => Math.max(ttlMs(), limits.mailAgainMs) })

  async function issue(user: SecondFactorUser, undelivered: (error: unknown) => void): Promise<void> {
    const code = randomText(CODE_LETTERS, CODE_LENGTH, secrets.randomBytes)
    const mailedMs = clock.monotonicMs()
    await keeper.change('auth_user', user.id, { two_factor_token: code, two_factor_issued_at: clock.epochMs() })
    const didNotArrive = mailed.add(user.id, code, mailedMs)
    const failed = (error: unknown) => {
      didNotArrive()
      undelivered(error)
    }
    postman.send(codeLetter(user.email, code, parts.settings().api_2fa_ttl_seconds)).catch(failed)
  }

  function eventOf(row: Row, submitted: string): CodeEvent {
    const code = String(row.two_factor_token)
    if (CODE_FORM.test(submitted) && isSameText(submitted.toUpperCase(), code.toUpperCase())) return 'matched'
    return mailed.missed(row) >= limits.misses ? 'voided' : 'missed'
  }

  async function judgeCode(row: Row, state: CodeState, submitted: string): Promise<FactorVerdict> {
    if (state === 'none') return 'failed'
    const event = eventOf(row, submitted)
    if (nextCodeState(state, event) === 'none') {
      await keeper.change('auth_user', row.id, { two_factor_token: null, two_factor_issued_at: null })
      // A void code still blocks the next letter: otherwise a guesser would trigger a letter every five guesses.
      if (state === 'lapsed' || event === 'matched') mailed.forget(row.id)
    }
    return state === 'issued' && event === 'matched' ? 'passed' : 'failed'
  }

  return {
    judge: (user, submitted, undelivered) =>
      turns.run(user.id, async () => {
        const row = book.row('auth_user', user.id)
        if (row === undefined) return 'failed'
        const state = codeStateOf(row, mailed.ageMs(row), ttlMs())
        if (submitted !== undefined) return await judgeCode(row, state, submitted)
        if (mailed.keepsBack(row, state, limits.mailAgainMs)) return state === 'issued' ? 'challenged' : 'withheld'
        await issue(user, undelivered)
        return 'challenged'
      }),
  }
}

/** The state of an account's code. @param ageMs age of the code; NaN if unknown */
export function codeStateOf({ two_factor_token: code }: Row, ageMs: number, ttlMs: number): CodeState {
  if (typeof code !== 'string' || code === '') return 'none'
  return ageMs < ttlMs ? 'issued' : 'lapsed'
}
