/** Combines the pages with what they need: the first account, the audit, pending changes. */
import { join } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { openPictureFolder } from '#kit/store/picture-folder.ts'
import { setUpMark } from '#kit/store/store.ts'
import { createUi, type Ui, type UiParts } from '../api/ui-routes.ts'
import { firstAccount, isWithoutAccounts } from '../core/access/people.ts'
import type { SignInResult } from '../core/access/sign-in.ts'
import type { AuditBook, AuditFacts, AuditOutcome, AuditReason, Outcome } from '../core/audit.ts'
import type { Backups } from '../core/backups.ts'
import { createWrites } from '../core/control/writing.ts'
import { createDefinitionDesk } from '../core/drivers/definitions.ts'
import type { FoundDaemons } from '../core/drivers/found.ts'
import { createStills } from '../core/drivers/stills.ts'
import type { Json } from '../core/json.ts'
import { limitsOf, macroLimitsOf } from '../core/keys.ts'
import { chooseFavourite, favouritesOf } from '../core/live/favourites.ts'
import { shownOnPages } from '../core/live/live-values.ts'
import { createSights } from '../core/live/sight.ts'
import { createMacroDesk } from '../core/macros/desk.ts'
import type { Book, Row } from '../core/site/book.ts'
import { browseRows, describeTables, freeId } from '../core/site/browse.ts'
import type { Change } from '../core/site/changes.ts'
import { notDriven } from '../core/site/not-driven.ts'
import { createPlans, keepPicture, picturesIn } from '../core/site/plans.ts'
import { isSecretColumn, settingOf, tableOf } from '../core/site/registry.ts'
import type {
  AuditRow,
  PendingChange,
  PendingColumn,
  UiAudit,
  UiMacros,
  UiPending,
  UiPeople,
  UiRest,
  UiRooms,
  UiSetUp,
  UiTables,
  UiUpdates,
} from '../core/surfaces.ts'
import { AUDIT_FILE, type AuditFile } from '../io/audit-file.ts'
import { namesAccounts } from '../io/audit-reader.ts'
import type { StagedDifference } from '../io/database.ts'
import { hashPassword } from '../io/people.ts'
import { stageRows } from '../io/site-import.ts'
import { foundOf } from './found.ts'
import { definitionFiles, type House, importParts, logNotDriven } from './house.ts'
import { type Brought, liveField } from './rules.ts'

// The first account: created once on the page; the log asks for it until it exists.

function openSetUp({ context, records, site }: House, { changed }: Pick<Brought, 'changed'>): UiSetUp {
  const { clock, log } = context
  const isNeeded = () => isFirstStart({ context, site })
  let isUnderWay = false
  return {
    isNeeded,
    isLost: () => isLost({ context, site }),
    async begin({ username, password, siteName, timeZone }) {
      // Hashing takes time, and two requests may come at once.
      if (isUnderWay || !isNeeded())
        throw new Fault('already_set_up', 'Somebody else has just made the first account. Sign in instead.')
      isUnderWay = true
      try {
        const kept = await hashPassword(password)
        const world = { book: site.book, nowMs: clock.epochMs(), nextId: site.nextId }
        await site.applyNow(firstAccount({ username, ...kept, siteName, timeZone }, world))
      } finally {
        isUnderWay = false
      }
      setUpMark(context.stateFolder).set()
      changed.tell()
      records.journal.record({ who: username, from: 'page', what: 'administrator made', target: username })
      log.notice('first account made', { username })
    },
  }
}

type Kept = Pick<House, 'context' | 'site'>

/** Whether there has never been an account here. */
function isFirstStart(house: Kept): boolean {
  return isWithoutAccounts(house.site.book) && !setUpMark(house.context.stateFolder).isSet()
}

/** Whether there were accounts and now there are none. */
export function isLost({ context, site }: Kept): boolean {
  return isWithoutAccounts(site.book) && setUpMark(context.stateFolder).isSet()
}

/**
 * Runs before anybody can call. An audit that names an account proves that there were accounts, even if the database is
 * gone.
 */
export function markAccounts({ context: { stateFolder }, site }: Kept): void {
  if (!isWithoutAccounts(site.book) || namesAccounts(join(stateFolder, AUDIT_FILE))) setUpMark(stateFolder).set()
}

/** Tells a reader of the log what to do next. */
export function tellWithoutAccounts({ context, site }: House): void {
  if (!isWithoutAccounts(site.book)) return
  if (isLost({ context, site }))
    context.log.error(
      'the accounts are gone: put a backup back with plantroom restore, or use plantroom password controller',
    )
  else
    context.log.warning(
      'nobody can sign in yet: open the page and make the first account, or stop the controller and import a site file',
    )
}

// The audit as the page queries it: by parts of names, newest first, within the limits of one search.

