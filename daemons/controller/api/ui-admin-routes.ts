/** Routes for elevated sessions only: the audit, the REST switch, changes that wait for Apply All. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { createReader } from '#kit/http/check.ts'
import {
  acknowledgeBody,
  ledgerAnswer,
  ledgerEntry,
  ledgerExport,
  ledgerList,
  ledgerQuery,
} from '#kit/http/ledger-routes.ts'
import type { Route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Journal } from '#kit/records/journal.ts'
import { type Ledger, unknownEntry } from '#kit/records/ledger.ts'
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'
import type { Session } from '../core/access/accounts.ts'
import { type AuditReason, type AuditRecord, DURESS, isTold } from '../core/audit.ts'
import type { FoundDaemon } from '../core/drivers/found.ts'
import type { Json } from '../core/json.ts'
import type { Book } from '../core/site/book.ts'
import type {
  AuditFilter,
  AuditRow,
  AutomationRow,
  PendingChange,
  UiAudit,
  UiAutomation,
  UiFound,
  UiPending,
  UiRest,
} from '../core/surfaces.ts'
import {
  appliedAnswer,
  auditAnswer,
  automationAnswer,
  doneAnswer,
  foundAnswer,
  foundRootAnswer,
  notDrivenAnswer,
  pendingAnswer,
  restSwitchAnswer,
  undoneAnswer,
} from './answers.ts'
import { granted, readNothing, type UiGate } from './ui-gate.ts'

/** What these routes depend on. */
interface UiAdminParts {
  audit: UiAudit
  rest: UiRest
  pending: UiPending
  ledger: Ledger
  journal: Pick<Journal, 'record'>
  clock: Clock
  automation: UiAutomation
  book: Pick<Book, 'row'>
  found: UiFound
}

/** Most rows of one answer. */
const MOST_ROWS = 500

const time = () => Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))
const words = () => Type.Optional(Type.String({ maxLength: 200 }))

const auditQuery = Type.Object(
  {
    user: words(),
    reason: words(),
    path: words(),
    zone: words(),
    device: words(),
    trouble: Type.Optional(Type.Boolean()),
    granted: Type.Optional(Type.Boolean()),
    from: time(),
    to: time(),
    before: time(),
    limit: Type.Integer({ minimum: 1, maximum: MOST_ROWS, default: 100 }),
  },
  { additionalProperties: false },
)

const readRest = createReader(Type.Object({ enabled: Type.Boolean() }, { additionalProperties: false }))
const readApply = createReader(
  Type.Object(
    { revision: Type.Integer({ description: 'of the list that was looked at' }) },
    { additionalProperties: false },
  ),
)
const readAdopt = createReader(
  Type.Object(
    {
      id: Type.String({ minLength: 1, maxLength: 255, description: 'as it was listed' }),
      name: Type.Optional(Type.String({ maxLength: 60, description: 'of the device; absent: as it calls itself' })),
      secret: Type.Optional(
        Type.String({
          maxLength: 512,
          description: 'the password of a board, a key of a gateway, or a token of a recorder',
        }),
      ),
      fingerprint: Type.Optional(
        Type.String({
          pattern: '^[0-9A-F]{2}(:[0-9A-F]{2}){31}$',
          description:
            'of a gateway or recorder that speaks HTTPS: the SHA-256 of its root CA, which somebody compared',
        }),
      ),
    },
    { additionalProperties: false },
  ),
)
const readRootWish = createReader(
  Type.Object(
    { id: Type.String({ minLength: 1, maxLength: 255, description: 'as it was listed' }) },
    { additionalProperties: false },
  ),
)
const readAudit = createReader(auditQuery, '?', 'text')

/** Routes for elevated sessions; each answers 403 `not_elevated` to others. */
export function uiAdminRoutes(gate: UiGate, parts: UiAdminParts): Route[] {
  return [
    auditRoute(gate, parts),
    automationRoute(gate, parts),
    ...restRoutes(gate, parts),
    ...pendingRoutes(gate, parts),
    ...ledgerUiRoutes(gate, parts),
    ...foundRoutes(gate, parts),
  ]
}

