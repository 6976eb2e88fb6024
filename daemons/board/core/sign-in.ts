/** Authenticates callers of a board by its one password. Without a password every caller is the administrator. */
import { type Static, type TObject, Type } from 'typebox'
import type { SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'

// Keys of the table `http` that only a board has.

export const httpKeys = {
  hosts: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
    default: [],
    maxItems: 64,
    description: "names that a request may carry in Host, besides addresses, localhost and the board's own name",
  }),
  form_fields: Type.Integer({
    default: 128,
    minimum: 32,
    maximum: 4096,
    description: 'fields of one form; one with more is refused',
  }),
}

/** The checked keys. */
export type HttpKeys = Static<TObject<typeof httpKeys>>

// The password: set, changed, removed.

/** The stored password. */
export interface PasswordRecord {
  /** argon2id as a PHC string. */
  hash: string
  /** Epoch ms. */
  setAt: number
}

/** Storage of the password. */
export interface PasswordKeeper {
  load(): Promise<PasswordRecord | undefined>
  /** @throws Fault `store_write_failed`; the previous record is then still there */
  save(record: PasswordRecord | undefined): Promise<void>
}

/** The current password. */
export interface AdminPassword {
  isSet(): boolean
  /** The very record: replaced by another one, or none, at each change. */
  record(): PasswordRecord | undefined
  /**
   * Sets the password; empty text removes it. It counts once it is on the disk. One change runs at a time.
   * @throws Fault `store_write_failed`, `busy`
   */
  change(text: string): Promise<void>
  /** Runs after each change, even to the same text: everybody has to sign in again. */
  onChange(hear: () => void): void
}

interface AdminPasswordParts {
  keeper: PasswordKeeper
  /** @throws Fault `busy` */
  hash(text: string): Promise<string>
  epochMs(): number
}

/** @param kept the loaded record */
export function createAdminPassword(kept: PasswordRecord | undefined, parts: AdminPasswordParts): AdminPassword {
  let record = kept
  const inTurn = createSerialTurn()
  const hearers: (() => void)[] = []

  async function changeNow(text: string): Promise<void> {
    const next = text === '' ? undefined : { hash: await parts.hash(text), setAt: parts.epochMs() }
    await parts.keeper.save(next)
    record = next
    for (const hear of hearers) hear()
  }

  return {
    isSet: () => record !== undefined,
    record: () => record,
    change: (text) => inTurn(() => changeNow(text)),
    onChange: (hear) => void hearers.push(hear),
  }
}

// Signing in with it.

/** The only user. @source Interface 2, B, Authentication 1 */
export const ADMIN = 'admin'

/** Name of callers while there is no password: it could be anyone. */
const ANYONE = 'anyone'

/** A caller that was let in. */
export interface Signed {
  name: typeof ADMIN | typeof ANYONE
  role: 'admin'
}

/** Credentials as sent. */
export interface Shown {
  username: string
  password: string
}

/** Where a call comes from. */
export interface From {
  address: string
  /** The key it is counted by: the address itself or its IPv6 network. */
  network: string
  /** Aborted when the client hangs up. */
  signal?: AbortSignal | undefined
}

interface SignIn {
  /**
   * @param shown undefined for missing or unreadable credentials
   * @returns undefined if refused. From the tenth wrong password on, its answer is delayed; the right one never is.
   * @throws as the rate limiter
   */
  callerOf(shown: Shown | undefined, from: From): Promise<Signed | undefined>
  /** Whether a result of `callerOf` is still valid: for sockets and tickets, which outlive their request. */
  isStillSignedIn(caller: Signed): boolean
}

interface SignInParts {
  password: AdminPassword
  verify(text: string, hash: string): Promise<boolean>
  /**
   * A keyed digest, with a key that only this process has, equal for all encodings of the same letters. Without the
   * key, the timing of a comparison reveals nothing.
   */
  digest(text: string): string
  limiter: SignInLimiter
  /** Number of networks remembered as having signed in; key `http.login_table`. */
  table: number
  onSignedIn(from: From): void
  onRefused(from: From): void
}

export function createBoardSignIn(parts: SignInParts): SignIn {
  const { limiter, password } = parts
  const passOf = new WeakMap<Signed, PasswordRecord | undefined>()
  /**
   * Digest of the last right credentials, so that the next request need not spend a tenth of a second of a whole
   * processor.
   */
  let right: string | undefined
  const homes = new Set<string>()
  const together = createTogether()
  password.onChange(() => {
    right = undefined
    homes.clear()
  })

  function signed(name: Signed['name']): Signed {
    const caller: Signed = { name, role: 'admin' }
    passOf.set(caller, password.record())
    return caller
  }

  function welcome(digest: string, from: From): Signed {
    right = digest
    if (!homes.has(from.network)) {
      if (homes.size >= parts.table) homes.clear()
      homes.add(from.network)
      limiter.succeeded({ address: from.address, account: ADMIN })
      parts.onSignedIn(from)
    }
    return signed(ADMIN)
  }

  async function isRight(shown: Shown, digest: string, from: From): Promise<boolean> {
    const record = password.record()
    const who = { address: from.address, account: shown.username }
    const isKnown = () => digest === right
    let isLookedAt = false
    // The user name admin is no secret; a wrong name costs the caller's time but no hashing.
    const verify = async () => {
      isLookedAt = true
      const isIts =
        shown.username === ADMIN && record !== undefined && (await parts.verify(shown.password, record.hash))
      if (!isIts) parts.onRefused(from)
      return isIts
    }
    const isMatch = await limiter.judge({ ...who, signal: from.signal, isKnown, verify })
    if (isMatch && isLookedAt) limiter.succeeded(who)
    return isMatch
  }

  return {
    async callerOf(shown, from) {
      if (!password.isSet()) return signed(ANYONE)
      if (!shown) return undefined
      const record = password.record()
      const digest = parts.digest(`${shown.username}:${shown.password}`)
      const attempt = `${digest} ${from.network} ${record?.hash}`
      const isIn = await together(attempt, from.signal, (signal) => isRight(shown, digest, { ...from, signal }))
      // The password may have changed during the check: what was right is then no longer so.
      return isIn && record === password.record() ? welcome(digest, from) : undefined
    },
    isStillSignedIn: (caller) => passOf.has(caller) && passOf.get(caller) === password.record(),
  }
}

interface SharedVerdict {
  verdict: Promise<boolean>
  /** Number of waiting requests that have not hung up. */
  waiting: number
  gone: AbortController
}

/**
 * A loading page sends ten requests at once with the same credentials: they are checked once, and count once. The check
 * is abandoned once all of them have hung up.
 */
function createTogether() {
  const underWay = new Map<string, SharedVerdict>()

  function begin(key: string, run: (signal: AbortSignal) => Promise<boolean>): SharedVerdict {
    const gone = new AbortController()
    const shared: SharedVerdict = { verdict: run(gone.signal).finally(() => end(key, shared)), waiting: 0, gone }
    underWay.set(key, shared)
    return shared
  }

  function end(key: string, shared: SharedVerdict): void {
    if (underWay.get(key) === shared) underWay.delete(key)
  }

  return async (key: string, signal: AbortSignal | undefined, run: (signal: AbortSignal) => Promise<boolean>) => {
    const shared = underWay.get(key) ?? begin(key, run)
    const leave = () => {
      shared.waiting--
      if (shared.waiting > 0) return
      end(key, shared)
      shared.gone.abort()
    }
    shared.waiting++
    if (signal?.aborted) leave()
    else signal?.addEventListener('abort', leave, { once: true })
    try {
      return await shared.verdict
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }
}
