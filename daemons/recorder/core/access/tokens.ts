/** API tokens: what other systems sign in with. Each is bound to an account, and sees and may do what that one does. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { AccountRecord } from './accounts.ts'

/** A token as it is saved: never the token itself. */
export interface TokenRecord {
  readonly id: string
  readonly name: string
  readonly accountId: string
  /** SHA-256 of the whole token. */
  readonly hash: string
  readonly createdAt: number
  /** Epoch milliseconds; null: it does not end. */
  readonly expiresAt: number | null
  readonly isReadOnly: boolean
}

/** A token to make. */
export interface TokenWish {
  name: string
  expiresAt?: number | null | undefined
  readOnly?: boolean | undefined
}

interface TokenBookParts {
  clock: Clock
  records: readonly TokenRecord[]
  /** Resolves once they are on disk. */
  save(records: TokenRecord[]): Promise<void>
  /** A new token: its id, which is no secret, the token, and its hash. */
  make(): { id: string; text: string; hash: string }
  /** The most tokens; key `users.api_tokens`. */
  most: number
}

export interface TokenBook {
  list(): readonly TokenRecord[]
  /** The token with this hash; undefined if it was revoked or has expired, which nobody can tell apart. */
  find(hash: string): TokenRecord | undefined
  /** Whether a token that was found stands still. */
  stands(token: TokenRecord): boolean
  /**
   * @returns its record, and the token, which is shown once
   * @throws Fault `installer_token`, `bad_expiry`, `too_many_tokens`, `store_write_failed`
   */
  mint(account: AccountRecord, wish: TokenWish): Promise<{ record: TokenRecord; text: string }>
  /** @throws Fault `unknown_token`, `store_write_failed` */
  revoke(id: string): Promise<TokenRecord>
  /** Revokes those of an account that is gone. */
  revokeOf(accountId: string): Promise<void>
}

/** Interface document 3, A, Limits: five years, with their leap days. */
const LONGEST_LIFE_MS = (5 * 365 + 2) * 86_400_000

export function createTokenBook({ clock, make, most, records, save }: TokenBookParts): TokenBook {
  let tokens = records
  const inTurn = createSerialTurn()

  /** Nothing takes effect before it is saved. */
  async function put(next: TokenRecord[]): Promise<void> {
    await save(next)
    tokens = next
  }

  const isAlive = ({ expiresAt }: TokenRecord) => expiresAt === null || clock.epochMs() < expiresAt

  return {
    list: () => tokens,
    find: (hash) => tokens.find((token) => token.hash === hash && isAlive(token)),
    stands: (token) => tokens.includes(token) && isAlive(token),
    mint: (account, { expiresAt = null, name, readOnly = false }) =>
      inTurn(async () => {
        if (account.isInstaller)
          throw new Fault('installer_token', `${account.username} is a temporary account, to which no token is bound.`)
        const lifeMs = (expiresAt ?? Number.POSITIVE_INFINITY) - clock.epochMs()
        if (expiresAt !== null && (lifeMs <= 0 || lifeMs > LONGEST_LIFE_MS))
          throw new Fault('bad_expiry', 'A token ends in the future, and within five years.')
        // Those that have expired make room.
        const rest = tokens.filter(isAlive)
        if (rest.length >= most)
          throw new Fault('too_many_tokens', `There are ${rest.length} tokens; users.api_tokens allows ${most}.`)
        const { hash, id, text } = make()
        const about = { id, name, hash, accountId: account.id }
        const record = { ...about, createdAt: clock.epochMs(), expiresAt, isReadOnly: readOnly }
        await put([...rest, record])
        return { record, text }
      }),
    revoke: (id) =>
      inTurn(async () => {
        const found = tokens.find((token) => token.id === id)
        if (!found) throw new Fault('unknown_token', 'There is no token with this id. GET /tokens lists them.')
        await put(tokens.filter((token) => token !== found))
        return found
      }),
    revokeOf: (accountId) =>
      inTurn(async () => {
        if (tokens.some((token) => token.accountId === accountId))
          await put(tokens.filter((token) => token.accountId !== accountId))
      }),
  }
}
