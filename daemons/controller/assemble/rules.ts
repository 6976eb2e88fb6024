/** Combines the rules of document 1 from their parts: people, control, macros, data. */
import { readFileSync } from 'node:fs'
import { openHomes } from '#kit/auth/homes.ts'
import { createSignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { trustedAuthorities } from '#kit/net/target.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { createAccounts, createClosing, isLive, type Session } from '../core/access/accounts.ts'
import { createPeople, type People } from '../core/access/people.ts'
import { createRemoteness, type OriginOf } from '../core/access/remoteness.ts'
import { type Command, createCommand, createDispatcher, type Dispatcher } from '../core/control/command.ts'
import { createScopes } from '../core/control/gates.ts'
import type { Target } from '../core/control/reading.ts'
import { answerData, type DataWorld, type History } from '../core/data/answer-data.ts'
import { createAnswerRoom, createDataTurns } from '../core/data/turns.ts'
import { createBlocks, createReady, createViews, registryFace } from '../core/data/views.ts'
import { Drivers } from '../core/drivers/host.ts'
import { createDrivers } from '../core/drivers/list.ts'
import type { Json } from '../core/json.ts'
import { limitsOf } from '../core/keys.ts'
import type { LiveBook, LiveState } from '../core/live/live-book.ts'
import { createLive, type LiveValues, textOf } from '../core/live/live-values.ts'
import { createMacroCall, MacroEngine, type RunMacro, tellInterrupted } from '../core/macros/engine.ts'
import { attributeRow, readAttribute, secretsOf } from '../core/macros/perform.ts'
import { createMacroBook } from '../core/macros/plan.ts'
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
  machineSecrets,
  networksOf,
  openMailer,
  type SmtpSettings,
} from '../io/people.ts'
import { type Changed, createChanged, type House } from './house.ts'

// People: passwords, mail, sessions, and the origin of calls.

async function openPeople({ context, records, site }: House): Promise<{ people: People; originOf: OriginOf }> {
  const { clock, config, log, parts, stateFolder: folder } = context
  const { first_ms: firstMs, max_ms: maxMs, ...letters } = config.letters
  const limits = { ...limitsOf(letters), again: { firstMs, maxMs } }
  const postman = openMailer({ clock, log, smtp: smtpOf(config.smtp), limits })
  parts.add({ name: 'mail', start: () => {}, stop: () => postman.close() })
  const { passwordWorkers: workers, passwordQueue: queue, ...own } = limitsOf(config.people)
  const { triesTable: table, lateAnswers: places, homes: mostHomes, ...bounds } = own
  const limiter = createSignInLimiter({
    clock,
    homes: await openHomes({ folder, clock, log, most: mostHomes }),
    bounds: { ...bounds, workers, queue, table, places },
  })
  const people = createPeople({
    ...{ book: site.book, keeper: site.keeper, clock, postman, limiter },
    secrets: machineSecrets,
    passwords: createPasswordCheck(log),
    settings: () => settingOf(site.book),
    undelivered: ({ userId, username, clientIp: from }, error) =>
      records.journal.record({
        ...{ who: 'plantroom', from, what: 'a code could not be mailed', target: `user ${userId} ${username}` },
        ...{ detail: { code: faultOf(error, 'mail_failed', 'no mail').code }, kind: 'sign-in' },
      }),
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
  return { people, originOf }
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
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Fault('mail_password_unreadable', `smtp.password_file ${file} cannot be read (${code})`, { cause })
  }
}

// Ports of macros: commands, attributes, live values, and the storage of runs.

/** What the macros of a building act through. */
interface MacroNeeds {
  dispatcher: Dispatcher
  live: LiveState
  values: LiveValues
  changed: Changed
}

function macroPorts(house: House, { dispatcher, live, values, changed }: MacroNeeds): MacroPorts {
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
      return dispatcher.checkTarget({ session, by: 'macro' }, resolved.target, verb)
    },
    sessionNow({ userId }) {
      const user = accounts.withId(userId)
      const isOver = user === undefined || !isLive(user, clock.epochMs()) || isClosing(userId)
      return isOver ? null : accounts.sessionOf(user)
    },
    dispatch: ({ target, verb, args, caller }) =>
      dispatcher.dispatch(targetOf(target), verb, args, caller === null ? undefined : { session: caller, by: 'macro' }),
    attributes: attributesOf(house, values, changed),
    live: {
      read(named, field) {
        const resolved = dispatcher.resolve(named)
        if ('fault' in resolved) return undefined
        return liveField(live, resolved.target, field)
      },
      onChange: (listener) => live.onChange(() => listener()),
    },
    // Recipients and channels are not configurable yet; until then notifications go to the journal.
    async notify({ text, macroId, runId, userId }) {
      records.journal.record({
        ...{ who: 'plantroom', from: 'macro', what: 'notice of a macro', target: `macro ${macroId}` },
        detail: { text, runId, userId },
      })
      // The text may contain data from the caller: it goes to the recipient, not into the log.
      log.notice('macro_notice', { macro: macroId, run: runId })
    },
    keeper: runKeeper(house),
    secrets: secretsOf(site.book),
  }
}

