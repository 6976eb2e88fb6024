/** Changes that wait, as sentences: which row, what becomes of it, and how each column reads before and after. */
import type { FieldFault } from '#kit/web/call.ts'
import { UNKNOWN } from '#kit/web/numbers.ts'
import type { Json } from '../core/row.ts'
import type { Change, ChangedColumn } from './api.ts'

const KINDS = { add: 'New', change: 'Changed', remove: 'Removed' } as const

/** Longer values are cut: the difference is to be read, not the file. */
const LONGEST = 300

/** `Changed: zone 12, Lobby`. */
export function changeTitle({ kind, table, row_id: id, name }: Change): string {
  const row = `${table.replaceAll('_', ' ')}${id === null ? '' : ` ${id}`}`
  return `${KINDS[kind]}: ${row}${name === null ? '' : `, ${name}`}`
}

/** What to show of a value. */
export function valueText(value: Json): string {
  if (value === null || value === '') return UNKNOWN
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text
}

/** A column before and after; of secrets only that there is one, or another. */
export function columnTexts(column: ChangedColumn): { name: string; before: string; after: string } {
  const name = column.column.replaceAll('_', ' ')
  if (column.secret) return { name, before: 'a secret', after: 'a new secret' }
  return { name, before: valueText(column.before), after: valueText(column.after) }
}

/** `3 changes wait.` */
export function pendingSentence(count: number): string {
  if (count === 0) return 'Nothing waits. Everything that was changed is in effect.'
  return count === 1 ? '1 change waits.' : `${count} changes wait.`
}

/** Why a row does not fit, by the id of its change. */
export function refusedRows(fields: readonly FieldFault[]): ReadonlyMap<number, string> {
  return new Map(fields.map(({ field, message }) => [Number(field), message]))
}