/** One search looks at a limited number of rows; older ones are found by asking for those before the last one. */
function auditBook(audit: AuditFile, book: Pick<Book, 'rows'>): AuditBook & UiAudit {
  return {
    add: (record, isAwaited) => audit.add(record, isAwaited),
    takes: () => audit.takes(),
    late: (record) => audit.late(record),
    async auditList({ user, path, from, to, before, trouble, zone, device, ...exact }) {
      const isAsked = askedTargets(book, { zone, device })
      const { rows, next } = await audit.list({
        ...exact,
        ...(before === undefined ? {} : { beforeId: before }),
        ...(from === undefined ? {} : { fromAt: from }),
        ...(to === undefined ? {} : { untilAt: to }),
        fits: (row) =>
          (user === undefined || holds(row.username, user)) &&
          (path === undefined || holds(row.path, path)) &&
          (trouble === undefined || isTrouble(row) === trouble) &&
          isAsked(row),
      })
      return { rows: rows.map(auditRowOf), before: next }
    },
  }
}

/** Whether it was refused, failed, or was done in part: what somebody may have to do something about. */
function isTrouble({ granted, outcome, status }: Row): boolean {
  return granted !== true || outcome === 'failed' || outcome === 'partly' || Number(status) >= 500
}

/**
 * Which records are of these zones and devices: by their present names, and by the names that were recorded, as a zone
 * may have been renamed or removed since. A device's are those of its zones too.
 */
function askedTargets(
  book: Pick<Book, 'rows'>,
  { zone, device }: { zone: string | undefined; device: string | undefined },
): (row: Row) => boolean {
  const ids = (table: string, part: string) =>
    new Set<Json>(book.rows(table).flatMap(({ id, name }) => (String(id) === part || holds(name, part) ? [id] : [])))
  const targets = (kind: string, known: ReadonlySet<Json>) => Array.from(known, (id) => `${kind} ${id}`)
  const isOf = (kind: string, part: string, known: ReadonlySet<Json>) => (row: Row) =>
    known.has(row.target ?? null) ||
    (holds(row.target, `${kind} `) && holds(/ on "(.*)"$/.exec(String(row.action))?.[1], part))
  const tests: ((row: Row) => boolean)[] = []
  if (zone !== undefined) tests.push(isOf('zone', zone, new Set(targets('zone', ids('zone', zone)))))
  if (device !== undefined) {
    const devices = ids('device', device)
    const zones = book.rows('zone').flatMap(({ id, device_id: of }) => (devices.has(of ?? null) ? [id] : []))
    const known = [...targets('device', devices), ...targets('zone', new Set(zones))]
    tests.push(isOf('device', device, new Set(known)))
  }
  return (row) => tests.every((fits) => fits(row))
}

function holds(text: unknown, part: string): boolean {
  return typeof text === 'string' && text.toLowerCase().includes(part.toLowerCase())
}

function auditRowOf(row: Row): AuditRow {
  const textOf = (value: unknown) => (typeof value === 'string' ? value : null)
  const numberOf = (value: unknown) => (typeof value === 'number' ? value : null)
  return {
    id: row.id,
    at: Number(row.at),
    requestType: REQUEST_TYPES.find((type) => type === row.request_type) ?? 'rest_api',
    method: String(row.method),
    path: String(row.path),
    status: Number(row.status),
    elapsedMs: Number(row.elapsed_ms),
    clientIp: String(row.client_ip),
    userId: numberOf(row.user_id),
    username: textOf(row.username),
    granted: row.granted === true,
    reason: textOf(row.reason) as AuditReason | null,
    target: textOf(row.target),
    runId: numberOf(row.run_id),
    facts: factsOf(textOf(row.action), textOf(row.outcome), textOf(row.detail)),
  }
}

const REQUEST_TYPES = ['ui', 'socket', 'hook', 'schedule', 'trigger'] as const

function factsOf(action: string | null, outcome: string | null, detail: string | null): AuditFacts | null {
  return action === null || outcome === null ? null : { action, outcome: outcome as AuditOutcome, detail }
}

// Pending changes in readable form: referenced rows get names, and instants are marked as such.

/** @param book the current site: a referenced row is either in there or among the changes */
export function pendingView(staged: readonly StagedDifference[], book: Pick<Book, 'row'>): PendingChange[] {
  const named = new Map(staged.flatMap(({ table, id, name }) => (name === '' ? [] : [[`${table} ${id}`, name]])))
  const nameOf = (table: string, id: Json): string | null => {
    if (typeof id !== 'number') return null
    const label = tableOf(table)?.label
    const now = label === undefined ? undefined : book.row(table, id)?.[label]
    return typeof now === 'string' && now !== '' ? now : (named.get(`${table} ${id}`) ?? null)
  }
  return staged.map(({ kind, table, id, name, columns, pendingId, at, author }) => ({
    ...{ id: pendingId, at, by: author, kind, table, rowId: kind === 'add' ? null : id },
    name: name === '' ? null : name,
    columns: columns.map((column) => columnView(table, column, nameOf)),
  }))
}

