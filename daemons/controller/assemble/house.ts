/** What the parts of the controller share during assembly: the open stores, drivers, imports, the heap. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { Clock } from '#kit/clock.ts'
import { createDefinitionLibrary, type DefinitionLibrary, digestOf, loadDefinition } from '#kit/device/load.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Records } from '#kit/records/records.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import { makeFolder, replaceFile } from '#kit/store/store.ts'
import type { ControllerConfig } from '../config.ts'
import { parseRoleRules } from '../core/access/accounts.ts'
import type { DefinitionFiles } from '../core/drivers/definitions.ts'
import type { Driver } from '../core/drivers/driver.ts'
import { createDrivers } from '../core/drivers/list.ts'
import { limitsOf } from '../core/keys.ts'
import { createHistory, type History } from '../core/live/history.ts'
import { type LiveValues, textOf } from '../core/live/live-values.ts'
import type { Book } from '../core/site/book.ts'
import { notDriven } from '../core/site/not-driven.ts'
import type { AuditFile } from '../io/audit-file.ts'
import type { SiteStore } from '../io/database.ts'
import { hashPassword } from '../io/people.ts'
import type { ImportParts } from '../io/site-import.ts'

/** What exists before the rules. */
export interface House {
  context: AssembleContext<ControllerConfig>
  drivers: readonly Driver[]
  definitions: DefinitionLibrary
  audit: AuditFile
  records: Records
  site: SiteStore
}

/** Notifies listeners when the daemon itself has changed rows, so that waiting code reads them again. */
export interface Changed {
  tell(): void
  /** @returns ends the subscription */
  onChange(listener: () => void): () => void
}

export function createChanged(): Changed {
  const listeners = new Set<() => void>()
  return {
    tell() {
      for (const listener of [...listeners]) listener()
    },
    onChange(listener) {
      const own = () => listener()
      listeners.add(own)
      return () => void listeners.delete(own)
    },
  }
}

// Drivers, and rows of a site that have no effect with them.

/** Rows named in one log line; the page and an import list all. */
const MOST_LOGGED = 5

/** The owner's device definitions stand below the state folder, and go before those of the package. */
const OWN_DEFINITIONS = 'definitions'

/** The device definitions of this machine: its own, and those of the package. */
export function definitionsOf(stateFolder: string, { drivers }: Pick<ControllerConfig, 'drivers'>): DefinitionLibrary {
  const folders = [join(stateFolder, OWN_DEFINITIONS), join(import.meta.dirname, 'templates/devices')]
  return createDefinitionLibrary(folders, drivers.definition_bytes)
}

export function driversOf(definitions: DefinitionLibrary): Driver[] {
  return createDrivers({ ...definitions, digest: digestOf })
}

/** What the editor of definitions reads and keeps. */
export function definitionFiles({ context: { stateFolder }, definitions }: House): DefinitionFiles {
  const folder = join(stateFolder, OWN_DEFINITIONS)
  const fileOf = (name: string) => join(folder, `${name}.json`)
  const onDisk = async (work: () => Promise<void>) => {
    try {
      await makeFolder(folder)
      await work()
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      throw new Fault('definition_not_kept', `${folder} cannot be written (${code}).`, { cause })
    }
  }
  return {
    ...definitions,
    load: (text) => loadDefinition(new TextEncoder().encode(text)),
    write: (name, text) => onDisk(() => replaceFile(fileOf(name), text)),
    remove: (name) => onDisk(() => rm(fileOf(name), { force: true })),
  }
}

/** Logs one line, if there are any. */
export function logNotDriven(book: Book, drivers: readonly Driver[], log: Log): void {
  const found = notDriven((table) => book.rows(table), drivers)
  if (found.length === 0) return
  const rows = found.slice(0, MOST_LOGGED).map(({ row, why }) => `${row}: ${why}`)
  log.notice('not_driven', { count: found.length, first: rows.join('; ') })
}

// Imports of site files, at the daemon's start and on the command line.

export function importParts(config: Pick<ControllerConfig, 'site' | 'store'>, clock: Clock): ImportParts {
  return { clock, limits: limitsOf(config.site), store: limitsOf(config.store), hashPassword, ruleFault }
}

/** Checks a single line; the check of the file adds the line number. */
function ruleFault(line: string): string | undefined {
  return parseRoleRules(line).faults[0]?.replace(/^line 1: /, '')
}

// The heap: how far it may grow between full garbage collections, once the daemon has started.

/**
 * With enough memory, V8 lets a heap grow to more than twice its live size: a building that reports thousands of values
 * a second then accumulates a hundred MB of garbage. The start runs better without a limit, since all it allocates
 * stays alive. V8 reads this flag only at each full collection (docs/decisions/idle-memory-and-speed.md).
 * @param percent growth relative to the live heap after the last collection
 */
export function boundHeapGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}

/** Keeps what devices say. Stops after the drivers: what they say last is written. */
export function openHistory({ context, site }: House, values: LiveValues): History {
  const { clock, config, log, parts } = context
  const history = createHistory({
    ...{ clock, store: site.history, limits: limitsOf(config.history) },
    onFault: (fault) => log.error('history_not_written', { fault }),
  })
  values.onChange(({ attributeId, target, targetId, value, at }) => {
    if (attributeId === undefined) return
    const device = target === 'zone' && targetId !== null ? site.book.row('zone', targetId)?.device_id : undefined
    const source = typeof device === 'number' ? `device ${device}` : `${target} ${targetId}`
    history.add({ attributeId, value: textOf(value), at, source })
  })
  parts.add({ name: 'history', start: () => {}, stop: () => history.close() })
  return history
}
