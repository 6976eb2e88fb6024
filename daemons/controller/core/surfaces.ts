/** The interfaces that the two surfaces, REST and the pages, need from the rest of the controller. */
import type { PictureFolder } from '#kit/store/picture-folder.ts'
import type { Origin, Session } from './access/accounts.ts'
import type { PasswordForm } from './access/password-change.ts'
import type { AuditReason, AuditRecord, Outcome } from './audit.ts'
import type { Backups } from './backups.ts'
import type { KnownVerb } from './control/gates.ts'
import type { AdoptWish, FoundDaemon } from './drivers/found.ts'
import type { LaneView } from './drivers/lane.ts'
import type { TrafficPage } from './drivers/traffic.ts'
import type { Json } from './json.ts'
import type { Favourites, FavouriteWish } from './live/favourites.ts'
import type { ListedMacro, MacroDraft, MacroWish, OpenMacro, TrialWish } from './macros/editing.ts'
import type { Replay, RunLine, Trial, WholeRun } from './macros/past-runs.ts'
import type { Row } from './site/book.ts'
import type { RowsAsk, RowsPage, TableView } from './site/browse.ts'
import type { NotDriven } from './site/not-driven.ts'
import type { PlanDraft, Plans } from './site/plans.ts'
import type { Updates } from './updates.ts'

// The REST surface: the rules it applies to each call, in its own order.

/** Headers as Node gives them: lower-case names, repeated headers joined or listed. */
export type CallHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The rules of one controller. An exception from any of them is answered as an internal error. @source document 1 */
export interface Rules {
  /**
   * Where a call comes from.
   * @param peerAddress the peer of the connection itself
   * @source document 1, Audit record; Authentication 5
   */
  origin(peerAddress: string, headers: CallHeaders): Origin
  /** @param form the parsed body: any JSON value. @source document 1, POST /api/token */
  signIn(form: unknown, origin: Origin, signal?: AbortSignal): Promise<Outcome>
  /**
   * The caller's session, resolved for each call; undefined for `invalid_session`. @source document 1, Session token
   */
  resolve(token: string | undefined, origin: Origin): Session | undefined
  /** Works whether or not the token is valid. @source document 1, Session token */
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
   * @param rawQuery what follows the question mark, as sent, ASCII
   * @source document 1, GET /api/data/:entity
   */
  answerData(session: Session, entity: string, rawQuery: string): Outcome | Promise<Outcome>
}

// The pages: routes under /ui depend only on these interfaces.

/** Signing in and out, and the owner of a session. */
export interface UiPeople {
  /**
   * The rules of POST /api/token. If it is granted (`reason` null), the body contains `token` and `expires` in ms.
   * @param credentials the body as sent, of any shape
   * @source document 1, POST /api/token
   */
  signIn(credentials: unknown, from: Origin, signal?: AbortSignal): Promise<Outcome>
  /**
   * Redeems a handoff nonce, which is used up whatever the result; granted like `signIn`.
   * @source document 1, Handoff nonce
   */
  redeem(nonce: string, from: Origin): Promise<Outcome>
  signOut(token: string): void
  /**
   * Changes the own password. If it is granted, the body contains `token` and `expires` of the session that takes the
   * place of the present one.
   */
  changePassword(session: Session, form: PasswordForm, from: Origin, signal?: AbortSignal): Promise<Outcome>
  /**
   * The session of a token, resolved again each time; undefined if it is unknown, over, or its account may no longer
   * sign in. Called for each request and for each message to an open socket: it must be quick.
   * @param isUse false for automatic requests, such as those of an open socket: they do not keep the session alive
   */
  sessionOf(token: string, from: Origin, isUse?: boolean): Session | undefined
}

/** Sessions of the socket: those of the page, and those of REST tokens. */
export interface SocketPeople extends Pick<UiPeople, 'signIn' | 'changePassword'> {
  /** Like `sessionOf` of the page, for a token of either kind. */
  sessionOf(token: string, from: Origin, isUse: boolean): Session | undefined
  /** Ends the session of a token of either kind. */
  signOut(token: string): void
}

/** What a session may change over the socket; each answers with its outcome, refusals included. */
export interface SocketWrites {
  /** @param wish as sent, in the form of `set_attribute` */
  setAttribute(session: Session, wish: AttributeWish): Promise<Outcome>
  /** Stages rows for Apply All. */
  write(session: Session, wish: RowsWish): Promise<Outcome>
}

/** An attribute by id, or by its name and a target. */
export interface AttributeWish {
  attribute_id?: number
  name?: string
  zone_id?: number
  device_id?: number
  value: Json
}

