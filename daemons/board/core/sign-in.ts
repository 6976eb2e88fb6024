/** Who calls a board: the administrator, by the password; everybody, while there is none. */
import type { AdminPassword, PasswordRecord } from './admin-password.ts'
import type { HeldAnswers } from './held-answers.ts'

/** The only user there is. @source Interface 2, B, Authentication 1 */
export const ADMIN = 'admin'

/** Who calls while there is no password: it could be anyone. */
export const ANYONE = 'anyone'

/** One that was let in. */
export interface Signed {
  name: typeof ADMIN | typeof ANYONE
  role: 'admin'
}

/** What somebody shows. */
export interface Shown {
  username: string
  password: string
}

/** Where somebody calls from. */
export interface From {
  address: string
  /** What it is counted by, such as the address itself or its IPv6 network. */
  network: string
}

export interface SignIn {
  /**
   * @param shown undefined for no credentials, or none that can be read
   * @returns undefined for who may not in. A wrong password takes a while to be answered, from the tenth on; the right
   * one does not.
   * @throws Fault `busy`, `slow_down`
   */
  callerOf(shown: Shown | undefined, from: From): Promise<Signed | undefined>
  /** Whether what `callerOf` found stands: for sockets and tickets, which outlive their request. */
  isStillSignedIn(caller: Signed): boolean
}

export interface SignInParts {
  password: AdminPassword
  /** @throws Fault `busy` */
  verify(text: string, hash: string): Promise<boolean>
  /**
   * A digest under a key that only this process has, the same for every way to write the same letters. Whoever does not
   * know the key learns nothing from how long a comparison with it takes.
   */
  digest(text: string): string
  answers: HeldAnswers
  /** Networks of which is remembered that they have signed in; key `http.login_table`. */
  table: number
  onSignedIn(from: From): void
  onRefused(from: From): void
}

export function createSignIn(parts: SignInParts): SignIn {
  const { answers, password } = parts
  const passOf = new WeakMap<Signed, PasswordRecord | undefined>()
  /** The digest of what was right last, so that the next request costs no tenth of a second of the whole processor. */
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
      parts.onSignedIn(from)
    }
    return signed(ADMIN)
  }

  /** Verified before the wait and not after: whoever has the password is never kept waiting for those who have not. */
  async function isRight(shown: Shown, from: From): Promise<boolean> {
    const record = password.record()
    answers.check(from.network)
    // That the user is called admin is no secret; a wrong one costs the asker's time and not the processor's.
    const isMatch =
      shown.username === ADMIN && record !== undefined && (await parts.verify(shown.password, record.hash))
    if (isMatch) {
      answers.forget(from.network)
      return true
    }
    parts.onRefused(from)
    await answers.hold(from.network)
    return false
  }

  return {
    async callerOf(shown, from) {
      if (!password.isSet()) return signed(ANYONE)
      if (!shown) return undefined
      const record = password.record()
      const digest = parts.digest(`${shown.username}:${shown.password}`)
      if (digest === right) return welcome(digest, from)
      const attempt = `${digest} ${from.network} ${record?.hash}`
      const isIn = await together(attempt, () => isRight(shown, from))
      // It may have been changed while this one was looked at: what was right is so no longer.
      return isIn && record === password.record() ? welcome(digest, from) : undefined
    },
    isStillSignedIn: (caller) => passOf.has(caller) && passOf.get(caller) === password.record(),
  }
}

/** A page that loads asks for ten things at once with the same credentials: they are looked at once, and count once. */
function createTogether() {
  const underWay = new Map<string, Promise<boolean>>()
  return (key: string, run: () => Promise<boolean>): Promise<boolean> => {
    const running = underWay.get(key)
    if (running !== undefined) return running
    const started = run().finally(() => underWay.delete(key))
    underWay.set(key, started)
    return started
  }
}
