/** What the two surfaces, REST and the pages, need of the rest of the controller. */
import type { Origin, Session } from './access/accounts.ts'
import type { AuditReason, AuditRecord, Outcome } from './audit.ts'
import type { Json } from './json.ts'
import type { NotDriven } from './site/not-driven.ts'

// The REST surface: the rules it asks for each call, in its own order.

/** Headers as Node gives them: names in lower case, repeated ones joined or listed. */
export type CallHeaders = Readonly<Record<string, string | string[] | undefined>>

/** All rules of one controller. What one of them throws is answered as an error of the program. @source document 1 */
export interface Rules {
  /**
   * Where a call comes from.
   * @param peerAddress of the connection itself
   * @source document 1, Audit record; Authentication 5
   */
  origin(peerAddress: string, headers: CallHeaders): Origin
  /** @param form the body as it was read: any JSON value. @source document 1, POST /api/token */
  signIn(form: unknown, origin: Origin, signal?: AbortSignal): Promise<Outcome>
  /** Who calls, asked anew for each call; undefined for `invalid_session`. @source document 1, Session token */
  resolve(token: string | undefined, origin: Origin): Session | undefined
  /** Whether or not the token is one. @source document 1, Session token */
  logout(token: string | undefined): void
  /** @returns the identity as JSON. @source document 1, Identity */
  me(session: Session): unknown
  /** @source document 1, POST /api/session_handoff */
  handoff(session: Session): Outcome
  /** @param body any JSON value. @source document 1, POST /api/control/:action */
  command(session: Session, body: unknown): Promise<Outcome>
  /** @param body any JSON value. @source document 1, Macro payload */
  runMacro(session: Session, body: unknown): Promise<Outcome>
  /**
   * @param entity the name in the path, percent-decoded
   * @param rawQuery what stands behind the question mark, as sent, ASCII
   * @source document 1, GET /api/data/:entity
   */
  answerData(session: Session, entity: string, rawQuery: string): Outcome | Promise<Outcome>
}

// The pages: routes under /ui know these interfaces and nothing behind them.

/** Signing in and out, and who a session belongs to. */
export interface UiPeople {
  /**
   * The rules of POST /api/token. Where it is granted (`reason` null) the body holds `token` and `expires` in ms.
   * @param credentials the body as it was sent, of any shape
   * @source document 1, POST /api/token
   */
  signIn(credentials: unknown, from: Origin, signal?: AbortSignal): Promise<Outcome>
  /**
   * Redeems a handoff nonce, which is used up whatever comes of it; granted as `signIn`.
   * @source document 1, Handoff nonce
   */
  redeem(nonce: string, from: Origin): Promise<Outcome>
  signOut(token: string): void
  /**
   * Whose session this is, resolved anew; undefined where it is unknown, over, or its account may sign in no longer.
   * Asked for each request, and for each message to an open socket: it must be quick.
   * @param isUse false for what asks by itself, such as an open socket: nobody is there, and the session goes on ageing
   */
  sessionOf(token: string, from: Origin, isUse?: boolean): Session | undefined
}

/** The first account. */
export interface UiSetUp {
  /** True while there is no account at all. */
  isNeeded(): boolean
  /** Whether there were accounts and there are none: whoever comes first must not become administrator by that. */
  isLost(): boolean
  /**
   * Makes it, an administrator; durable when the promise resolves.
   * @throws Fault `already_set_up` where somebody else was first
   */
  begin(form: { username: string; password: string; siteName: string; timeZone: string | null }): Promise<void>
}

/** Commands and macros, by the gates of document 1. */
export interface UiControl {
  /** @param body as sent to /api/control/command, of any shape */
  command(session: Session, body: unknown): Promise<Outcome>
  /** @param body as sent to /api/control/macro, of any shape */
  macro(session: Session, body: unknown): Promise<Outcome>
  /** Zones that this person may see and command, by UI scope; `all` for elevated sessions and those without a scope. */
  scope(session: Session): ReadonlySet<number> | 'all'
}

/** Which calls are asked for; what is absent does not matter. Times in epoch ms. */
export interface AuditFilter {
  /** Part of the user's name, without case. */
  user?: string
  reason?: AuditReason
  /** Part of the path, without case. */
  path?: string
  granted?: boolean
  /** From this moment on, and before that one. */
  from?: number
  to?: number
  /** Older than the row with this id. */
  before?: number
  limit: number
}

/** A record as it was kept; ids grow with time. */
export interface AuditRow extends AuditRecord {
  id: number
}

/** What was recorded. */
export interface UiAudit {
  /**
   * The newest that fit the filter, newest first, at most `limit`.
   * @returns `before` where older ones have not been looked at, even if nothing was found; null where all have
   */
  auditList(filter: AuditFilter): Promise<{ rows: readonly AuditRow[]; before: number | null }>
}

/** The switch of the REST surface, and what of the site has no effect. */
export interface UiRest {
  /** Rows that are kept and not driven yet. */
  notDriven(): readonly NotDriven[]
  /** `isSet` is what stands in the settings, `isRunning` what was read at the start. */
  state(): { isSet: boolean; isRunning: boolean }
  /** Durable when the promise resolves. */
  set(isOn: boolean, by: Session): Promise<void>
}

/** One row that will be added, changed or removed by Apply All. */
export interface PendingChange {
  id: number
  /** Epoch ms. */
  at: number
  /** Who asked for it: a user's name, or `import`. */
  by: string
  kind: 'add' | 'change' | 'remove'
  table: string
  rowId: number | null
  /** The row's name as people know it; null where its table has none. */
  name: string | null
  columns: readonly PendingColumn[]
}

/** What happens to one column. Of secrets, `before` and `after` are null. */
export interface PendingColumn {
  column: string
  isSecret: boolean
  before: Json
  after: Json
  /** An instant in epoch ms, or the id of another row. */
  kind?: 'time' | 'row'
  /** Names of the rows that it points to, where it does and they have names. */
  names?: { readonly before: string | null; readonly after: string | null }
}

/** Changes that wait for Apply All. */
export interface UiPending {
  /** In the order in which they came. */
  changes(): readonly PendingChange[]
  /** How many there are: asked at each beat of a page, so it must be quick. */
  count(): number
  /** Grows with each change that is added, applied or discarded. */
  revision(): number
  /**
   * Applies all of them or none.
   * @returns how many were applied
   * @throws Fault `pending_refused` with `details.fields`: `{ field, message }` of those that do not fit, `field` being
   * the id of the change
   */
  apply(by: Session): Promise<number>
  /** @returns how many are forgotten */
  discard(by: Session): Promise<number>
}
