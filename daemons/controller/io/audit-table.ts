/** The table of the audit: its columns, and how a record becomes a row of bounded, plain values and back. */
import { shortCopy } from '#kit/bytes/plain-text.ts'
import type { AuditFacts, AuditRecord } from '../core/audit.ts'
import type { Json, Row } from '../core/row.ts'

/** Values of one row in the order of `COLUMNS`, without the id. */
export type SqlRow = (string | number | null)[]

/** In the order in which rows are written. @source document 1, Audit record */
const COLUMNS = {
  at: 'INTEGER NOT NULL',
  request_type: 'TEXT NOT NULL',
  method: 'TEXT NOT NULL',
  path: 'TEXT NOT NULL',
  status: 'INTEGER NOT NULL',
  elapsed_ms: 'INTEGER NOT NULL',
  client_ip: 'TEXT NOT NULL',
  user_id: 'INTEGER',
  username: 'TEXT',
  granted: 'INTEGER NOT NULL',
  reason: 'TEXT',
  target: 'TEXT',
  run_id: 'INTEGER',
  action: 'TEXT',
  outcome: 'TEXT',
  detail: 'TEXT',
} as const

const names = Object.keys(COLUMNS)

/** Written by a start that finds no table. The id grows with every row: it is the order, whatever the clock did. */
export const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS request_history (id INTEGER PRIMARY KEY, ${Object.entries(
  COLUMNS,
)
  .map(([name, type]) => `${name} ${type}`)
  .join(', ')}) STRICT`

/** For files of before: what each column is added with that a file has not. */
export const ADD_COLUMNS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(COLUMNS).map(([name, type]) => [name, `ALTER TABLE request_history ADD COLUMN ${name} ${type}`]),
)

/** What anybody can have recorded, as often as he likes: calls of nobody, and refused ones. */
const CHEAP = '(user_id IS NULL OR granted = 0)'

/** A condition on rows, in the words of the index. */
export const IS_CHEAP = `${CHEAP} = 1`

/** Whether there is a call of somebody, by the index. */
export const SELECT_SOMEBODY = `SELECT 1 FROM request_history WHERE ${CHEAP} = 0 LIMIT 1`

/** So that the oldest of them are found, and all rows counted, without a look at whole rows. */
export const INDEX_CHEAP = `CREATE INDEX IF NOT EXISTS cheap_requests ON request_history (${CHEAP})`

/** One row, bound by place. */
export const INSERT_ROW = `INSERT INTO request_history (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`

/** Rows below an id, the newest first: bound are the id and how many. */
export const SELECT_BELOW = `SELECT id, ${names.join(', ')} FROM request_history WHERE id < ? ORDER BY id DESC LIMIT ?`

/** Rows above an id, the oldest first: bound are the id and how many. */
export const SELECT_ABOVE = `SELECT id, ${names.join(', ')} FROM request_history WHERE id > ? ORDER BY id LIMIT ?`

/** Characters kept of each text: what is longer was made up by somebody. */
const LONGEST = { method: 32, path: 512, client_ip: 64, username: 128, reason: 64, target: 128 } as const
const LONGEST_FACTS = { action: 256, detail: 512 } as const

/** @returns a row that the strict table takes whatever the record holds: one it refuses would hold up all behind it */
export function rowOfRecord(record: AuditRecord): SqlRow {
  return [
    whole(record.at),
    record.requestType,
    plain(record.method, LONGEST.method),
    plain(withoutQuery(record.path), LONGEST.path),
    whole(record.status),
    whole(record.elapsedMs),
    plain(record.clientIp, LONGEST.client_ip),
    record.userId === null ? null : whole(record.userId),
    record.username === null ? null : plain(record.username, LONGEST.username),
    record.granted ? 1 : 0,
    record.reason === null ? null : plain(record.reason, LONGEST.reason),
    record.target === null ? null : plain(record.target, LONGEST.target),
    record.runId === null ? null : whole(record.runId),
    ...factsOf(record.facts ?? null),
  ]
}

function factsOf(facts: AuditFacts | null): (string | null)[] {
  if (facts === null) return [null, null, null]
  const { action, outcome, detail } = facts
  return [plain(action, LONGEST_FACTS.action), outcome, detail === null ? null : plain(detail, LONGEST_FACTS.detail)]
}

/** @param values as SQLite gives them. @returns the row as every table's rows are: booleans as such, created when it was written */
export function rowOfTable(values: Readonly<Record<string, unknown>>): Row {
  const at = values.at as number
  const columns = values as Readonly<Record<string, Json>>
  return { ...columns, id: values.id as number, created_at: at, updated_at: at, granted: values.granted === 1 }
}

/** What nearly every text is, and costs least to find out. */
const PLAIN = /^[ -~]*$/

/**
 * SQLite ends a text at NUL, and half pairs are no UTF-8: both, and whatever else is not seen, become a mark. So do signs
 * that turn the direction of writing: behind one of them a name reads as another.
 */
function plain(text: string, longest: number): string {
  if (text.length <= longest && PLAIN.test(text)) return text
  return shortCopy(text, longest)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
}

function withoutQuery(path: string): string {
  const mark = path.indexOf('?')
  return mark < 0 ? path : shortCopy(path, mark)
}

function whole(figure: number): number {
  return Number.isFinite(figure) ? Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(figure))) : 0
}
