/** What the pages ask the controller. */
import { CallFault, call } from '#kit/web/call.ts'
import type { PersonView, SiteView } from '../core/access/accounts.ts'
import type { Json } from '../core/json.ts'
import type { MacroView, ZoneGroup } from '../core/live/zones.ts'
import type { NotDriven } from '../core/site/not-driven.ts'

/** Answer of GET /ui/zones. */
export interface Zones {
  site: SiteView
  now: number
  groups: ZoneGroup[]
  macros: MacroView[]
}

/** What a sign-in may be answered with: a person, a challenge, or a refusal. */
type SignInAnswer =
  | ({ signed_in: true } & PersonView)
  | { signed_in: false }
  | { error: string; message: string; ttl_seconds?: number }

/** What was typed. */
export interface SignInForm {
  username: string
  password: string
  two_factor_token?: string
}

/** The first account; `site` where no site is named yet. */
interface SetUpForm {
  username: string
  password: string
  site?: string
  time_zone?: string
}

/** One call as it was recorded. */
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
  /** Of commands and macros: `level 40 on "Hall"`, what came of it, and why. */
  action: string | null
  outcome: string | null
  detail: string | null
}

/** Newest first; `before` asks for what is older, null where there is nothing: one search looks at so many and no more. */
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

/** What of the site has no effect yet; `count` counts what is not listed too. */
export interface NotDrivenRows {
  rows: NotDriven[]
  count: number
}

/** One column of a change; of secrets it is only known that they change. */
export type ChangedColumn =
  | { column: string; secret: true }
  | {
      column: string
      secret: false
      before: Json
      after: Json
      /** An instant in epoch ms, or the id of another row, which `names` calls by its name. */
      kind?: 'time' | 'row'
      names?: { before: string | null; after: string | null }
    }

/** One change that waits. */
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

/** Changes that wait; `revision` is what Apply All is asked for. */
export interface Pending {
  revision: number
  changes: Change[]
}

/** A device has 5 s, and a command may wait behind others. */
const DEVICE_MS = 20_000
/** Applying writes every row, and a macro answers after ten seconds at the latest. */
const LONG_MS = 30_000

/** Every call of the pages. Each throws CallFault for a refusal and NoContact where no answer came. */
export const api = {
  me: () => call<PersonView>('GET /ui/me', undefined, { isSignIn: true }),
  site: () =>
    call<SiteView & { me: PersonView | null; setup?: boolean }>('GET /ui/site', undefined, { isSignIn: true }),
  setUp: (form: SetUpForm) => call<SignInAnswer>('POST /ui/setup', form, { isSignIn: true, answerMs: DEVICE_MS }),
  handoff: () => call<SignInAnswer>('POST /ui/handoff', undefined, { isSignIn: true }),
  signIn: (form: SignInForm) => call<SignInAnswer>('POST /ui/sign-in', form, { isSignIn: true, answerMs: DEVICE_MS }),
  signOut: () => call<unknown>('POST /ui/sign-out', undefined, { isSignIn: true }),
  zones: () => call<Zones>('GET /ui/zones'),
  command: (zoneId: number, command: string, args: Record<string, Json>) =>
    done('POST /ui/command', { zone_id: zoneId, command, args }, DEVICE_MS),
  macro: (macroId: number) => done('POST /ui/macro', { macro_id: macroId }, LONG_MS),
  audit: (query: string) => call<AuditPage>(`GET /ui/audit?${query}`),
  rest: () => call<Rest>('GET /ui/rest'),
  notDriven: () => call<NotDrivenRows>('GET /ui/not-driven'),
  setRest: (enabled: boolean) => call<Rest>('PUT /ui/rest', { enabled }),
  pending: () => call<Pending>('GET /ui/pending'),
  apply: (revision: number) => call<{ applied: number }>('POST /ui/pending/apply', { revision }, { answerMs: LONG_MS }),
  discard: (revision: number) => call<unknown>('POST /ui/pending/discard', { revision }),
}

/** What came of a command or a macro. */
export interface Done {
  success: boolean
  error?: string
  message?: string
  state?: string
  steps?: readonly RunStep[]
}

/** One step of a run; what was decided only for who is elevated. */
export interface RunStep {
  step: string
  type: string
  state: string
  error?: string
  message?: string
  decided?: Json
  steps?: readonly RunStep[]
}

/** A macro that did not end well, with what is told of its steps. */
export class RunFault extends CallFault {
  readonly steps: readonly RunStep[]

  constructor(answer: Done) {
    super(200, answer)
    this.steps = answer.steps ?? []
  }
}

/** What a device did not do comes as 200. @throws CallFault for that as well, with the status 200 */
async function done(target: 'POST /ui/command' | 'POST /ui/macro', body: unknown, answerMs: number): Promise<Done> {
  const answer = await call<Done>(target, body, { answerMs })
  if (answer.success) return answer
  throw new RunFault(answer)
}
