/** Combines the rules of document 1 from their parts: people, control, macros, data. */
import { openHomes } from '#kit/auth/homes.ts'
import { createSignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { networkOf } from '#kit/net/address.ts'
import { trustedAuthorities } from '#kit/net/target.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { createLogGate } from '#kit/pure/pace.ts'
import { readNamed, whyUnread } from '#kit/run/named-file.ts'
import { createAccounts, createClosing, isLive, type Postman, type Session } from '../core/access/accounts.ts'
import { createPeople, type People } from '../core/access/people.ts'
import { createRemoteness, type OriginOf } from '../core/access/remoteness.ts'
import type { Outcome } from '../core/audit.ts'
import { createAv, type PerformAv } from '../core/av/av.ts'
import { createPlaying } from '../core/av/playing.ts'
import { type Command, createCommand, createDispatcher, type Dispatcher } from '../core/control/command.ts'
import { createScopes, type Gates, type KnownVerb } from '../core/control/gates.ts'
import type { Target } from '../core/control/reading.ts'
import { answerData, type DataWorld } from '../core/data/answer-data.ts'
import { createAnswerRoom, createDataTurns } from '../core/data/turns.ts'
import { createBlocks, createReady, createViews, registryFace } from '../core/data/views.ts'
import { Drivers } from '../core/drivers/host.ts'
import type { LaneView } from '../core/drivers/lane.ts'
import { Traffic } from '../core/drivers/traffic.ts'
import type { Json } from '../core/json.ts'
import { limitsOf, macroLimitsOf } from '../core/keys.ts'
import type { History } from '../core/live/history.ts'
import type { LiveState } from '../core/live/live-book.ts'
import { createLive, type LiveValues, textOf } from '../core/live/live-values.ts'
import { createSights } from '../core/live/sight.ts'
import {
  createMacroCall,
  createMacroCancel,
  MacroEngine,
  type RunMacro,
  tellInterrupted,
} from '../core/macros/engine.ts'
import { createNotices } from '../core/macros/notices.ts'
import { attributeRow, readAttribute, secretsOf } from '../core/macros/perform.ts'
import { createMacroBook, type MacroBook } from '../core/macros/plan.ts'
import type { MacroPorts, RunKeeper } from '../core/macros/ports.ts'
import type { Row } from '../core/site/book.ts'
import { settingOf, tableOf } from '../core/site/registry.ts'
import type { Rules } from '../core/surfaces.ts'
import type { AuditFile } from '../io/audit-file.ts'
import type { SiteStore } from '../io/database.ts'
import { createDriverWorld } from '../io/driver-world.ts'
import {
  addresses,
  createPasswordCheck,
  hashPassword,
  machineSecrets,
  networksOf,
  openMailer,
  type SmtpSettings,
} from '../io/people.ts'
import { type AttributeChanges, type Automation, createAttributeChanges, openAutomation } from './automation.ts'
import { reportDevices, reportDuress, reportMail, reportRun } from './conditions.ts'
import { type Changed, createChanged, type House, openHistory } from './house.ts'

// People: passwords, mail, sessions, and the origin of calls.

type OpenPeople = Pick<Brought, 'people' | 'originOf' | 'postman'>

async function openPeople({ context, records, site }: House): Promise<OpenPeople> {
  const { clock, config, log, parts, stateFolder: folder } = context
  const { first_ms: firstMs, max_ms: maxMs, ...letters } = config.letters
  const limits = { ...limitsOf(letters), again: { firstMs, maxMs } }
  const postman = openMailer({ clock, log, smtp: smtpOf(config.smtp), limits })
  parts.add({ name: 'mail', start: () => {}, stop: () => postman.close() })
  const { passwordWorkers: workers, passwordQueue: queue, ...own } = limitsOf(config.people)
  const { lateAnswers: places, homes: mostHomes, ...bounds } = own
  const homes = await openHomes({ folder, clock, log, most: mostHomes })
  const limiter = createSignInLimiter({
    ...{ clock, homes },
    bounds: { ...bounds, workers, queue, table: bounds.triesTable, places },
  })
  const people = createPeople({
    ...{ book: site.book, keeper: site.keeper, clock, postman, limiter },
    secrets: machineSecrets,
    passwords: createPasswordCheck(log),
    settings: () => settingOf(site.book),
    undelivered({ userId, username, clientIp: from }, error) {
      const { code, message } = faultOf(error, 'mail_failed', 'no mail')
      records.journal.record({
        ...{ who: 'plantroom', from, what: 'a code could not be mailed', target: `user ${userId} ${username}` },
        ...{ detail: { code }, kind: 'sign-in' },
      })
      reportMail(records.ledger, message)
    },
    homeOf: ({ address, account }) => {
      const network = networkOf(address)
      return homes.has(network, account) ? network : undefined
    },
    pinEvent(event, { username: target, clientIp: from }) {
      const what = event === 'duress' ? 'duress PIN used' : 'PIN rests after wrong ones'
      records.journal.record({ who: 'plantroom', from, what, target, kind: 'sign-in' })
      log.warning(event === 'duress' ? 'duress_pin' : 'pin_rests', { user: target, from })
      if (event === 'duress') reportDuress(records.ledger, target, from)
    },
    hashPassword: (password) => hashPassword(password),
    waitingOf: site.waitingOf,
    limits: bounds,
  })
  const originOf = createRemoteness({
    addresses,
    trustedProxies: networksOf('http.trusted_proxies', config.http.trusted_proxies),
    localNetworks: networksOf('http.local_networks', config.http.local_networks),
    hops: config.http.forwarded_hops,
    tunnel: config.tunnel,
  })
  return { people, originOf, postman }
}

/**
 * @throws Fault `mail_sender_missing`, `mail_password_unreadable`, `ca_file_unreadable` at the start, not at the first
 * letter
 */
function smtpOf(table: House['context']['config']['smtp']): SmtpSettings | undefined {
  const { host, port, tls, from, username, timeout_ms: timeoutMs, password_file: file, ca_file: caFile } = table
  if (host === '') return undefined
  if (from === '')
    throw new Fault(
      'mail_sender_missing',
      'smtp.host is set and smtp.from is not: say who mail comes from, such as house@example.org',
    )
  const password = file === '' ? '' : passwordOf(file)
  const ca = caFile === '' ? undefined : trustedAuthorities('smtp.ca_file', caFile)
  return { host, port, tls, from, username, password, timeoutMs, ...(ca && { ca }) }
}

function passwordOf(file: string): string {
  try {
    return readNamed(file).toString('utf8').trim()
  } catch (cause) {
    throw new Fault('mail_password_unreadable', `smtp.password_file ${file} cannot be read (${whyUnread(cause)})`, {
      cause,
    })
  }
}

// Ports of macros: commands, attributes, live values, and the storage of runs.

/** What the macros of a building act through. */
interface MacroNeeds {
  dispatcher: Dispatcher
  live: LiveState
  values: LiveValues
  changed: Changed
  postman: Postman
  /** Told of attributes that macros set. */
  attributes: AttributeChanges
}

/** Who a macro without elevation is run by, where the building runs it. */
const BUILDING: Session = {
  ...{ userId: 0, username: '', roles: [], uis: [], surface: 'api' },
  ...{ isElevated: false, mustChangePassword: false, may: () => true },
}

function macroPorts(house: House, { dispatcher, live, values, changed, postman, attributes }: MacroNeeds): MacroPorts {
  const { context, records, site } = house
  const { clock, log } = context
  const accounts = createAccounts(site.book)
  const isClosing = createClosing(site.book, clock, site.waitingOf)

  /** @throws Fault `macro_target` if it does not exist or is ambiguous */
  function targetOf(named: Readonly<Record<string, unknown>>): Target {
    const resolved = dispatcher.resolve(named)
    if ('fault' in resolved) throw new Fault('macro_target', resolved.sentence)
    return resolved.target
  }

  return {
    clock,
    chance: Math.random,
    refusal(session, named, verb) {
      const resolved = dispatcher.resolve(named)
      // A caller who may not learn which targets exist must not learn that this one does not.
      if ('fault' in resolved) return 'scope_denied'
      if (session !== null) return dispatcher.checkTarget({ session, by: 'macro' }, resolved.target, verb)
      const reason = dispatcher.checkTarget({ session: BUILDING, by: 'macro' }, resolved.target, verb)
      // The building has no UIs, and all of its zones.
      return reason === 'scope_denied' ? undefined : reason
    },
    sessionNow({ userId, surface }) {
      const user = accounts.withId(userId)
      const isOver = user === undefined || !isLive(user, clock.epochMs()) || isClosing(userId)
      return isOver ? null : accounts.sessionOf(user, surface)
    },
    dispatch: ({ target, verb, args, caller }) =>
      dispatcher.dispatch(targetOf(target), verb, args, caller === null ? undefined : { session: caller, by: 'macro' }),
    attributes: attributesOf(house, { values, changed, attributes }),
    live: {
      read(named, field) {
        const resolved = dispatcher.resolve(named)
        if ('fault' in resolved) return undefined
        return liveField(live, values, resolved.target, field)
      },
      onChange: (listener) => live.onChange(() => listener()),
    },
    notify: createNotices({
      ...{ book: site.book, clock, postman, limits: limitsOf(context.config.macros) },
      record({ text, to, macroId, runId, userId }) {
        records.journal.record({
          ...{ who: 'plantroom', from: 'macro', what: 'notice of a macro', target: `macro ${macroId}` },
          detail: { text, runId, userId, ...(to.length === 0 ? {} : { to }) },
        })
        // The text may contain data from the caller: it goes to the recipient, not into the log.
        log.notice('macro_notice', { macro: macroId, run: runId })
      },
      undelivered: ({ to, macroId, runId }, { code }) =>
        records.journal.record({
          ...{ who: 'plantroom', from: 'macro', what: 'a notice could not be mailed', target: `macro ${macroId}` },
          detail: { to, runId, code },
        }),
    }),
    keeper: runKeeper(house),
    secrets: secretsOf(site.book),
  }
}

/** Stores runs as rows of macro_run. */
function runKeeper({ context, records, site }: House): RunKeeper {
  const { book, keeper } = site
  return {
    begin: async (run) => (await keeper.add('macro_run', run)).id,
    async end(id, end) {
      reportRun(records.ledger, book, id, end.result)
      try {
        await keeper.change('macro_run', id, { ...end, trace: end.trace as unknown as Json })
      } catch (fault) {
        context.log.error('macro_run_not_kept', { run: id, fault })
      }
    },
    unended: async () => book.rows('macro_run').flatMap(({ id, ended_at }) => (ended_at === null ? [id] : [])),
  }
}

/** @returns a function that sets the value of an attribute for the building itself; durable when its promise resolves */
function createAttributeSetter({ site }: House, values: LiveValues, changed: Changed): AttributeSetter {
  const { book, keeper } = site
  return async (row, value) => {
    values.set(row, value)
    const { previous_value = null, changed_at = null } = book.row('attribute', row.id) ?? row
    const kept = keeper.change('attribute', row.id, { value: textOf(value), previous_value, changed_at })
    changed.tell()
    await kept
  }
}

type AttributeSetter = (row: Row, value: Json) => Promise<void>

function attributesOf(
  house: House,
  { values, changed, attributes }: Pick<MacroNeeds, 'values' | 'changed' | 'attributes'>,
): MacroPorts['attributes'] {
  const { book } = house.site
  const setRow = createAttributeSetter(house, values, changed)
  return {
    read: (ref) => readAttribute(book, ref),
    async set(ref, value, chain) {
      const row = attributeRow(book, ref)
      if (row === undefined) throw new Fault('macro_not_there', `there is no attribute ${ref.name} there`)
      await attributes.within(chain, () => setRow(row, value))
    },
    onChange: (listener) => changed.onChange(listener),
  }
}

export function liveField(live: LiveState, values: LiveValues, { zone, device }: Target, field: string): Json {
  if (zone) {
    const { values: now } = values.zoneNow(zone.id)
    return Object.hasOwn(now, field) ? (now[field] ?? null) : null
  }
  const { state, ipAddress, lastSeenAt, error } = live.device(device?.id ?? 0)
  const facts = new Map<string, Json>(Object.entries({ state, ip_address: ipAddress, last_seen: lastSeenAt, error }))
  return facts.get(field) ?? live.value('device', device?.id ?? 0, field) ?? null
}

// Control: live state, drivers, the dispatcher between them, and the macro engine.

/** What the rest of the daemon uses of it. */
interface Control extends Pick<Drivers, 'still' | 'reopen' | 'webhookOf'> {
  live: LiveState
  gates: Gates
  values: LiveValues
  history: History
  command: Command
  runMacro: RunMacro
  cancel(session: Session, body: unknown): Outcome
  engine: Pick<MacroEngine, 'living' | 'hold'>
  traffic: Traffic
  laneOf(deviceId: number): LaneView | undefined
  knownVerbs(target: Target): KnownVerb[]
  /** Zones that a session may see and command, as the pages show them. */
  scope(session: Session): ReadonlySet<number> | 'all'
  automation: Automation
  /** Call this when rows of the site have changed: drivers, schedules and triggers follow. */
  refresh(): void
}

/** How often it is said that values of attributes are left out. */
const FULL_LOG_MS = 60_000

function openControl(house: House, changed: Changed, postman: Postman): Control {
  const { context, site } = house
  const { clock, config, log, parts } = context
  const full = createLogGate(clock, FULL_LOG_MS, (count) => log.warning('attributes_full', { values: count }))
  const { live, values } = createLive({
    ...{ book: site.book, clock, limits: limitsOf(config.live) },
    put: (attribute) => site.touch('attribute', attribute),
    leftOut: () => full.note({}),
  })
  const history = openHistory(house, values)
  reportDevices(house.records.ledger, live, site.book)
  const traffic = new Traffic(clock, limitsOf(config.traffic))
  const drivers = openDrivers(house, live, traffic)
  const limits = limitsOf(config.drivers)
  const av = openAv(house, drivers, { live, values })
  const dispatcher = createDispatcher({ book: site.book, host: drivers, limits, av })
  const attributes = createAttributeChanges(values)
  const { engine, book, runMacro } = openMacros(house, { dispatcher, live, values, changed, postman, attributes })
  parts.add({
    name: 'devices',
    start: () => drivers.refresh(),
    stop: () => drivers.close(),
    stopDeadlineMs: limits.closeMs + limits.graceMs + 1000,
  })
  parts.add({
    name: 'macros',
    start: async () => void (await tellInterrupted(runKeeper(house), clock.epochMs())),
    stop: () => engine.stop(),
  })
  const automation = openAutomation(house, { book, engine, live, attributes })
  const refresh = () => {
    drivers.refresh()
    values.renew()
    automation.refresh()
  }
  const command = createCommand({
    dispatcher,
    runMacro: (session, { macro_id }, args) => runMacro(session, { macro_id, args }),
  })
  const { gates } = dispatcher
  const macros = { runMacro, cancel: createMacroCancel(engine), engine, automation }
  return {
    ...{ live, gates, values, history, traffic, command, ...macros, scope: scopesOf(house), refresh },
    laneOf: (deviceId) => drivers.view(deviceId),
    still: (zone, signal) => drivers.still(zone, signal),
    reopen: (deviceId) => drivers.reopen(deviceId),
    webhookOf: (deviceId) => drivers.webhookOf(deviceId),
    knownVerbs: (target) => gates.verbs.known(target, target.device && drivers.verbsOf(target.device)),
  }
}

function openDrivers({ context, drivers, site }: House, live: LiveState, traffic: Traffic): Drivers {
  const { clock, config, log } = context
  const limits = limitsOf(config.drivers)
  const world = createDriverWorld({ clock, log, chance: Math.random, limits, traffic })
  return new Drivers({ book: site.book, live, world, drivers, limits })
}

function openAv(
  { context, site }: House,
  host: Drivers,
  { live, values }: Pick<Control, 'live' | 'values'>,
): PerformAv {
  const { book } = site
  const secureOf = (zoneId: number) => values.zoneNow(zoneId).secure
  const isSet = (zoneId: number, name: string) => values.isSet(zoneId, name)
  const playing = createPlaying({ book, live, secureOf, isSet, put: (av) => site.touch('av_zone', av) })
  return createAv({ book, host, clock: context.clock, ...playing })
}

interface OpenMacros {
  engine: MacroEngine
  book: MacroBook
  runMacro: RunMacro
}

function openMacros(house: House, needs: MacroNeeds): OpenMacros {
  const { context, site } = house
  const limits = macroLimitsOf(context.config.macros)
  const ports: MacroPorts = macroPorts(house, needs)
  const book = createMacroBook(site.book, limits)
  const engine = new MacroEngine({ book, ports, limits, userRuns: context.config.macros.user_runs })
  return { engine, book, runMacro: createMacroCall({ book, engine, clock: context.clock, limits }) }
}

function scopesOf({ site }: House): (session: Session) => ReadonlySet<number> | 'all' {
  const scopeOf = createScopes(site.book)
  return (session) => {
    if (session.isElevated) return 'all'
    const scope = scopeOf(session)
    if (scope === 'open') return 'all'
    return new Set(site.book.rows('zone').flatMap(({ id }) => (scope.has(id) ? [id] : [])))
  }
}

// Data: the registry as queries see it, and tables that are not in memory.

function openData(
  { context, audit, site }: House,
  { live, values, history }: Pick<Control, 'live' | 'values' | 'history'>,
): DataWorld {
  const schema = registryFace()
  const ready = createReady(context.config.data.ready_bytes)
  const views = createViews(schema, ready)
  const sights = createSights({ book: site.book, views, attributes: schema.table('attribute') })
  return {
    book: site.book,
    live,
    values,
    schema,
    views,
    sightOf: (session) => (settingOf(site.book).reads_scoped_to_uis ? sights(session) : undefined),
    blocks: createBlocks(ready),
    history: historyOf(audit, site, history),
    limits: limitsOf(context.config.data),
    room: createAnswerRoom(context.config.data.making_bytes),
    turns: createDataTurns({
      nowMs: () => context.clock.monotonicMs(),
      onceAround: (run) => void setImmediate(run),
      limits: limitsOf(context.config.data),
    }),
  }
}

/** The audit is read in pieces; the store's internal tables are small and read whole. */
function historyOf(audit: AuditFile, site: SiteStore, history: History): DataWorld['history'] {
  return {
    pieces(table, isNewestFirst) {
      if (tableOf(table)?.isOnDisk) return valuesKept(site, history, isNewestFirst)
      return tableOf(table)?.keeping === 'audit' ? audit.pieces(isNewestFirst) : inner(site, table, isNewestFirst)
    },
  }
}

/** Values of attributes on the disk, and those that wait to be written. */
async function* valuesKept(site: SiteStore, history: History, isNewestFirst: boolean): AsyncIterable<readonly Row[]> {
  const waiting = history.waiting().map(({ id, attributeId, value, at }) => ({
    ...{ id, created_at: at, updated_at: at, attribute_id: attributeId, value, at },
  }))
  const first = waiting[0]?.id ?? Number.MAX_SAFE_INTEGER
  if (isNewestFirst) yield waiting.toReversed()
  // What was waiting may have been written since.
  for await (const rows of site.history.pieces(isNewestFirst)) yield rows.filter(({ id }) => id < first)
  if (!isNewestFirst) yield waiting
}

async function* inner(site: SiteStore, table: string, isNewestFirst: boolean): AsyncIterable<readonly Row[]> {
  const rows = site.innerRows(table)
  yield isNewestFirst ? rows.toReversed() : rows
}

// The rules.

/** The rules and their parts, for the rest of the daemon. */
export interface Brought {
  rules: Rules
  /** The switch of the REST surface, as it is at this start. @source document 1, What the service does */
  isRestEnabled: boolean
  people: People
  originOf: OriginOf
  /** For letters to people, and alarms. */
  postman: Postman
  control: Control
  live: LiveState
  values: LiveValues
  changed: Changed
  /** The tables as queries see them, and what callers see of their rows. */
  data: Pick<DataWorld, 'schema' | 'views'>
  setAttribute: AttributeSetter
}

export async function openRules(house: House): Promise<Brought> {
  const changed = createChanged()
  const { people, originOf, postman } = await openPeople(house)
  const control = openControl(house, changed, postman)
  const data = openData(house, control)
  const rules: Rules = {
    origin: originOf,
    signIn: people.signIn,
    resolve: people.resolve,
    logout: people.logout,
    me: people.me,
    handoff: people.handoff,
    command: control.command,
    runMacro: control.runMacro,
    answerData: (session, entity, rawQuery) => answerData(data, session, entity, rawQuery),
  }
  const isRestEnabled = settingOf(house.site.book).rest_api_enabled
  const { live, values } = control
  const setAttribute = createAttributeSetter(house, values, changed)
  const sides = { people, originOf, postman, control, live, values, changed, data, setAttribute }
  return { rules, isRestEnabled, ...sides }
}
