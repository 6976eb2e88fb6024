/** Randomness, digests and passwords of this machine. */
import { hash as digestOf, randomBytes } from 'node:crypto'
import { hashPassword as phcOf, verifyPassword } from '#kit/auth/password.ts'
import { counted } from '#kit/bytes/words.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { createTurn } from '#kit/turn.ts'
import type { PasswordCheck, Secrets } from '../core/people-ports.ts'
import { LONGEST_PASSWORD } from '../core/sign-in-form.ts'

/** A quick digest does: nobody guesses 190 random bits, as they would a password. */
export const machineSecrets: Secrets = {
  randomBytes: (count) => randomBytes(count),
  digest: (secret) => digestOf('sha256', secret, 'base64url'),
}

/** What the columns `hash` and `salt` of an account hold. */
export interface KeptPassword {
  /** argon2id as a PHC string, salt included: all that is needed to compare. */
  hash: string
  /** The salt of that string once more, since the table has a column for it. */
  salt: string
}

/** One at a time, so that an import of a thousand accounts leaves room for those who sign in. */
const inTurn = createTurn()

/**
 * What is kept of a password, for imports and administrators.
 * @param known hashes of the same account: one that is of this password is kept as it is
 * @throws Fault `bad_password` for one that nobody could sign in with
 */
export function hashPassword(text: string, known: readonly string[] = []): Promise<KeptPassword> {
  if (text === '' || text.length > LONGEST_PASSWORD)
    return Promise.reject(
      new Fault(
        'bad_password',
        `the password has ${counted(text.length, 'character')}, expected 1 to ${LONGEST_PASSWORD}`,
      ),
    )
  return inTurn(async () => {
    const hash = (await firstOf(text, known)) ?? (await phcOf(text))
    return { hash, salt: hash.split('$').at(-2) ?? '' }
  })
}

async function firstOf(text: string, known: readonly string[]): Promise<string | undefined> {
  // A damaged one is replaced.
  for (const hash of known) if (await verifyPassword(text, hash).catch(() => false)) return hash
  return undefined
}

/** Compares passwords. How many at once is the rate limiter's to say. */
export function createPasswordCheck(log: Log): PasswordCheck {
  return {
    async verify(password, stored) {
      try {
        return await verifyPassword(password, stored)
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== 'bad_password_hash') throw error
        log.error('bad_password_hash', { fault: error })
        // An account that is damaged refuses like any other, and as late.
        return await verifyPassword(password, undefined)
      }
    },
  }
}
