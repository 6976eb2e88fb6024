/** The second factor: a code that is mailed, kept on the account, and used once. */
import type { Clock } from '#kit/clock.ts'
import { codeLetter } from './code-letter.ts'
import { type CodeEvent, type CodeState, nextCodeState } from './code-state-table.ts'
import { createMailedCodes } from './mailed-codes.ts'
import type { PeopleSettings, Postman, Secrets } from './people-ports.ts'
import { CODE_LETTERS, isSameText, randomText } from './random-text.ts'
import type { Book, Keeper, Row } from './row.ts'
import { createTurns } from './turns.ts'

/**
 * `challenged`: a code is on its way, or was a moment ago. `withheld`: the last one is void by misses, and it is too early
 * for another.
 */
export type FactorVerdict = 'passed' | 'challenged' | 'withheld' | 'failed'

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