/** Stores runs as rows of macro_run. */
function runKeeper({ context, site }: House): RunKeeper {
  const { book, keeper } = site
  return {
    begin: async (run) => (await keeper.add('macro_run', run)).id,
    async end(id, end) {
      try {
        await keeper.change('macro_run', id, { ...end, trace: end.trace as unknown as Json })
      } catch (fault) {
        context.log.error('macro_run_not_kept', { run: id, fault })
      }
    },
    unended: async () => book.rows('macro_run').flatMap(({ id, ended_at }) => (ended_at === null ? [id] : [])),
  }
}

function attributesOf({ site }: House, values: LiveValues, changed: Changed): MacroPorts['attributes'] {
  const { book, keeper } = site
  return {
    read: (ref) => readAttribute(book, ref),
    async set(ref, value) {
      const row = attributeRow(book, ref)
      if (row === undefined) throw new Fault('macro_not_there', `there is no attribute ${ref.name} there`)
      values.set(row, value)
      const { previous_value = null, changed_at = null } = book.row('attribute', row.id) ?? row
      const kept = keeper.change('attribute', row.id, { value: textOf(value), previous_value, changed_at })
      changed.tell()
      await kept
    },
    onChange: (listener) => changed.onChange(listener),
  }
}

function liveField(live: LiveState, { zone, device }: Target, field: string): Json {
  if (zone) {
    const values = live.zone(zone.id)
    return Object.hasOwn(values, field) ? (values[field] ?? null) : null
  }
  const { state, ipAddress, lastSeenAt, error } = live.device(device?.id ?? 0)
  const values = new Map<string, Json>(Object.entries({ state, ip_address: ipAddress, last_seen: lastSeenAt, error }))
  return values.get(field) ?? null
}

// Control: live state, drivers, the dispatcher between them, and the macro engine.

/** What the rest of the daemon uses of it. */
interface Control {
  live: LiveState
  values: LiveValues
  command: Command
  runMacro: RunMacro
  /** Zones that a session may see and command, as the pages show them. */
  scope(session: Session): ReadonlySet<number> | 'all'
  /** Call this when devices or zones of the site have changed: the drivers follow. */
  refresh(): void
}

function openControl(house: House, changed: Changed): Control {
  const { context, site } = house
  const { clock, config, parts } = context
  const { live, values } = createLive({
    ...{ book: site.book, clock, limits: limitsOf(config.live) },
    put: (attribute) => site.touch(attribute),
  })
  const drivers = openDrivers(house, live)
  const limits = limitsOf(config.drivers)
  const dispatcher = createDispatcher({ book: site.book, host: drivers, limits })
  const { engine, runMacro } = openMacros(house, { dispatcher, live, values, changed })
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
  const command = createCommand({
    dispatcher,
    runMacro: (session, { macro_id }, args) => runMacro(session, { macro_id, args }),
  })
  return { live, values, command, runMacro, scope: scopesOf(house), refresh: () => drivers.refresh() }
}

function openDrivers({ context, site }: House, live: LiveState): Drivers {
  const { clock, config, log } = context
  const limits = limitsOf(config.drivers)
  const world = createDriverWorld({ clock, log, chance: Math.random, limits })
  return new Drivers({ book: site.book, live, world, drivers: createDrivers(), limits })
}

function openMacros(house: House, needs: MacroNeeds): { engine: MacroEngine; runMacro: RunMacro } {
  const { context, site } = house
  const limits = limitsOf(context.config.macros)
  const ports: MacroPorts = macroPorts(house, needs)
  const book = createMacroBook(site.book, limits)
  const engine = new MacroEngine({ book, ports, limits })
  return { engine, runMacro: createMacroCall({ book, engine, clock: context.clock, limits }) }
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

function openData({ context, audit, site }: House, live: LiveBook): DataWorld {
  const schema = registryFace()
  const ready = createReady(context.config.data.ready_bytes)
  return {
    book: site.book,
    live,
    schema,
    views: createViews(schema, ready),
    blocks: createBlocks(ready),
    history: historyOf(audit, site),
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
function historyOf(audit: AuditFile, site: SiteStore): History {
  return {
    pieces: (table, isNewestFirst) =>
      tableOf(table)?.keeping === 'audit' ? audit.pieces(isNewestFirst) : inner(site, table, isNewestFirst),
  }
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
  control: Control
  live: LiveState
  values: LiveValues
  changed: Changed
}

export async function openRules(house: House): Promise<Brought> {
  const changed = createChanged()
  const { people, originOf } = await openPeople(house)
  const control = openControl(house, changed)
  const data = openData(house, control.live)
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
  return { rules, isRestEnabled, people, originOf, control, live: control.live, values: control.values, changed }
}