function columnView(
  table: string,
  { column, before, after }: StagedDifference['columns'][number],
  nameOf: (table: string, id: Json) => string | null,
): PendingColumn {
  if (isSecretColumn(table, column)) return { column, isSecret: true, before: null, after: null }
  const facts = tableOf(table)?.column(column)
  const plain = { column, isSecret: false, before: plainOf(before), after: plainOf(after) }
  if (facts?.isTime) return { ...plain, kind: 'time' }
  const to = facts?.reference
  if (to === undefined) return plain
  return { ...plain, kind: 'row', names: { before: nameOf(to, plain.before), after: nameOf(to, plain.after) } }
}

/** A difference has values as one-line texts; shortened ones stay texts. */
function plainOf(shown: string): Json {
  if (shown === 'none') return null
  try {
    return JSON.parse(shown) as Json
  } catch {
    return shown
  }
}

// The pages.

/** What only the socket reaches: sessions of either kind, queries, writing, and what attributes do. */
function socketOf(
  { context, site }: House,
  { people, rules, control, data, values, setAttribute }: Brought,
): UiParts['socket'] {
  const { clock, config } = context
  const pages = peopleOf({ people })
  const { book } = site
  const sights = createSights({ book, views: data.views, attributes: data.schema.table('attribute') })
  return {
    people: {
      signIn: pages.signIn,
      changePassword: pages.changePassword,
      sessionOf: people.resolveSocket,
      signOut(token) {
        people.logout(token)
        people.logoutUi(token)
      },
    },
    answerData: rules.answerData,
    writes: createWrites({
      ...{ book, gates: control.gates, sights, setAttribute },
      waiting: () => site.pending.changes(),
      stage: (wish, author) => stageRows(site, wish, importParts(config, clock), author),
      limits: { textChars: config.site.text_chars, writeRows: config.socket.write_rows },
    }),
    attributes: {
      onChange: (listener) => values.onChange(({ attributeId: id }) => id === undefined || listener(id)),
    },
    sights,
  }
}

/** What the pages have beside the building itself. */
interface UiWorld {
  found: FoundDaemons
  backups: Backups
  updates: UiUpdates
}

export function openUi(house: House, brought: Brought, { found, backups, updates }: UiWorld): Ui {
  const { context, audit, site } = house
  const { clock, config, log } = context
  const { control, originOf } = brought
  const socket = socketOf(house, brought)
  const ui = createUi({
    people: peopleOf(brought),
    setUp: openSetUp(house, brought),
    control: { command: control.command, macro: control.runMacro, cancel: control.cancel, scope: control.scope },
    automation: {
      schedules: () => control.automation.schedules.list(),
      triggers: () => control.automation.triggers.list(),
    },
    audit: auditBook(audit, site.book),
    socket,
    rest: restOf(house, brought.isRestEnabled),
    ...{ backups, updates },
    pending: pendingOf(house, brought),
    ...{ tables: tablesOf(site, socket.writes), macros: macrosOf(house, brought) },
    traffic: { look: (device, after) => control.traffic.look(device, after), lane: control.laneOf },
    definitions: createDefinitionDesk({
      ...{ files: definitionFiles(house), book: site.book, reopen: control.reopen },
      most: config.drivers.own_definitions,
    }),
    ...{ ledger: house.records.ledger, journal: house.records.journal },
    found: foundOf(house, found),
    rooms: roomsOf(house),
    stills: createStills({ clock, ask: control.still, limits: limitsOf(config.drivers) }),
    ...{ book: site.book, live: shownOnPages(brought.live, brought.values), clock, log, isSecure: config.http.tls },
    originOf: ({ remoteAddress, headers }) => originOf(remoteAddress, headers),
    limits: {
      ...{ ...limitsOf(config.ui), ...limitsOf(config.socket), recordMs: config.audit.record_ms },
      backup: { maxBytes: config.backup.bytes, idleMs: config.backup.idle_ms, wholeMs: config.backup.whole_ms },
    },
  })
  // A session that ended with Apply All is closed now, not at the next beat.
  brought.changed.onChange(ui.closeEnded)
  return ui
}

function peopleOf({ people }: Pick<Brought, 'people'>): UiPeople {
  return {
    signIn: async (credentials, from, signal) => withToken(await people.signInUi(credentials, from, signal)),
    redeem: async (nonce, from) => withToken(people.redeem(nonce, from)),
    signOut: people.logoutUi,
    changePassword: async (session, form, origin, signal) =>
      withToken(await people.changePassword(session, form, { origin, signal })),
    sessionOf: people.resolveUi,
  }
}

