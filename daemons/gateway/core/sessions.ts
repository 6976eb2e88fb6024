/** What a sign-in gives: a token that lives while it is used. */
import type { Role, UserRecord, Users } from './users.ts'

/** Who a token belongs to. */
export interface Signed {
  name: string
  role: Role
}

/** Tokens in memory only, gone at restart (interface document 2, part A, Authentication 2). */
export interface Tokens {
  issue(signed: Signed): string
  use(token: string): Signed | undefined
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
  /** Who calls with this token; undefined where it is unknown, too old, or its user is gone. */
  callerOf(token: string): Signed | undefined
  /** Whether the token stands by which `callerOf` found this caller: for sockets, which outlive their request. */
  isStillSignedIn(caller: Signed): boolean
  end(token: string): void
}

/** Interface document 2, part A, Authentication 2. */
export const TOKEN_LIFE_MS = 12 * 60 * 60 * 1000

export function createSessions(users: Users, tokens: Tokens): Sessions {
  const tokenOf = new WeakMap<Signed, string>()
  return {
    begin(user) {
      const token = tokens.issue({ name: user.username, role: user.role })
      return { token, username: user.username, role: user.role, expiresInMs: TOKEN_LIFE_MS }
    },
    callerOf(token) {
      const signed = tokens.use(token)
      const user = signed && users.find(signed.name)
      if (!user) return undefined
      const caller = { name: user.username, role: user.role }
      tokenOf.set(caller, token)
      return caller
    },
    isStillSignedIn(caller) {
      const token = tokenOf.get(caller)
      return token !== undefined && tokens.isAlive(token) && users.find(caller.name)?.role === caller.role
    },
    end: (token) => tokens.revoke(token),
  }
}