function auditRoute(gate: UiGate, { audit, book }: UiAdminParts): Route {
  return gate.elevated({
    method: 'GET',
    path: '/ui/audit',
    query: readAudit,
    reply: auditAnswer,
    summary: 'What was asked of the controller and what came of it, newest first',
    async handle({ query, session }) {
      const { reason, ...rest } = readAudit({ ...(query as object) })
      const filter: AuditFilter = reason === undefined ? rest : { ...rest, reason: reason as AuditReason }
      const { rows, before } = await audit.auditList(filter)
      const told = rows.filter((row) => isTold(row, session))
      return granted({ rows: told.map((row) => auditView(row, book)), before })
    },
  })
}

/** Most rows of each list. */
const MOST_AUTOMATION = 500

function automationRoute(gate: UiGate, { automation, book }: UiAdminParts): Route {
  const view = (rows: readonly AutomationRow[]) =>
    rows.slice(0, MOST_AUTOMATION).map(({ row, lastAt, nextAt, flaw }) => ({
      ...{ id: row.id, name: textOrNull(row.name), kind: String(row.kind), macro_id: Number(row.macro_id) },
      macro: textOrNull(book.row('macro', Number(row.macro_id))?.name),
      ...{ enabled: row.enabled !== false, last_at: lastAt, flaw },
      ...(nextAt === undefined ? {} : { next_at: nextAt }),
    }))
  return gate.elevated({
    method: 'GET',
    path: '/ui/automation',
    reply: automationAnswer,
    summary: 'Schedules and triggers: when they ran, when schedules run next, and why one does not',
    handle: () => granted({ schedules: view(automation.schedules()), triggers: view(automation.triggers()) }),
  })
}

function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}

function auditView(
  { requestType, elapsedMs, clientIp, userId, runId, facts, ...row }: AuditRow,
  book: Pick<Book, 'row'>,
) {
  const type: AuditRecord['requestType'] = requestType
  const { action, outcome, detail } = facts ?? { action: null, outcome: null, detail: null }
  const who = { client_ip: clientIp, user_id: userId }
  const zoneId = /^zone (\d+)$/.exec(row.target ?? '')?.[1]
  const unit = zoneId === undefined ? null : textOrNull(book.row('zone', Number(zoneId))?.unit)
  return { ...row, request_type: type, elapsed_ms: elapsedMs, ...who, run_id: runId, action, unit, outcome, detail }
}

/** Most rows in one answer. */
const MOST_NOT_DRIVEN = 500

function restRoutes(gate: UiGate, { rest }: UiAdminParts): Route[] {
  const view = () => {
    const { isSet, isRunning } = rest.state()
    return { enabled: isSet, running: isRunning, waits_for_restart: isSet !== isRunning }
  }
  return [
    gate.elevated({
      method: 'GET',
      path: '/ui/rest',
      reply: restSwitchAnswer,
      summary: 'The REST switch: what is set, and what runs until the next restart',
      handle: () => granted(view()),
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/not-driven',
      reply: notDrivenAnswer,
      summary: 'Rows of the site that are kept and have no effect yet, with the reason',
      handle() {
        const rows = rest.notDriven()
        return granted({ rows: rows.slice(0, MOST_NOT_DRIVEN), count: rows.length })
      },
    }),
    gate.elevated({
      method: 'PUT',
      path: '/ui/rest',
      body: readRest,
      reply: restSwitchAnswer,
      isRecordedFirst: true,
      summary: 'Sets the REST switch; it takes effect after a restart',
      async handle({ body, session }) {
        await rest.set(readRest(body).enabled, session)
        return granted(view(), 'setting rest_api_enabled')
      },
    }),
  ]
}

const readLedger = createReader(ledgerQuery, '?', 'text')
const readAcknowledge = createReader(acknowledgeBody)

/** A wall panel does not show duress alarms: the person forcing somebody may be looking at it. */
function shownTo({ byPin }: Session): (entry: LedgerEntry) => boolean {
  return ({ what }) => byPin === undefined || what !== DURESS
}

