/** The commands on a controller's state: import, export, simulate, replay, passwords. */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Clock, systemClock } from '#kit/clock.ts'
import { loadConfig } from '#kit/config/load.ts'
import { Fault } from '#kit/pure/fault.ts'
import { configFileOf, exitCodes } from '#kit/run/arguments.ts'
import type { KeptAccounts } from '#kit/run/daemon.ts'
import type { CommandCall, DaemonCommand } from '#kit/run/daemon-command.ts'
import { lockState, type StateLock, writeWhole } from '#kit/run/state-folder.ts'
import { makeFolder } from '#kit/store/store.ts'
import { type ControllerConfig, config as schema } from '../config.ts'
import { firstAccount, isWithoutAccounts, UNNAMED_SITE } from '../core/access/people.ts'
import { resolveTarget } from '../core/control/reading.ts'
import { isObject, type Json } from '../core/json.ts'
import { limitsOf } from '../core/keys.ts'
import { readAttribute, secretsOf } from '../core/macros/perform.ts'
import { createMacroBook, type MacroBook } from '../core/macros/plan.ts'
import { readTrace, replay } from '../core/macros/replay.ts'
import { type Sent, type Simulation, simulate } from '../core/macros/simulate.ts'
import { type MacroArgs, type MacroLimits, makeArgs } from '../core/macros/values.ts'
import type { Book, Row } from '../core/site/book.ts'
import type { Change } from '../core/site/changes.ts'
import { type NotDriven, notDriven } from '../core/site/not-driven.ts'
import { exportSite } from '../core/site/site-file.ts'
import { openSiteStore, type SiteStore } from '../io/database.ts'
import { hasDatabase } from '../io/database-file.ts'
import { hashPassword } from '../io/people.ts'
import { type ImportParts, importFirstSite, importInto, readSiteFile } from '../io/site-import.ts'
import { definitionsOf, driversOf, importParts } from './house.ts'

// Simulates one macro of a site, and prints the result.

/** What to simulate. */
interface SimulationWish {
  /** Its name, or its id in digits. */
  macro: string
  /** An object as JSON text. */
  args: string
  waits: 'met' | 'expired'
}

/**
 * @returns the text to print, and whether the run would end as done
 * @throws Fault `unknown_macro`, `macro_args`, and those of `readPlan`
 */
export function simulateMacro(
  book: Book,
  { macro, args: text, waits }: SimulationWish,
  { limits, clock }: { limits: MacroLimits; clock: Clock },
): { text: string; isDone: boolean } {
  const macros = createMacroBook(book, limits)
  const plan = macros.plan(found(macros, macro))
  const simulation = simulate(plan, readArgs(text, limits), {
    book: macros,
    attributes: { read: (ref) => readAttribute(book, ref) },
    // There are no live values of devices here.
    live: { read: (target) => ('fault' in resolveTarget(book, target) ? undefined : null) },
    secrets: secretsOf(book),
    limits,
    seed: 1,
    startedAt: clock.epochMs(),
    waits,
  })
  return { text: linesOf(plan.name, simulation), isDone: simulation.state === 'done' }
}

function found(macros: MacroBook, said: string): Row {
  const row = macros.find({ name: said }) ?? (/^\d+$/.test(said) ? macros.find({ id: Number(said) }) : undefined)
  if (row === undefined) throw new Fault('unknown_macro', 'no macro has this name or id, or it is disabled')
  return row
}

function readArgs(text: string, { valueChars }: MacroLimits): MacroArgs {
  let args: Json
  try {
    args = JSON.parse(text) as Json
  } catch (cause) {
    throw new Fault('macro_args', '--args is not JSON, expected an object such as {"level": 40}', { cause })
  }
  if (!isObject(args)) throw new Fault('macro_args', '--args is not an object, expected one such as {"level": 40}')
  return makeArgs(Object.entries(args), valueChars)
}

function linesOf(name: string, { sent, trace }: Simulation): string {
  const { state, at, code, sentence } = trace.end
  const why = code === undefined ? '' : `: ${code}${sentence === undefined ? '' : `, ${sentence}`}`
  const head = sent.length === 0 ? `${name} would send nothing.` : `${name} would send:`
  return `${[head, ...sent.map((one) => lineOf(one, name)), `It would end after ${seconds(at)} as ${state}${why}.`].join('\n')}\n`
}

function lineOf({ at, macro, step, type, what }: Sent, name: string): string {
  const place = macro === name ? `step ${step}` : `${macro}, step ${step}`
  return `  ${seconds(at).padStart(10)}  ${place}: ${type} ${JSON.stringify(what)}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`
}

// Replays one run of a macro from its trace.

/**
 * @param said the id of its row in `macro_run`, in digits
 * @returns the text to print, and whether this version makes the same decision at every step
 * @throws Fault `macro_trace`, and those of `replay`
 */
