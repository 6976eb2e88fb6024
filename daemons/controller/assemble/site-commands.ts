/** `plantroom controller import`, `export` and `simulate`: the site as a file, and macros without a building. */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { writeWhole } from '#kit/run/caller-files.ts'
import type { CommandCall, DaemonCommand } from '#kit/run/daemon-command.ts'
import { exitCodes } from '#kit/run/exit-codes.ts'
import { lockState, type StateLock } from '#kit/run/state-lock.ts'
import { makeFolder } from '#kit/store/whole-file.ts'
import type { ControllerConfig } from '../config.ts'
import { isWithoutAccounts } from '../core/first-account.ts'
import { limitsOf } from '../core/limit.ts'
import { exportSite } from '../core/site/export-site.ts'
import type { NotDriven } from '../core/site/not-driven.ts'
import { openSiteStore, type SiteStore } from '../io/database.ts'
import { hasDatabase } from '../io/database-file.ts'
import { type ImportParts, importFirstSite, importInto, readSiteFile } from '../io/site-import.ts'
import { notDrivenIn } from './drivers.ts'
import { importParts } from './import-parts.ts'
import { simulateMacro } from './simulate-macro.ts'

type Call = CommandCall<ControllerConfig>

/** Faults of what was handed in, by which nothing was changed. */
export const refusals: readonly string[] = [
  'site_unreadable',
  'site_too_large',
  'site_not_json',
  'site_faults',
  'no_site',
  'nobody_to_apply',
  'unknown_macro',
  'macro_args',
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
]

async function importFile({ config, stateFolder, words, options, out }: Call): Promise<number> {
  let left: NotDriven[] = []
  const parts: ImportParts = {
    ...importParts(config, systemClock),
    onChecked(site) {
      left = notDrivenIn((table) => site.get(table)?.values() ?? [])
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

/** What waits is applied on the page, by somebody who signs in. @throws Fault `nobody_to_apply` */
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

/** Rows of which an import tells one by one. */
const MOST_TOLD = 200

/** What is kept and has no effect yet, a line each; nothing where all of it has. */
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

/** Undefined where a controller runs on a site; while one makes its first it is in the way. @throws Fault `state_locked` */
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

/** Opens the site that is there. @throws Fault `no_site`, and as `openSiteStore` */
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
