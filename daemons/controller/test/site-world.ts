/** What tests check a site file against. */
import { createBook, type WritableBook } from '../core/site/book.ts'
import { type Change, rowsAfter } from '../core/site/changes.ts'
import { checkSite, type SiteWorld } from '../core/site/site-file.ts'
import type { SiteFault, SiteLimits } from '../core/site/site-text.ts'

export const limits: SiteLimits = {
  bytes: 1_000_000,
  rows: 1000,
  devices: 1000,
  jsonChars: 100_000,
  depth: 8,
  textChars: 10_000,
  faults: 100,
}

/** A hash that reveals what was hashed, unlike a real one. */
export const hashPassword = async (text: string) => ({ hash: `hashed ${text.length}`, salt: `salted ${text.length}` })

export const NOW = 1_900_000_000_000

/** A world around a book; new ids are above those in the book. */
export function worldOf(book: WritableBook, more: Partial<SiteWorld> = {}): SiteWorld {
  const nextId = (table: string) => (book.rows(table).at(-1)?.id ?? 0) + 1
  return { book, mode: 'replace', nowMs: NOW, nextId, limits, hashPassword, ...more }
}

/** Checks a document against a book, and applies the changes. */
export async function take(document: unknown, book = createBook(), more: Partial<SiteWorld> = {}): Promise<Change[]> {
  const changes = await checkSite(document, worldOf(book, more))
  const { rows } = rowsAfter(book, changes)
  for (const table of new Set(changes.map((change) => change.table)))
    book.replace(table, [...(rows.get(table)?.values() ?? [])])
  return changes
}

/** A book with the site of a document. */
export async function siteOf(document: unknown, rows = limits.rows): Promise<WritableBook> {
  const book = createBook()
  await take(document, book, { limits: { ...limits, rows, devices: rows, jsonChars: 1000 * rows } })
  return book
}

/** `path: sentence` of every fault of a document. */
export async function faultsOf(document: unknown, book = createBook(), more: Partial<SiteWorld> = {}) {
  try {
    await checkSite(document, worldOf(book, more))
    return []
  } catch (error) {
    const { details } = error as { details: { faults: SiteFault[] } }
    return details.faults.map(({ path, sentence }) => `${path}: ${sentence}`)
  }
}