function replayRun(book: Book, said: string): { text: string; isSame: boolean } {
  const row = /^\d+$/.test(said) ? book.row('macro_run', Number(said)) : undefined
  if (row === undefined) throw new Fault('macro_trace', 'no run of a macro is kept under this id')
  const trace = readTrace(row.trace)
  const { trace: again, deviatesAt } = replay(trace, secretsOf(book))
  const steps = trace.entries.length === 1 ? '1 step' : `${trace.entries.length} steps`
  if (deviatesAt === null) return { text: `Run ${said} goes as it went: ${steps}, ${trace.end.state}.\n`, isSame: true }
  const then = trace.entries[deviatesAt]
  const now = again.entries[deviatesAt]
  const place = then?.step ?? now?.step
  const head = `Run ${said} goes another way now, from ${place === undefined ? 'its end' : `step ${place}`} on.`
  const told = [`  then: ${JSON.stringify(then ?? trace.end)}`, `  now:  ${JSON.stringify(now ?? again.end)}`]
  return { text: `${[head, ...told].join('\n')}\n`, isSame: false }
}

// The commands `plantroom controller import`, `export`, `simulate` and `replay`.

type Call = CommandCall<ControllerConfig>

/** Faults in the input; nothing was changed. */
export const refusals: readonly string[] = [
  'site_unreadable',
  'site_too_large',
  'site_not_json',
  'site_faults',
  'no_site',
  'nobody_to_apply',
  'unknown_macro',
  'macro_args',
  'macro_trace',
  'mail_sender_missing',
  'mail_password_unreadable',
  'ca_file_unreadable',
]

export const siteCommands: readonly DaemonCommand<ControllerConfig>[] = [
  {
    name: 'import',
    form: 'FILE [--replace]',
    summary: 'take a site file in; a controller that runs keeps it for Apply All',
    help: `Checks FILE whole, and tells all of its faults with their places. Where there is no site yet it becomes the first one.
Where there is one it adds and changes; a controller that runs shows the changes as pending, until somebody applies them.
  --replace          a table that FILE names becomes what FILE says of it: rows that it leaves out are removed
`,
    words: [1, 1],
    files: { reads: 0, makesState: true },
    options: { replace: { type: 'boolean' } },
    run: importFile,
  },
  {
    name: 'export',
    form: '[FILE] [--secrets]',
    summary: 'write the site as a file that import takes; without FILE it is printed',
    help: `Writes the site as one JSON document, while the controller runs or not. FILE is replaced whole, and its owner alone reads
it: hashes of passwords stand in it.
  --secrets          with every secret, as a new machine needs it: passwords of devices and services; keep it like a key
`,
    words: [0, 1],
    files: { writes: 0, makesState: false },
    options: { secrets: { type: 'boolean' } },
    run: exportFile,
  },
  {
    name: 'simulate',
    form: 'MACRO [--args JSON] [--late]',
    summary: 'tell what a macro would send, and send nothing',
    help: `Runs MACRO, a name or an id, in no time at all, and prints what it would send and when. Attributes are those of the site;
what zones and devices do is not known to it, and null. Waits that do not hold at once are met.
  --args JSON        an object: what the macro is called with
  --late             waits that do not hold at once run out of time
It ends with 1 where the run would fail.
`,
    words: [1, 1],
    files: { makesState: false },
    options: { args: { type: 'string' }, late: { type: 'boolean' } },
    run: simulateOne,
  },
  {
    name: 'replay',
    form: 'RUN',
    summary: 'tell whether a run of a macro would go the same way now, and send nothing',
    help: `Runs RUN, the id of a row of macro_run, again from its trace: with the steps, arguments and answers of then. It tells the
first step that this version decides in another way.
It ends with 1 where there is one.
`,
    words: [1, 1],
    files: { makesState: false },
    options: {},
    run: replayOne,
  },
]

async function importFile({ config, stateFolder, words, options, out }: Call): Promise<number> {
  let left: NotDriven[] = []
  const parts: ImportParts = {
    ...importParts(config, systemClock),
    onChecked(site) {
      left = notDriven((table) => site.get(table)?.values() ?? [], driversOf(definitionsOf(stateFolder, config)))
    },
  }
  const file = resolve(words[0] ?? '')
  const bytes = await readSiteFile(file, parts.limits)
  await makeFolder(stateFolder)
  const lock = lockUnlessRunning(stateFolder)
  try {
    if (!hasDatabase(stateFolder)) {
      const rows = await importFirstSite(stateFolder, bytes, parts)
      out(`The ${rows} rows of ${file} are the site in ${stateFolder}.\n${notDrivenWords(left)}`)
      return exitCodes.fine
    }
    const becomes = lock === undefined ? 'pending' : 'now'
    const mode = options.has('replace') ? 'replace' : 'merge'
    const count = await withStore({ config, stateFolder }, (store) => {
      if (becomes === 'pending') refuseWithoutAccounts(store)
      return importInto(store, bytes, parts, { mode, becomes, author: 'command line' })
    })
    out(`${importWords(count, becomes)}\n${notDrivenWords(left)}`)
    return exitCodes.fine
  } finally {
    lock?.release()
  }
}