/** The page's routes move the token from the body into the cookie. */
function withToken({ outcome, issued }: SignInResult): Outcome {
  if (issued === undefined) return outcome
  return { ...outcome, body: { json: { token: issued.token, expires: issued.lifeMs } } }
}

function restOf({ context, drivers, records, site }: House, isRunning: boolean): UiRest {
  return {
    state: () => ({ isSet: settingOf(site.book).rest_api_enabled, isRunning }),
    notDriven: () => notDriven((table) => site.book.rows(table), drivers),
    async set(isOn, by) {
      await site.applyNow([settingChange(site, isOn, context.clock.epochMs())])
      records.journal.record({
        ...{ who: by.username, from: 'page', what: 'REST surface switched', target: 'rest_api_enabled' },
        detail: { isOn },
      })
    },
  }
}

function tablesOf({ book, pending, nextId }: House['site'], { write }: Pick<UiTables, 'write'>): UiTables {
  return {
    tables: () => describeTables(book),
    rows: (ask) => browseRows(book, pending.changes(), ask),
    freeId: (table) => freeId(pending.changes(), table, nextId),
    write,
  }
}

function macrosOf({ context, site }: House, { control, live, values }: Brought): UiMacros {
  const { clock, config } = context
  return createMacroDesk({
    site() {
      const waiting = site.pending.changes()
      return { book: site.book, waiting, freeId: (table) => freeId(waiting, table, site.nextId) }
    },
    ...{ limits: macroLimitsOf(config.macros), mostRuns: config.store.records, nowMs: () => clock.epochMs() },
    liveField: (target, field) => liveField(live, values, target, field),
    living: () => control.engine.living(),
    knownVerbs: control.knownVerbs,
  })
}

function roomsOf({ context: { config, stateFolder }, site }: House): UiRooms {
  const { book, keeper, pending } = site
  const limits = limitsOf(config.people)
  const folder = openPictureFolder({
    ...{ stateFolder, most: config.ui.plan_pictures },
    full: (count) =>
      new Fault(
        'plans_full',
        `${count} pictures are kept, and plans show all of them; ui.plan_pictures allows no more`,
      ),
    inUse() {
      const waiting = pending.changes().flatMap((change) => {
        if (change.kind === 'remove') return []
        return change.kind === 'add' ? change.row.layout : change.columns.layout
      })
      return picturesIn([...book.rows('ui_page_ui').map(({ layout }) => layout), ...waiting])
    },
  })
  return {
    favourites: (session) => favouritesOf(book, session),
    choose: (session, wish, isSeen) => chooseFavourite({ book, keeper, limits }, session, wish, isSeen),
    plans: createPlans(book),
    keepPicture: (bytes) => keepPicture(folder, bytes, config.ui.plan_pixels),
    openPicture: (name) => folder.open(name),
    hasPicture: (name) => folder.has(name),
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

function pendingOf({ context, drivers, records, site }: House, { control, changed, people }: Brought): UiPending {
  const { pending } = site
  const view = () => pendingView(pending.list(), site.book)
  return {
    changes: view,
    count: () => pending.mark().count,
    // Read each time: the command line stages changes from its own process.
    revision: () => pending.mark().lastId,
    async apply(by) {
      // Also before: these changes may extend a Valid Until that has passed, but sessions it ended must stay ended.
      people.endOver()
      const count = await pending.applyAll().catch((fault) => {
        throw refusedOf(fault, pending.list())
      })
      people.endOver()
      control.refresh()
      changed.tell()
      records.journal.record({ who: by.username, from: 'page', what: 'changes applied', detail: { count } })
      context.log.notice('changes_applied', { count })
      logNotDriven(site.book, drivers, context.log)
      return count
    },
    undoable: pending.undoable,
    async undo(by) {
      const count = await pending.undo(by.username)
      records.journal.record({ who: by.username, from: 'page', what: 'changes taken back', detail: { count } })
      return count
    },
    async discard(by) {
      const count = await pending.discard()
      records.journal.record({ who: by.username, from: 'page', what: 'changes discarded', detail: { count } })
      return count
    },
  }
}

/** Faults are reported with the change they belong to. */
function refusedOf(cause: unknown, waiting: readonly StagedDifference[]): unknown {
  if (!(cause instanceof Fault) || cause.code !== 'pending_stale') return cause
  const faults = (cause.details?.faults ?? []) as readonly { path: string; sentence: string }[]
  const fields = faults.flatMap(({ path, sentence }) => {
    const change = waiting.find(({ table, id }) => path === `${table} ${id}` || path.startsWith(`${table} ${id}.`))
    return change === undefined ? [] : [{ field: String(change.pendingId), message: sentence }]
  })
  return new Fault('pending_refused', cause.message, { cause, details: { fields } })
}
