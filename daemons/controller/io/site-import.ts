/** Imports site files into a state folder: as its first site, or as changes of the existing one. */
import { closeSync, existsSync, fstatSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { readBounded, whyUnread } from '#kit/run/named-file.ts'
import { openToRead } from '#kit/run/state-folder.ts'
import { makeFolder, syncFolder, systemDisk } from '#kit/store/store.ts'
import { createBook, type WritableBook } from '../core/site/book.ts'
import { bookRows, type Change, changesBetween, rowsAfter, type SiteRows } from '../core/site/changes.ts'
import { siteTables } from '../core/site/registry.ts'
import type { ImportMode } from '../core/site/rows.ts'
import { checkSite, type HashPassword } from '../core/site/site-file.ts'
import { createFaultList, readSiteText, type SiteLimits } from '../core/site/site-text.ts'
import type { RowsWish } from '../core/surfaces.ts'
import { openSiteStore, type SiteStore, type StoreLimits } from './database.ts'
import { DATABASE_FILE, hasDatabase } from './database-file.ts'

/** What every import needs. */
export interface ImportParts {
  clock: Clock
  limits: SiteLimits
  store: StoreLimits
  hashPassword: HashPassword
  /** Returns what is wrong with one line of role rules. */
  ruleFault?(line: string): string | undefined
  /** Called with the resulting site once the file has been found valid. */
  onChecked?(site: SiteRows): void
}

/** How a site file is applied to an existing site. */
interface ImportWish {
  mode: ImportMode
  /** `pending`: stored until Apply All. `now`: for a controller that is not running. */
  becomes: 'pending' | 'now'
  author: string
}

/** Name of a first database under construction. */
const MAKING = `${DATABASE_FILE}.new`

/** Suffixes of SQLite's files for a database. */
const BESIDE = ['', '-wal', '-shm', '-journal']

/**
 * Creates the first site of a state folder, all or nothing: however this ends, there is no database or a complete one.
 * @returns how many rows
 * @throws Fault `site_too_large`, `site_not_json`, `site_faults`, `site_exists`, `store_write_failed`
 */
export async function importFirstSite(folder: string, bytes: Uint8Array, parts: ImportParts): Promise<number> {
  if (hasDatabase(folder)) throw new Fault('site_exists', `${folder} has a site already`)
  const base = { book: createBook(), mode: 'replace', nowMs: parts.clock.epochMs(), nextId: () => 1 } as const
  const changes = await checkSite(readSiteText(bytes, parts.limits), { ...parts, ...base })
  parts.onChecked?.(rowsAfter(base.book, changes).rows)
  await makeFolder(folder)
  // Left by a crash: an incomplete first site, or the log of a database that somebody moved away, which SQLite would
  // read into the new one.
  await removeAll([MAKING, DATABASE_FILE].flatMap((name) => BESIDE.map((end) => join(folder, `${name}${end}`))))
  try {
    const store = openSiteStore(folder, parts.clock, parts.store, MAKING)
    try {
      await store.applyNow(changes)
    } finally {
      await store.close()
    }
    // Closing has merged the log into the file; only the file is renamed.
    if (existsSync(join(folder, `${MAKING}-wal`)))
      throw new Fault('store_write_failed', `${folder}: the log of the new database is still in use`)
    await rename(join(folder, MAKING), join(folder, DATABASE_FILE))
    await syncFolder(systemDisk, folder)
  } catch (error) {
    await removeAll(BESIDE.map((end) => join(folder, `${MAKING}${end}`)))
    throw error
  }
  return changes.length
}

/**
 * What `--import FILE` does at start: creates the first site, or logs that there is one. @throws as `importFirstSite`
 */
export async function importAtStart(folder: string, file: string, parts: ImportParts & { log: Log }): Promise<void> {
  if (hasDatabase(folder)) {
    parts.log.notice('site file not imported, there is a database', { file, folder })
    return
  }
  const rows = await importFirstSite(folder, await readSiteFile(file, parts.limits), parts)
  parts.log.notice('site file imported', { file, rows })
}

/**
 * Imports a site file into an existing site.
 * @returns how many changes it makes
 * @throws Fault as `importFirstSite`, `pending_waiting`
 */
export async function importInto(
  store: SiteStore,
  bytes: Uint8Array,
  parts: ImportParts,
  wish: ImportWish,
): Promise<number> {
  const { book, nextId } = store
  const waiting = new Map(store.pending.changes().map((change) => [`${change.table} ${change.id}`, change]))
  const waitingHash = (id: number) => hashOf(waiting.get(`auth_user ${id}`))
  const world = { ...parts, book, nextId, waitingHash, mode: wish.mode, nowMs: parts.clock.epochMs() }
  const changes = await checkSite(readSiteText(bytes, parts.limits), world)
  parts.onChecked?.(rowsAfter(book, changes).rows)
  if (changes.length === 0) return 0
  await (wish.becomes === 'now' ? store.applyNow(changes) : store.pending.stage(changes, wish.author))
  return changes.length
}

/**
 * Adds rows to the changes that wait for Apply All, and removals: checked as a site file is, on top of those changes.
 * @returns how many changes wait then
 * @throws Fault `site_faults`, `pending_changed`, `store_write_failed`
 */
export async function stageRows(
  store: SiteStore,
  { rows, remove }: RowsWish,
  parts: ImportParts,
  author: string,
): Promise<number> {
  const { lastId } = store.pending.mark()
  const waiting = store.pending.changes()
  const removals = Object.entries(remove).flatMap(([table, ids]) =>
    ids.map((id): Change => ({ kind: 'remove', table, id })),
  )
  const nowMs = parts.clock.epochMs()
  // Hashing passwords takes time, in which the site goes on: what changes meanwhile is no wish to change it back.
  const site = bookFrom(bookRows(store.book))
  const before = rowsAfter(site, waiting).rows
  refuseUnknown(removals, before)
  const base = bookFrom(before)
  for (const { table, id } of removals) base.remove(table, id)
  const nextId = (table: string) => Math.max(store.nextId(table), (base.rows(table).at(-1)?.id ?? 0) + 1)
  const hashes = new Map(waiting.map((change) => [`${change.table} ${change.id}`, hashOf(change)]))
  const waitingHash = (id: number) => hashes.get(`auth_user ${id}`)
  const changes = await checkSite(rows, { ...parts, book: base, nextId, waitingHash, mode: 'merge', nowMs })
  const all = changesBetween(site, rowsAfter(base, changes).rows, nowMs)
  await store.pending.restage(all, author, lastId)
  return all.length
}

function bookFrom(rows: SiteRows): WritableBook {
  const book = createBook()
  for (const [table, own] of rows) book.replace(table, [...own.values()])
  return book
}

/** @throws Fault `site_faults` */
function refuseUnknown(removals: readonly Change[], rows: SiteRows): void {
  const faults = createFaultList(removals.length)
  for (const { table, id } of removals) {
    const known = siteTables().some(({ name }) => name === table)
    if (!known) faults.add(`remove.${table}`, 'there is no such table')
    else if (!rows.get(table)?.has(id)) faults.add(`remove.${table}`, `there is no ${table} ${id}`)
  }
  faults.refuse()
}

function hashOf(change: Change | undefined): string | undefined {
  if (change === undefined || change.kind === 'remove') return undefined
  const { hash } = change.kind === 'add' ? change.row : change.columns
  return typeof hash === 'string' ? hash : undefined
}

/** Reads a site file, unless it is too large. @throws Fault `site_unreadable`, `site_too_large` */
export async function readSiteFile(file: string, limits: SiteLimits): Promise<Uint8Array> {
  try {
    const descriptor = openToRead(file)
    try {
      const { size } = fstatSync(descriptor)
      if (size > limits.bytes)
        throw new Fault('site_too_large', `${file} has ${size} bytes, at most ${limits.bytes} are taken`)
      return readBounded(descriptor, limits.bytes)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    if (error instanceof Fault) throw error
    const seen = whyUnread(error)
    const why = UNREADABLE.get(seen)
    const sentence = `${file} cannot be read${why === undefined ? '' : `: ${why}`} (${seen})`
    throw new Fault('site_unreadable', sentence, { cause: error })
  }
}

/** Why a file cannot be read, by the system's error code. */
const UNREADABLE: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EACCES', 'the user who runs this may not'],
  ['EISDIR', 'it is a folder'],
])

async function removeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true })
}
