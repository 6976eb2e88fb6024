/** Handoff nonces: another system signs somebody in to the page, once, without a password. */
import type { Clock } from '#kit/clock.ts'
import { type Accounts, type SignedIn, signedIn } from './accounts.ts'
import type { IsClosing } from './closing.ts'
import type { Secrets } from './people-ports.ts'
import type { Row } from './row.ts'
import { createSecretShelf } from './secret-shelf.ts'

export interface Handoff {
  /**
   * @param user whose session asks
   * @param isRevoked whether that session was logged out since: its nonces go with it
   */
  issue(user: Row, isRevoked: () => boolean): string
  /**
   * Uses the nonce up, whatever comes of it.
   * @returns the row of who is signed in by it; undefined where it is refused
   * @source document 1, States, Handoff nonce
   */
  redeem(nonce: string): Row | undefined
}

/** @source document 1, Handoff nonce */
const NONCE_LETTERS = 48
export const NONCE_SECONDS = 60

interface HandoffParts {
  accounts: Accounts
  isClosing: IsClosing
  clock: Clock
  secrets: Secrets
  /** Nonces at once. */
  most: number
}

export function createHandoff(parts: HandoffParts): Handoff {
  const { accounts, clock, secrets, most } = parts
  const nonces = createSecretShelf<SignedIn & { isRevoked: () => boolean }>({
    clock,
    secrets,
    length: NONCE_LETTERS,
    most,
  })

  return {
    issue: (user, isRevoked) => nonces.issue({ ...signedIn(user), isRevoked }, NONCE_SECONDS * 1000),
    redeem(nonce) {
      const holder = nonces.take(nonce)
      if (holder === undefined || parts.isClosing(holder.userId) || holder.isRevoked()) return undefined
      const user = accounts.standing(holder, clock.epochMs())
      if (user === undefined) return undefined
      // From wherever it is redeemed: whoever holds a role that keeps to the building signs in with a password.
      const isKeptIn = accounts.rolesOf(user.id).some((role) => role.allow_remote !== true)
      return isKeptIn ? undefined : user
    },
  }
}
