/** Who calls, as every gate of the controller sees them: resolved anew for each request, never kept. */
import type { Row } from './row.ts'

/** Functions that role rules of the list `api` allow and deny. */
export type ApiFunction = 'command' | 'macro' | 'query'

/** A caller who is signed in. Elevated sessions are held by no gate beyond `may`. */
export interface Session {
  userId: number
  username: string
  /** The rows of auth_role, as applied at this moment. */
  roles: readonly Row[]
  isElevated: boolean
  /** By the rules of all roles: `deny` in one wins over `allow` in another. */
  may(what: ApiFunction): boolean
  /** The UIs that the rules of the list `ui` allow, rows of `ui`; `allow ui *` is every one. */
  uis: readonly Row[]
}

/** Where a request comes from, as the server judges it. */
export interface Origin {
  /** Of the client: the peer's own address, or the originating one of the chain behind a trusted proxy. */
  clientIp: string
  /** Provably from outside: a public address outside local_networks, or the tunnel's marker. Unknown is not remote. */
  isRemote: boolean
  /**
   * Provably from inside: what may be left out for calls of the building is left out for these alone. Between both lies
   * what cannot be told, such as a carrier's NAT, or a proxy that does not say whom it speaks for.
   */
  isLocal: boolean
}