function ledgerUiRoutes(gate: UiGate, { clock, journal, ledger }: UiAdminParts): Route[] {
  return [
    gate.elevated({
      method: 'GET',
      path: '/ui/ledger',
      query: readLedger,
      reply: ledgerAnswer,
      summary: 'What was wrong, where, since when and how often, newest first',
      handle: ({ query, session }) =>
        granted(ledgerList(ledger, readLedger({ ...(query as object) }), shownTo(session))),
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/ledger/export',
      reply: Type.String(),
      replyType: 'text/csv',
      summary: 'The whole ledger as a table, CSV, newest first',
      handle: ({ session }) => ({ ...granted({}), file: ledgerExport(ledger, clock, shownTo(session)) }),
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/ledger/acknowledge',
      body: readAcknowledge,
      reply: ledgerEntry,
      isRecordedFirst: true,
      summary: 'Somebody has seen it and sees to it; the first name stays',
      handle({ body, session }) {
        const asked = readAcknowledge(body).id
        if (!shownTo(session)(ledger.entry(asked))) throw unknownEntry(asked)
        const entry = ledger.acknowledge(asked, session.username)
        const { id, what: target, where } = entry
        journal.record({
          who: session.username,
          from: 'page',
          what: 'entry acknowledged',
          target,
          detail: { id, where },
        })
        return granted(entry, `ledger ${id}`)
      },
    }),
  ]
}

function pendingRoutes(gate: UiGate, { pending }: UiAdminParts): Route[] {
  // You apply or discard exactly the changes you saw: someone else's later change is not included.
  const changed = () =>
    new Fault('pending_changed', 'The list has changed since it was shown. Look at it again, then decide.')
  /** @param decide what to do with the list that was shown; @returns how many changes it found */
  const decided = async (body: unknown, decide: () => Promise<number>) => {
    // Counted first: if anything is removed between the two reads, the revision differs.
    const seen = pending.count()
    if (readApply(body).revision !== pending.revision()) throw changed()
    const count = await decide()
    // Somebody else has decided at the same moment and was first.
    if (count === 0 && seen > 0) throw changed()
    return count
  }
  return [
    gate.elevated({
      method: 'GET',
      path: '/ui/pending',
      reply: pendingAnswer,
      summary: 'Changes that wait for Apply All, column by column',
      handle: () =>
        granted({
          revision: pending.revision(),
          undoable: pending.undoable(),
          changes: pending.changes().map(pendingView),
        }),
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/pending/apply',
      body: readApply,
      reply: appliedAnswer,
      isRecordedFirst: true,
      summary: 'Applies all changes that wait, or none',
      async handle({ body, session }) {
        return granted({ applied: await decided(body, () => pending.apply(session)) }, 'pending_change')
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/pending/undo',
      body: readNothing,
      reply: undoneAnswer,
      isRecordedFirst: true,
      summary: 'Stages what takes the last Apply All back, for another Apply All',
      async handle({ body, session }) {
        readNothing(body)
        return granted({ pending: await pending.undo(session) }, 'pending_change')
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/pending/discard',
      body: readApply,
      reply: doneAnswer,
      isRecordedFirst: true,
      summary: 'Discards all changes that wait',
      async handle({ body, session }) {
        await decided(body, () => pending.discard(session))
        return granted({ success: true }, 'pending_change')
      },
    }),
  ]
}

function foundRoutes(gate: UiGate, { found }: UiAdminParts): Route[] {
  return [
    gate.elevated({
      method: 'GET',
      path: '/ui/found',
      reply: foundAnswer,
      summary: 'Boards, gateways and recorders that announce themselves on the network, and which devices they are',
      handle: () => granted({ looking: found.isLooking(), found: found.list().map(foundView) }),
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/found/root',
      body: readRootWish,
      reply: foundRootAnswer,
      summary: 'The fingerprint of the root CA of what speaks HTTPS, to be compared before it is adopted',
      async handle({ body }) {
        const { fingerprint, endsAt, adopted } = await found.root(readRootWish(body).id)
        return granted({ fingerprint, ends_at: endsAt, adopted })
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/found/adopt',
      body: readAdopt,
      reply: doneAnswer,
      isRecordedFirst: true,
      summary: 'Makes a device of a board, gateway or recorder that was found; it waits for Apply All',
      async handle({ body, session }) {
        await found.adopt(readAdopt(body), session)
        return granted({ success: true }, 'device')
      },
    }),
  ]
}

function foundView({ heardAt, hasTls, device, ...found }: FoundDaemon) {
  const known = device && { id: device.id, name: device.name, moved: device.isMoved, has_root: device.hasRoot }
  return { ...found, heard_at: heardAt, tls: hasTls, device: known }
}

/** Of secrets only the fact that they change is sent, whatever the port returned. */
function pendingView({ rowId, columns, ...change }: PendingChange) {
  return {
    ...change,
    row_id: rowId,
    columns: columns.map(({ column, isSecret, ...rest }) =>
      isSecret ? { column, secret: true } : { column, secret: false, ...rest },
    ),
  }
}
