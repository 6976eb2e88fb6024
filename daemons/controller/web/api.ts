/** The calls of the pages to the controller. */
import { CallFault, call } from '#kit/web/call.ts'
import type { PersonView, SiteView } from '../core/access/accounts.ts'
import type { Json } from '../core/json.ts'
import type { Favourites } from '../core/live/favourites.ts'
import type { MacroView, ZoneGroup } from '../core/live/zones.ts'
import type { RowsPage, RowView, TableView } from '../core/site/browse.ts'
import type { NotDriven } from '../core/site/not-driven.ts'
import type { PlanDraft, PlanView, PlanWish } from '../core/site/plans.ts'

/** Answer of GET /ui/zones. */
export interface Zones {
  site: SiteView
  now: number
  /** How often to ask for the picture of a camera that is shown. */
  still_ms: number
  groups: ZoneGroup[]
  macros: MacroView[]
  favourites: Favourites
  plans: PlanView[]
}

/** Floor plans as they will be after Apply all, and what may be chosen for them. */
export interface PlanDrafts {
  plans: PlanDraft[]
  uis: { id: number; name: string }[]
  zones: { id: number; name: string; room: string | null }[]
}

/** The answer to a sign-in: a person, a challenge, or a refusal. */
type SignInAnswer =
  | ({ signed_in: true } & PersonView)
  | { signed_in: false }
  | { error: string; message: string; ttl_seconds?: number }

/** The sign-in form as typed. */
export interface SignInForm {
  username: string
  password?: string
  /** Of a wall panel, in place of the password. */
  pin?: string
  two_factor_token?: string
}

/** The first account; `site` only if the site has no name yet. */
interface SetUpForm {
  username: string
  password: string
  site?: string
  time_zone?: string
}

/** One recorded call. */
export interface AuditEntry {
  id: number
  at: number
  request_type: string
  method: string
  path: string
  status: number
  elapsed_ms: number
  client_ip: string
  username: string | null
  granted: boolean
  reason: string | null
  target: string | null
  run_id: number | null
  /** For commands and macros: `level 40 on "Hall"`, the result, and the reason. */
  action: string | null
  /** Of the zone that was asked, as it is now. */
  unit: string | null
  outcome: string | null
  detail: string | null
}

/**
 * Newest first; `before` continues with older rows, null if there are none: one search looks at a limited number of
 * rows.
 */
export interface AuditPage {
  rows: AuditEntry[]
  before: number | null
}

/** The REST switch. */
export interface Rest {
  enabled: boolean
  running: boolean
  waits_for_restart: boolean
}

/** Rows of the site without effect; `count` includes those that are not listed. */
export interface NotDrivenRows {
  rows: NotDriven[]
  count: number
}

/** A schedule or a trigger; only schedules have a next time. Times in epoch ms. */
export interface Automated {
  id: number
  name: string | null
  kind: string
  macro_id: number
  macro: string | null
  enabled: boolean
  last_at: number | null
  next_at?: number | null
  flaw: string | null
}

/** What the building does by itself. */
export interface Automation {
  schedules: Automated[]
  triggers: Automated[]
}

/** One device as it is now; times in epoch ms. */
export interface DeviceSeen {
  id: number
  name: string
  driver: string
  state: 'online' | 'offline' | 'unknown' | 'off'
  error: string | null
  last_seen: number | null
  ip_address: string | null
  zones: number
}

/** Devices, those that are away first; `matching` includes those that are not listed. */
export interface Devices {
  online: number
  offline: number
  unknown: number
  off: number
  matching: number
  devices: DeviceSeen[]
}

/** Updates of Plantroom. Times in epoch ms. */
export interface Update {
  state: 'unknown' | 'apt' | 'foreign' | 'absent' | 'idle' | 'looking' | 'applying'
  why: string | null
  version: string
  window: string | null
  looked: { at: number; newest: string | null; bad: string | null } | null
  run: {
    task: 'check' | 'apply' | 'handed' | 'settle'
    begun_at: number
    lines: { at: number; text: string }[]
    is_cut: boolean
    end: { at: number; outcome: string; text: string; code: string | null } | null
  } | null
  last: { at: number; outcome: 'applied' | 'rolled_back' | 'failed'; text: string } | null
}

/** A backup that was made, or that was checked. Times in epoch ms. */
export interface BackupFacts {
  made_at: number
  version: string
  files: number
  size_bytes: number
  all_secrets: boolean
  site: string | null
  zones: number
  people: number
}

