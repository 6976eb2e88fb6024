/** What a sign-in gives: a token that lives while it is used, and as long as its user is the one who signed in. */
import type { Role } from '#kit/auth/roles.ts'
import type { UserList, UserRecord } from './user-list.ts'

/** Who calls with a token or a key. */
export interface Signed {
  name: string
  role: Role
}

/** Whom a token was issued to. */
export interface Holder {
  name: string
  /** The very record: after a new password, a new role or a removal there is another one, or none. */
  user: UserRecord
}

/** Tokens in memory only, gone at restart (interface document 2, part A, Authentication 2). */
export interface Tokens {
  issue(holder: Holder): string
  use(token: string): Holder | undefined
  /** The same without counting as a use. */
  isAlive(token: string): boolean
  revoke(token: string): void
}

/** Answer of setup and login. */
export interface SignInAnswer {
  token: string
  username: string
  role: Role
  /** The token's life without use; each use begins it anew. */
  expiresInMs: number
}

export interface Sessions {
  begin(user: UserRecord): SignInAnswer
  /** Who calls with this token; undefined where it is unknown, too old, or its user is another by now. */
  callerOf(token: string): Signed | undefined
  /** Whether the token stands by which `callerOf` found this caller: for sockets, which outlive their request. */
  isStillSignedIn(caller: Signed): boolean
  end(token: string): void
}

/** Interface document 2, part A, Authentication 2. */
export const TOKEN_LIFE_MS = 12 * 60 * 60 * 1000

export function createSessions(users: Pick<UserList, 'find'>, tokens: Tokens): Sessions {
  const signInOf = new WeakMap<Signed, { token: string; user: UserRecord }>()
  const stands = (user: UserRecord) => users.find(user.username) === user
  return {
    begin(user) {
      const token = tokens.issue({ name: user.username, user })
      return { token, username: user.username, role: user.role, expiresInMs: TOKEN_LIFE_MS }
    },
    callerOf(token) {
      const user = tokens.use(token)?.user
      if (!user) return undefined
      if (!stands(user)) {
        tokens.revoke(token)
        return undefined
      }
      const caller = { name: user.username, role: user.role }
      signInOf.set(caller, { token, user })
      return caller
    },
    isStillSignedIn(caller) {
      const signIn = signInOf.get(caller)
      return signIn !== undefined && tokens.isAlive(signIn.token) && stands(signIn.user)
    },
    end: (token) => tokens.revoke(token),
  }
}