/** Rows to add or change, by table, as in a site file; and ids of rows to remove. */
export interface RowsWish {
  rows: Readonly<Record<string, readonly Json[]>>
  remove: Readonly<Record<string, readonly number[]>>
  /** Rows as their writer had seen them, each with its id: what is another by now is refused. */
  seen?: Readonly<Record<string, readonly Json[]>>
}

/** The first account. */
export interface UiSetUp {
  /** True while there is no account at all. */
  isNeeded(): boolean
  /**
   * Whether there were accounts and now there are none: the first visitor must not become administrator because of
   * that.
   */
  isLost(): boolean
  /**
   * Creates it as an administrator; durable when the promise resolves.
   * @throws Fault `already_set_up` if somebody else was first
   */
  begin(form: { username: string; password: string; siteName: string; timeZone: string | null }): Promise<void>
}

/** Commands and macros, through the gates of document 1. */
export interface UiControl {
  /** @param body as sent to /api/control/command, of any shape */
  command(session: Session, body: unknown): Promise<Outcome>
  /** @param body as sent to /api/control/macro, of any shape */
  macro(session: Session, body: unknown): Promise<Outcome>
  /**
   * Ends a run of a macro, with those that it called.
   * @param body as sent: `run_id`
   */
  cancel(session: Session, body: unknown): Outcome
  /** Zones that this person may see and command, by UI scope; `all` for elevated sessions and those without a scope. */
  scope(session: Session): ReadonlySet<number> | 'all'
}

/** Webhooks in, as triggers of the building. */
export interface Hooks {
  /** By its name or id; undefined if there is none that may be called. */
  hook(named: string): { readonly id: number; readonly secret: string } | undefined
  /** Starts its macro for a caller who knows the secret. @returns why not, if it is not started */
  called(id: number, fields: Readonly<Record<string, Json>>): string | undefined
}

/** A schedule or a trigger of the building. */
export interface AutomationRow {
  readonly row: Row
  /** Epoch ms; null if it did not since the start, or never did. */
  readonly lastAt: number | null
  /** Epoch ms of the next time of a schedule; null if there is none. */
  readonly nextAt?: number | null
  /** Why it does nothing; null if it does. */
  readonly flaw: string | null
}

/** What the building does by itself. */
export interface UiAutomation {
  schedules(): readonly AutomationRow[]
  triggers(): readonly AutomationRow[]
}

/** Filters for calls; an absent field does not restrict. Times in epoch ms. */
export interface AuditFilter {
  /** Part of the user's name, without case. */
  user?: string
  reason?: AuditReason
  /** Part of the path, without case. */
  path?: string
  granted?: boolean
  /** Refused, failed, or done in part; or none of these. */
  trouble?: boolean
  /** Part of the name of the zone or device that was asked, without case, or its id. */
  zone?: string
  device?: string
  /** From this instant on, and before that one. */
  from?: number
  to?: number
  /** Only rows with a smaller id. */
  before?: number
  limit: number
}

/** A stored record; ids grow with time. */
export interface AuditRow extends AuditRecord {
  id: number
}

/** Access to the records. */
export interface UiAudit {
  /**
   * The newest records that match the filter, newest first, at most `limit`.
   * @returns `before` if older rows have not been looked at, even if nothing was found; null if all have
   */
  auditList(filter: AuditFilter): Promise<{ rows: readonly AuditRow[]; before: number | null }>
}

/** The switch of the REST surface, and the parts of the site that have no effect. */
export interface UiRest {
  /** Rows that are stored but not driven yet. */
  notDriven(): readonly NotDriven[]
  /** `isSet` is the setting, `isRunning` is what was read at the start. */
  state(): { isSet: boolean; isRunning: boolean }
  /** Durable when the promise resolves. */
  set(isOn: boolean, by: Session): Promise<void>
}

/** Backups of all that the controller knows. */
export type UiBackups = Pick<Backups, 'view' | 'make' | 'read' | 'take' | 'restore' | 'undo' | 'discard'>

/** Updates of Plantroom, and the restart that somebody asks for. */
export interface UiUpdates extends Pick<Updates, 'view' | 'look' | 'apply' | 'onChange'> {
  /** Restarts the controller, once the answer is out. */
  restart(by: string): void
}

/** The tables of the site, for an administrator's forms. */
export interface UiTables {
  tables(): readonly TableView[]
  /** @returns undefined if no form changes such a table */
  rows(ask: RowsAsk): RowsPage | undefined
  /** An id for a new row. */
  freeId(table: string): number
  /** As `write` of the socket: stages rows for Apply All. */
  write: SocketWrites['write']
}