/** Backups as they are now. */
export interface Backup {
  state: 'idle' | 'making' | 'made' | 'taking' | 'checking' | 'checked' | 'restarting'
  progress: { done_bytes: number; of_bytes: number | null } | null
  backup: BackupFacts | null
  failed: string | null
  /** What was there before the last restore, and who replaced it. */
  former: { by: string; at: number; what: 'backup' | 'undo'; made_at: number } | null
  /** What has to be typed to confirm. */
  name: string
  most_bytes: number
}

/** What announces itself; every text is what it says of itself. */
export interface FoundDaemon {
  id: string
  role: string
  driver: 'board' | 'gateway' | 'recorder'
  name: string
  host: string
  address: string
  port: number
  version: string | null
  heard_at: number
  /** Whether it speaks HTTPS, so that somebody has to compare its root CA. */
  tls: boolean
  /** The device that it is; `moved` where the device has another address, `has_root` where a root CA was adopted. */
  device: { id: number; name: string; moved: boolean; has_root: boolean } | null
}

/** The root CA that a gateway or recorder hands out; `adopted` is the fingerprint of the one that its device trusts now. */
export interface FoundRoot {
  fingerprint: string
  ends_at: number
  adopted: string | null
}

/** `looking` is false where mDNS is switched off. */
export interface Found {
  looking: boolean
  found: FoundDaemon[]
}

/** One column of a change; for secrets only the fact that they change. */
export type ChangedColumn =
  | { column: string; secret: true }
  | {
      column: string
      secret: false
      before: Json
      after: Json
      /** An instant in epoch ms, or the id of another row, whose name is in `names`. */
      kind?: 'time' | 'row'
      names?: { before: string | null; after: string | null }
    }

/** One pending change. */
export interface Change {
  id: number
  at: number
  by: string
  kind: 'add' | 'change' | 'remove'
  table: string
  row_id: number | null
  name: string | null
  columns: ChangedColumn[]
}

/** The pending changes; Apply All is called with `revision`. */
export interface Pending {
  revision: number
  /** Changes of the last Apply All that can be taken back. */
  undoable: number
  changes: Change[]
}

/** A device has 5 s, and a command may be queued behind others. */
const DEVICE_MS = 20_000
/** Applying writes every row; a macro is answered after ten seconds at the latest. */
const LONG_MS = 30_000

/** A picture from a phone over a slow network. */
const PICTURE_MS = 120_000

/** Rows of a table in one answer. */
const MOST_ROWS = 100

