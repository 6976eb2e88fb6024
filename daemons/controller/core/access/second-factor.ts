/** The second factor: a code that is mailed, kept on the account, and used once. */
import type { Clock } from '#kit/clock.ts'
import type { Book, Keeper, Row } from '../site/book.ts'
import { createTurns } from '../turns.ts'
import type { Letter, PeopleSettings, Postman, Secrets } from './accounts.ts'
import { CODE_LETTERS, isSameText, randomText } from './sessions.ts'

// The states of a code: state x event -> next state.

/**
 * - `none` no code stands on the account: never issued, used up, or void
 * - `issued` one was mailed and is still accepted
 * - `lapsed` its time is over, or when it was issued cannot be told
 */
export type CodeState = 'none' | 'issued' | 'lapsed'

/**
 * - `asked` a sign-in without a code: a new one is mailed
 * - `matched` the code was submitted
 * - `missed` another one was
 * - `voided` the last miss that is let pass
 */
export type CodeEvent = 'asked' | 'matched' | 'missed' | 'voided'

/** A pair that is not listed does not change the state. @source document 1, States, Two-factor code */
export const codeStateTable: Readonly<Record<CodeState, Partial<Record<CodeEvent, CodeState>>>> = {
  none: { asked: 'issued' },
  issued: { asked: 'issued', matched: 'none', voided: 'none' },
  lapsed: { asked: 'issued', matched: 'none', missed: 'none', voided: 'none' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextCodeState(state: CodeState, event: CodeEvent): CodeState {
  return codeStateTable[state][event] ?? state
}

// The mail with a code.

/** @param code as it is typed; nothing that the account chose itself stands in the mail but its address */
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

// Codes mailed since the daemon started: how old each is, whatever the wall clock does, and how often it was missed.

/** The last code of each account. In memory: a restart forgives misses, and nobody outside can make one. */
interface MailedCodes {
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

// The judgement of a sign-in whose password was right.
/**
 * `challenged`: a code is on its way, or was a moment ago. `withheld`: the last one is void by misses, and it is too early
 * for another.
 */
type FactorVerdict = 'passed' | 'challenged' | 'withheld' | 'failed'

export interface SecondFactor {
  /**
   * Judges a sign-in whose password was right. Two with the same code at once: one of them passes.
   * @param submitted undefined where no code was
   * @param undelivered told once where the mail could not be sent; the next sign-in without a code mails anew at once
   * @source document 1, States, Two-factor code
   */
  judge(
    user: SecondFactorUser,
    submitted: string | undefined,
    undelivered: (error: unknown) => void,
  ): Promise<FactorVerdict>
}

/** Who is asked for a code. */
interface SecondFactorUser {
  id: number
  /** `isMailAddress` takes it. */
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
  /** While a code is accepted, and after one that is void by misses, another is mailed only after so long. */
  mailAgainMs: number
  /** Wrong codes after which a code is void. */
  misses: number
}

const CODE_LENGTH = 6

/** What is worth comparing. Without other letters no change of case makes one sign of two. */
const CODE_FORM = /^[A-Za-z0-9]{1,32}$/

export function createSecondFactor(parts: SecondFactorParts): SecondFactor {
  const { book, clock, keeper, limits, postman, secrets } = parts
  const turns = createTurns<number>()
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
      // One that is void keeps the next one back: whoever guesses would else have a letter sent for each five guesses.
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

/** In which state the code on an account is. @param ageMs of the code; NaN where nobody knows */
export function codeStateOf({ two_factor_token: code }: Row, ageMs: number, ttlMs: number): CodeState {
  if (typeof code !== 'string' || code === '') return 'none'
  return ageMs < ttlMs ? 'issued' : 'lapsed'
}