/** What goes to and comes from one device. */
export interface UiTraffic {
  /** Watches the device from now on. @throws Fault `traffic_busy` */
  look(device: Row, after: number): TrafficPage
  /** How its commands went; undefined if it is not driven. */
  lane(deviceId: number): Pick<LaneView, 'queued' | 'done' | 'failed' | 'timedOut'> | undefined
}

/** Macros of an administrator: edited, tried out, and what became of their runs. */
export interface UiMacros {
  list(): readonly MacroLine[]
  /** @returns undefined if there is none that can be edited */
  open(id: number): OpenMacro | undefined
  /** The rows that a wish comes to, and what is wrong with it; nothing is written. */
  draft(wish: MacroWish): MacroDraft
  /**
   * What the macro would do in the building as it is now; nothing is sent.
   * @throws Fault `macro_args`, `macro_value_size`, `macro_value`, and those of reading a macro
   */
  tryOut(draft: MacroDraft, wish: Pick<TrialWish, 'args' | 'waits'>): Trial
  runs(ask: { macro: number | undefined; before: number; limit: number }): readonly RunLine[]
  run(id: number): WholeRun | undefined
  /** @throws Fault `macro_trace` */
  replay(id: number): Replay
  /** The verbs that are known for a zone or a device; undefined if there is none of this id. */
  verbs(target: { zone_id?: number; device_id?: number }): readonly KnownVerb[] | undefined
}

/** A macro in the list, with its last run that is kept. */
export interface MacroLine extends ListedMacro {
  readonly last: RunLine | null
}

/** Boards, gateways and recorders of the network. */
export interface UiFound {
  /** Whether they are looked for: a setting. */
  isLooking(): boolean
  list(): readonly FoundDaemon[]
  /**
   * Fetches the root CA of a gateway that speaks HTTPS, for somebody to compare. No credentials are sent.
   * @throws Fault `found_gone`, `found_root_unread`
   */
  root(id: string): Promise<FoundRoot>
  /**
   * Makes a device of one, which waits for Apply All; or gives its device the address where it is now, or another root.
   * @param wish.fingerprint of the root CA that somebody compared
   * @throws Fault `found_gone`, `found_known`, `found_root`, `found_root_unread`
   */
  adopt(wish: AdoptWish & { fingerprint?: string }, by: Session): Promise<void>
}

/** The root CA that a gateway hands out. */
export interface FoundRoot {
  /** SHA-256, pairs of hex digits with colons, as the page of the gateway shows it. */
  fingerprint: string
  /** Epoch ms. */
  endsAt: number
  /** Fingerprint of the root CA that its device trusts now; null without one. */
  adopted: string | null
}

/** Favourites of people, and floor plans. */
export interface UiRooms {
  favourites(session: Session): Favourites
  /** @throws Fault as `chooseFavourite` */
  choose(session: Session, wish: FavouriteWish, isSeen: () => boolean): Promise<void>
  plans: Plans
  /** @throws Fault as `keepPicture` */
  keepPicture(bytes: Uint8Array): Promise<PlanDraft['picture']>
  openPicture: PictureFolder['open']
  hasPicture: PictureFolder['has']
}

/** One row that will be added, changed or removed by Apply All. */
export interface PendingChange {
  id: number
  /** Epoch ms. */
  at: number
  /** The user who asked for it, or `import`. */
  by: string
  kind: 'add' | 'change' | 'remove'
  table: string
  rowId: number | null
  /** The row's name as people know it; null if its table has none. */
  name: string | null
  columns: readonly PendingColumn[]
}

/** The change of one column. For secrets, `before` and `after` are null. */
export interface PendingColumn {
  column: string
  isSecret: boolean
  before: Json
  after: Json
  /** An instant in epoch ms, or the id of another row. */
  kind?: 'time' | 'row'
  /** Names of the rows it points to, if it does and they have names. */
  names?: { readonly before: string | null; readonly after: string | null }
}

/** Changes that wait for Apply All. */
export interface UiPending {
  /** In the order of arrival. */
  changes(): readonly PendingChange[]
  /** How many there are: called at each beat of a page, so it must be quick. */
  count(): number
  /** Grows with each change that is added, applied or discarded. */
  revision(): number
  /**
   * Applies all of them or none.
   * @returns how many were applied
   * @throws Fault `pending_refused` with `details.fields`: a `{ field, message }` for each one that does not fit, where
   * `field` is the id of the change
   */
  apply(by: Session): Promise<number>
  /** How many changes of the last Apply All can be taken back; 0 if none. */
  undoable(): number
  /**
   * Stages what takes the last Apply All back.
   * @returns how many changes wait then
   * @throws Fault `pending_waiting`, `nothing_to_undo`
   */
  undo(by: Session): Promise<number>
  /** @returns how many were discarded */
  discard(by: Session): Promise<number>
}
