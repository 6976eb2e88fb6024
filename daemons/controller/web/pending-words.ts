/** Changes that wait, as sentences: which row, what becomes of it, and how each column reads before and after. */
import type { FieldFault } from '#kit/web/call.ts'
import { dateOf, timeOf, UNKNOWN } from '#kit/web/numbers.ts'
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
  const text = typeof value === 'object' ? objectText(value) : String(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text
}

/** `kind tcp, host 10.20.4.9, port 4352`; what is nested deeper stays JSON. */
function objectText(value: Exclude<Json, string | number | boolean | null>): string {
  const isFlat =
    !Array.isArray(value) && Object.values(value).every((each) => each === null || typeof each !== 'object')
  if (!isFlat || Object.keys(value).length === 0) return JSON.stringify(value)
  return Object.entries(value)
    .map(([key, each]) => `${key} ${valueText(each ?? null)}`)
    .join(', ')
}

/** A column before and after; of secrets only that there is one, or another. @param zone of the site, for times */
export function columnTexts(column: ChangedColumn, zone?: string): { name: string; before: string; after: string } {
  const name = column.column.replaceAll('_', ' ')
  if (column.secret) return { name, before: 'a secret', after: 'a new secret' }
  const { before, after, kind, names } = column
  if (kind === 'time') return { name, before: whenText(before, zone), after: whenText(after, zone) }
  if (kind === 'row')
    return {
      name: name.replace(/ id$/, ''),
      before: rowText(before, names?.before),
      after: rowText(after, names?.after),
    }
  return { name, before: valueText(before), after: valueText(after) }
}

/** `2031-03-09 14:02:31`, in the site's zone. */
function whenText(value: Json, zone: string | undefined): string {
  return typeof value === 'number' ? `${dateOf(value, zone)} ${timeOf(value, zone)}` : valueText(value)
}

/** `Lobby (7)`: people know it by its name, and two may have the same. */
function rowText(id: Json, name: string | null | undefined): string {
  return id === null || !name ? valueText(id) : `${name} (${valueText(id)})`
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