/** Pending changes are applied on the page, by somebody who can sign in. @throws Fault `nobody_to_apply` */
function refuseWithoutAccounts({ book }: SiteStore): void {
  if (isWithoutAccounts(book))
    throw new Fault(
      'nobody_to_apply',
      'The controller runs, and nobody can sign in to apply what waits: stop it, import again, and start it',
    )
}

function importWords(count: number, becomes: 'pending' | 'now'): string {
  if (count === 0) return 'The site is as the file says already: nothing was changed.'
  const changes = count === 1 ? '1 change' : `${count} changes`
  if (becomes === 'now') return `${changes} made.`
  return `The controller runs: ${changes} pending, until somebody applies them on its page.`
}

/** Most rows that an import lists one by one. */
const MOST_TOLD = 200

/** Lists rows that are stored but have no effect yet, one per line; empty if there are none. */
function notDrivenWords(left: readonly NotDriven[]): string {
  if (left.length === 0) return ''
  const lines = left.slice(0, MOST_TOLD).map(({ row, why }) => `  ${row}: ${why}`)
  const more = left.length > MOST_TOLD ? [`  and ${left.length - MOST_TOLD} more`] : []
  const head =
    left.length === 1
      ? 'Not driven: 1 entry is kept and has no effect yet.'
      : `Not driven: ${left.length} entries are kept and have no effect yet.`
  return `${[head, ...lines, ...more].join('\n')}\n`
}

/**
 * Undefined if a controller with a site is running; one that is still creating its first site is in the way. @throws
 * Fault `state_locked`
 */
function lockUnlessRunning(folder: string): StateLock | undefined {
  try {
    return lockState(folder)
  } catch (error) {
    if (error instanceof Fault && error.code === 'state_locked' && hasDatabase(folder)) return undefined
    throw error
  }
}

async function exportFile({ config, stateFolder, words, options, out }: Call): Promise<number> {
  const secrets = options.has('secrets') ? 'all' : 'people'
  const document = await withStore({ config, stateFolder }, async ({ book }) => exportSite(book, secrets))
  const text = `${JSON.stringify(document, null, 2)}\n`
  const [file] = words
  if (file === undefined) {
    out(text)
    return exitCodes.fine
  }
  const write = async (descriptor: number) => {
    writeFileSync(descriptor, text)
    return true
  }
  await writeWhole(resolve(file), write).catch((cause) => {
    throw new Fault('export_failed', `${resolve(file)} cannot be written (${cause.code})`, { cause })
  })
  const rows = Object.values(document).reduce(
    (sum: number, table) => sum + (Array.isArray(table) ? table.length : 0),
    0,
  )
  out(`${rows} rows are in ${resolve(file)}.\n`)
  return exitCodes.fine
}

async function simulateOne({ config, stateFolder, words, options, out }: Call): Promise<number> {
  const args = options.get('args') ?? '{}'
  const wish = { macro: words[0] ?? '', args: String(args), waits: options.has('late') ? 'expired' : 'met' } as const
  return await withStore({ config, stateFolder }, async ({ book }) => {
    const { text, isDone } = simulateMacro(book, wish, { limits: limitsOf(config.macros), clock: systemClock })
    out(text)
    return isDone ? exitCodes.fine : exitCodes.failed
  })
}

async function replayOne({ config, stateFolder, words, out }: Call): Promise<number> {
  return await withStore({ config, stateFolder }, async ({ book }) => {
    const { text, isSame } = replayRun(book, words[0] ?? '')
    out(text)
    return isSame ? exitCodes.fine : exitCodes.failed
  })
}

/** Opens the existing site. @throws Fault `no_site`, and those of `openSiteStore` */
async function withStore<Result>(
  { config, stateFolder }: Pick<Call, 'config' | 'stateFolder'>,
  use: (store: SiteStore) => Promise<Result>,
): Promise<Result> {
  if (!hasDatabase(stateFolder)) throw new Fault('no_site', `${stateFolder} has no site: import one first`)
  const store = openSiteStore(stateFolder, systemClock, limitsOf(config.store))
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

// The accounts of a stopped controller, for `plantroom password`.

/** @throws Fault as in `openDatabase`, `config_refused` */
export async function openAccounts(stateFolder: string): Promise<KeptAccounts> {
  const { value } = await loadConfig({ schema, file: configFileOf('controller'), mustExist: false, sets: [] })
  const { store: limits } = value as ControllerConfig
  const store = openSiteStore(stateFolder, systemClock, limitsOf(limits))
  return {
    usernames: store.book.rows('auth_user').map(({ username }) => String(username)),
    setPassword: async (username, password) =>
      store.applyNow(changesFor(store, username, { ...(await hashPassword(password)) })),
    close: () => store.close(),
  }
}

function changesFor({ book, nextId }: SiteStore, username: string, kept: { hash: string; salt: string }): Change[] {
  const table = 'auth_user'
  const nowMs = systemClock.epochMs()
  const user = book.rows(table).find((row) => row.username === username)
  if (user === undefined)
    return firstAccount({ username, ...kept, siteName: UNNAMED_SITE, timeZone: null }, { book, nowMs, nextId })
  return [{ kind: 'change', table, id: user.id, columns: { ...kept, updated_at: nowMs } }]
}