/** All calls of the pages. Each throws CallFault for a refusal and NoContact if no answer came. */
export const api = {
  me: () => call<PersonView>('GET /ui/me', undefined, { isSignIn: true }),
  site: () =>
    call<SiteView & { me: PersonView | null; setup?: boolean }>('GET /ui/site', undefined, { isSignIn: true }),
  setUp: (form: SetUpForm) => call<SignInAnswer>('POST /ui/setup', form, { isSignIn: true, answerMs: DEVICE_MS }),
  handoff: () => call<SignInAnswer>('POST /ui/handoff', undefined, { isSignIn: true }),
  signIn: (form: SignInForm) => call<SignInAnswer>('POST /ui/sign-in', form, { isSignIn: true, answerMs: DEVICE_MS }),
  changePassword: (current: string, password: string) =>
    call<unknown>('POST /ui/password', { current, password }, { answerMs: DEVICE_MS }),
  signOut: () => call<unknown>('POST /ui/sign-out', undefined, { isSignIn: true }),
  zones: () => call<Zones>('GET /ui/zones'),
  command: (zoneId: number, command: string, args: Record<string, Json>) =>
    done('POST /ui/command', { zone_id: zoneId, command, args }, DEVICE_MS),
  macro: (macroId: number) => done('POST /ui/macro', { macro_id: macroId }, LONG_MS),
  favourite: (kind: keyof Favourites, id: number, favourite: boolean) =>
    call<unknown>('PUT /ui/favourite', { [kind === 'zones' ? 'zone_id' : 'macro_id']: id, favourite }),
  plans: () => call<PlanDrafts>('GET /ui/plans'),
  savePlan: (plan: PlanWish & { seen?: PlanDraft }) =>
    call<{ pending: number }>('PUT /ui/plans', plan, { answerMs: LONG_MS }),
  removePlan: (id: number) => call<{ pending: number }>('POST /ui/plans/remove', { id }, { answerMs: LONG_MS }),
  sendPicture: (file: Blob) => call<PlanDraft['picture']>('POST /ui/plan/picture', file, { answerMs: PICTURE_MS }),
  audit: (query: string) => call<AuditPage>(`GET /ui/audit?${query}`),
  rest: () => call<Rest>('GET /ui/rest'),
  notDriven: () => call<NotDrivenRows>('GET /ui/not-driven'),
  devices: (find: string) => call<Devices>(`GET /ui/devices?${new URLSearchParams(find === '' ? {} : { find })}`),
  automation: () => call<Automation>('GET /ui/automation'),
  found: () => call<Found>('GET /ui/found'),
  foundRoot: (id: string) => call<FoundRoot>('POST /ui/found/root', { id }, { answerMs: LONG_MS }),
  adopt: (wish: { id: string; name?: string; secret?: string; fingerprint?: string }) =>
    call<unknown>('POST /ui/found/adopt', wish, { answerMs: LONG_MS }),
  update: () => call<Update>('GET /ui/update'),
  lookForUpdate: () => call<Update>('POST /ui/update/look', {}, { answerMs: LONG_MS }),
  applyUpdate: () => call<Update>('POST /ui/update/apply', {}, { answerMs: LONG_MS }),
  restart: () => call<unknown>('POST /ui/restart', {}),
  backup: () => call<Backup>('GET /ui/backup'),
  makeBackup: () => call<Backup>('POST /ui/backup', {}),
  discardBackup: () => call<unknown>('POST /ui/backup/discard', {}),
  restore: (name: string) => call<unknown>('POST /ui/backup/restore', { name }, { answerMs: LONG_MS }),
  undoRestore: (name: string) => call<unknown>('POST /ui/backup/undo', { name }, { answerMs: LONG_MS }),
  setRest: (enabled: boolean) => call<Rest>('PUT /ui/rest', { enabled }),
  pending: () => call<Pending>('GET /ui/pending'),
  apply: (revision: number) => call<{ applied: number }>('POST /ui/pending/apply', { revision }, { answerMs: LONG_MS }),
  tables: () => call<{ tables: TableView[] }>('GET /ui/tables'),
  rows: async (table: string, find: string, after = 0, limit = MOST_ROWS) => {
    const query = new URLSearchParams({ table, limit: String(limit) })
    if (find !== '') query.set('find', find)
    if (after > 0) query.set('after', String(after))
    return call<RowsPage>(`GET /ui/rows?${query}`)
  },
  row: (table: string, id: number) => call<RowsPage>(`GET /ui/rows?${new URLSearchParams({ table, id: String(id) })}`),
  saveRow: (body: { table: string; id?: number; values: Record<string, Json>; seen?: RowView['values'] }) =>
    call<{ pending: number }>('POST /ui/rows', body, { answerMs: LONG_MS }),
  removeRow: (table: string, id: number) =>
    call<{ pending: number }>('POST /ui/rows/remove', { table, id }, { answerMs: LONG_MS }),
  undo: () => call<{ pending: number }>('POST /ui/pending/undo', {}, { answerMs: LONG_MS }),
  discard: (revision: number) => call<unknown>('POST /ui/pending/discard', { revision }),
}

/** The result of a command or a macro. */
export interface Done {
  success: boolean
  error?: string
  message?: string
  /** Of a command that a driver refused: then `error` is its sentence. */
  code?: string
  state?: string
  steps?: readonly RunStep[]
}

/** One step of a run; its decision is sent only to elevated users. */
export interface RunStep {
  step: string
  type: string
  state: string
  error?: string
  message?: string
  decided?: Json
  steps?: readonly RunStep[]
}

/** A macro that did not end well, with its steps. */
export class RunFault extends CallFault {
  readonly steps: readonly RunStep[]

  constructor(answer: Done) {
    const { code, error, message = code === undefined ? undefined : error } = answer
    super(200, { error: code ?? error, message })
    this.steps = answer.steps ?? []
  }
}

/** A failed command comes with status 200. @throws CallFault for that as well, with the status 200 */
async function done(target: 'POST /ui/command' | 'POST /ui/macro', body: unknown, answerMs: number): Promise<Done> {
  const answer = await call<Done>(target, body, { answerMs })
  if (answer.success) return answer
  throw new RunFault(answer)
}
