/** The pages and what they stand on, put together. */
import { Fault } from '#kit/fault.ts'
import { createTunnelMark } from '../api/tunnel-mark.ts'
import { createUi, type Ui } from '../api/ui-routes.ts'
import type { Change } from '../core/change.ts'
import { limitsOf } from '../core/limit.ts'
import type { Outcome } from '../core/outcome.ts'
import { settingOf } from '../core/settings.ts'
import type { SignInResult } from '../core/sign-in.ts'
import type { UiPending, UiPeople, UiRest } from '../core/ui-ports.ts'
import type { StagedDifference } from '../io/database.ts'
import { auditBook } from './audit-list.ts'
import { logNotDriven, notDrivenIn } from './drivers.ts'
import type { House } from './house.ts'
import { pendingView } from './pending-view.ts'
import type { Brought } from './rules.ts'
import { openSetUp } from './set-up.ts'

export function openUi(house: House, brought: Brought): Ui {
  const { context, audit, site } = house
  const { clock, config, log } = context
  const { control, originOf } = brought
  const isTunnel = createTunnelMark(config.tunnel)
  const ui = createUi({
    people: peopleOf(brought),
    setUp: openSetUp(house, brought),
    control: { command: control.command, macro: control.runMacro, scope: control.scope },
    audit: auditBook(audit),
    rest: restOf(house, brought.isRestEnabled),
    pending: pendingOf(house, brought),
    ...{ book: site.book, live: brought.live, clock, log, isSecure: config.http.tls },
    originOf: ({ remoteAddress, headers }) => originOf(remoteAddress, headers, isTunnel(remoteAddress, headers)),
    limits: { ...limitsOf(config.ui), recordMs: config.audit.record_ms },
  })
  // What an account lost by Apply All is over now, and not at the next beat.
  brought.changed.onChange(ui.closeEnded)
  return ui
}

function peopleOf({ people }: Brought): UiPeople {
  return {
    signIn: async (credentials, from, signal) => withToken(await people.signInUi(credentials, from, signal)),
    redeem: async (nonce, from) => withToken(people.redeem(nonce, from)),
    signOut: people.logoutUi,
    sessionOf(token, from, isUse) {
      const session = people.resolveUi(token, from, isUse)
      return session === 'invalid_session' ? undefined : session
    },
  }
}

/** The page's routes take the token out of the body and put it into the cookie. */
function withToken({ outcome, issued }: SignInResult): Outcome {
  if (issued === undefined) return outcome
  return { ...outcome, body: { json: { token: issued.token, expires: issued.lifeMs } } }
}

function restOf({ context, records, site }: House, isRunning: boolean): UiRest {
  return {
    state: () => ({ isSet: settingOf(site.book).rest_api_enabled, isRunning }),
    notDriven: () => notDrivenIn((table) => site.book.rows(table)),
    async set(isOn, by) {
      await site.applyNow([settingChange(site, isOn, context.clock.epochMs())])
      records.journal.record({
        ...{ who: by.username, from: 'page', what: 'REST surface switched', target: 'rest_api_enabled' },
        detail: { isOn },
      })
    },
  }
}

function settingChange({ book, nextId }: House['site'], isOn: boolean, nowMs: number): Change {
  const table = 'setting'
  const row = book.rows(table).find(({ key }) => key === 'rest_api_enabled')
  const columns = { value: String(isOn), updated_at: nowMs }
  if (row !== undefined) return { kind: 'change', table, id: row.id, columns }
  const id = nextId(table)
  return { kind: 'add', table, id, row: { id, created_at: nowMs, key: 'rest_api_enabled', ...columns } }
}

function pendingOf({ context, records, site }: House, { control, changed, people }: Brought): UiPending {
  const { pending } = site
  const view = () => pendingView(pending.list(), site.book)
  return {
    changes: view,
    count: () => pending.mark().count,
    // What waits is told by itself: the command line stages from a process of its own.
    revision: () => pending.mark().lastId,
    async apply(by) {
      // Before, too: a Valid Until that has passed may be put off by these changes, and what it ended stays ended.
      people.endOver()
      const count = await pending.applyAll().catch((fault) => {
        throw refusedOf(fault, pending.list())
      })
      people.endOver()
      control.refresh()
      changed.tell()
      records.journal.record({ who: by.username, from: 'page', what: 'changes applied', detail: { count } })
      context.log.notice('changes_applied', { count })
      logNotDriven(site.book, context.log)
      return count
    },
    async discard(by) {
      const count = await pending.discard()
      records.journal.record({ who: by.username, from: 'page', what: 'changes discarded', detail: { count } })
      return count
    },
  }
}

/** What does not fit is told beside the change that it is about. */
function refusedOf(cause: unknown, waiting: readonly StagedDifference[]): unknown {
  if (!(cause instanceof Fault) || cause.code !== 'pending_stale') return cause
  const faults = (cause.details?.faults ?? []) as readonly { path: string; sentence: string }[]
  const fields = faults.flatMap(({ path, sentence }) => {
    const change = waiting.find(({ table, id }) => path === `${table} ${id}` || path.startsWith(`${table} ${id}.`))
    return change === undefined ? [] : [{ field: String(change.pendingId), message: sentence }]
  })
  return new Fault('pending_refused', cause.message, { cause, details: { fields } })
}
