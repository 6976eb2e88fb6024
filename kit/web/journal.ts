/** The journal as the page reads it: asked by pages, put together without gaps or doubles, an entry told in full. */
import type { JournalEntry } from '../records/journal.ts'
import { call } from './call.ts'

/** What is looked for; empty means all. */
export interface JournalFilter {
  who: string
  what: string
}

/** Entries asked for at once. */
export const PAGE = 100

/** The calls. */
export const journalApi = {
  list: (filter: JournalFilter, before?: number) => call<JournalEntry[]>(`GET /api/journal?${queryOf(filter, before)}`),
}

/** The query of one page. @param before `seq`: only entries before that one */
export function queryOf({ who, what }: JournalFilter, before?: number): string {
  const query = new URLSearchParams({ limit: String(PAGE) })
  if (who !== '') query.set('who', who)
  if (what !== '') query.set('what', what)
  if (before !== undefined) query.set('before', String(before))
  return query.toString()
}

/** Newer entries before older ones, each once. */
export function merged(newer: readonly JournalEntry[], older: readonly JournalEntry[]): JournalEntry[] {
  const known = new Set(newer.map(({ seq }) => seq))
  return [...newer, ...older.filter((entry) => !known.has(entry.seq))]
}

/** Everything that is known of an entry, name and text. @param time when, to the millisecond */
export function factsOf(entry: JournalEntry, time: string): [name: string, text: string][] {
  const facts: [string, string][] = [
    ['Exactly at', time],
    ['From', entry.from],
  ]
  if (entry.target) facts.push(['On', entry.target])
  return [...facts, ...detailOf(entry.detail)]
}

/** The values of a detail, one a line: `line.baud` 9600. */
function detailOf(detail: unknown, prefix = ''): [string, string][] {
  if (detail === undefined || detail === null) return []
  if (typeof detail !== 'object') return [[prefix || 'Detail', String(detail)]]
  if (Array.isArray(detail) && detail.every((each) => typeof each !== 'object'))
    return [[prefix, detail.join(', ') || 'none']]
  return Object.entries(detail).flatMap(([name, value]) => {
    const path = prefix ? `${prefix}.${name}` : name
    return typeof value === 'object' && value !== null
      ? detailOf(value, path)
      : [[path, String(value)] as [string, string]]
  })
}
