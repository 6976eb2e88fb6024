/** The second factor: a code that is mailed, kept on the account, and used once. */
import type { Clock } from '#kit/clock.ts'
import { codeLetter } from './code-letter.ts'
import { type CodeEvent, type CodeState, nextCodeState } from './code-state-table.ts'
import type { PeopleSettings, Postman, Secrets } from './people-ports.ts'
import { CODE_LETTERS, isSameText, randomText } from './random-text.ts'
import type { Book, Keeper, Row } from './row.ts'
import { createTurns } from './turns.ts'

/** `challenged`: a code is on its way, or was a moment ago. */
export type FactorVerdict = 'passed' | 'challenged' | 'failed'

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
export interface SecondFactorUser {
  id: number
  /** `isMailAddress` takes it. */
  email: string
}

export interface SecondFactorParts {
  book: Book
  keeper: Keeper
  clock: Clock
  secrets: Secrets
  postman: Postman
  settings(): PeopleSettings
  limits: SecondFactorLimits
}

export interface SecondFactorLimits {
  /** While a code is accepted, another is mailed only after so long. */
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
  /** Of the code that an account has now. In memory: a restart forgives misses, and nobody outside can make one. */
  const missesOf = new Map<number, { code: string; count: number }>()
  const undeliveredTo = new Set<number>()

  async function clear(id: number): Promise<void> {
    missesOf.delete(id)
    await keeper.change('auth_user', id, { two_factor_token: null, two_factor_issued_at: null })
  }

  async function issue(user: SecondFactorUser, undelivered: (error: unknown) => void): Promise<void> {
    const code = randomText(CODE_LETTERS, CODE_LENGTH, secrets.randomBytes)
    missesOf.delete(user.id)
    undeliveredTo.delete(user.id)
    await keeper.change('auth_user', user.id, { two_factor_token: code, two_factor_issued_at: clock.epochMs() })
    const failed = (error: unknown) => {
      if (book.row('auth_user', user.id)?.two_factor_token === code) undeliveredTo.add(user.id)
      undelivered(error)
    }
    postman.send(codeLetter(user.email, code, parts.settings().api_2fa_ttl_seconds)).catch(failed)
  }

  /** Only while its code stands: nobody else's mail is kept back or hurried by it. */
  function isMailedJustNow(row: Row): boolean {
    const ageMs = clock.epochMs() - Number(row.two_factor_issued_at)
    return ageMs < limits.mailAgainMs && !undeliveredTo.has(row.id)
  }

  function eventOf(row: Row, submitted: string): CodeEvent {
    const code = String(row.two_factor_token)
    if (CODE_FORM.test(submitted) && isSameText(submitted.toUpperCase(), code.toUpperCase())) return 'matched'
    const known = missesOf.get(row.id)
    const count = (known?.code === code ? known.count : 0) + 1
    missesOf.set(row.id, { code, count })
    return count >= limits.misses ? 'voided' : 'missed'
  }

  async function judgeCode(row: Row, state: CodeState, submitted: string): Promise<FactorVerdict> {
    if (state === 'none') return 'failed'
    const event = eventOf(row, submitted)
    if (nextCodeState(state, event) === 'none') await clear(row.id)
    return state === 'issued' && event === 'matched' ? 'passed' : 'failed'
  }

  return {
    judge: (user, submitted, undelivered) =>
      turns.run(user.id, async () => {
        const row = book.row('auth_user', user.id)
        if (row === undefined) return 'failed'
        const state = codeStateOf(row, clock.epochMs(), parts.settings().api_2fa_ttl_seconds * 1000)
        if (submitted !== undefined) return await judgeCode(row, state, submitted)
        if (state !== 'issued' || !isMailedJustNow(row)) await issue(user, undelivered)
        return 'challenged'
      }),
  }
}

/**
 * In which state the code on an account is. A wall clock that was set back makes an issue time of the future: when the
 * code was mailed is then unknown.
 */
export function codeStateOf(user: Row, nowMs: number, ttlMs: number): CodeState {
  const { two_factor_token: code, two_factor_issued_at: issuedAt } = user
  if (typeof code !== 'string' || code === '') return 'none'
  const ageMs = typeof issuedAt === 'number' ? nowMs - issuedAt : Number.NaN
  return ageMs >= 0 && ageMs < ttlMs ? 'issued' : 'lapsed'
}
