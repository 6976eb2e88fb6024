/** Tables and rows of the site in words. */
import type { RowView, TableView } from '../core/site/browse.ts'
import * as texts from './texts.ts'

/** A table in words: `Zones`, `Users`. */
export function tableName(name: string): string {
  return texts.tableNames[name] ?? sentenceCase(name)
}

function sentenceCase(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The name of a row; one without a name is told by what it connects. */
export function rowName({ fields }: TableView, { id, name: own, names }: RowView): string {
  if (own !== null) return own
  const parts = fields.flatMap(({ name }) => names[name] ?? [])
  return parts.length > 0 ? parts.join(', ') : `${id}`
}

/** Most facts of a row in the list. */
const MOST_FACTS = 3

/** `dimmer, Lamp rack, 2`: what else is known of a row, in the order of its form. */
export function rowSummary({ label, fields }: TableView, { values, names }: RowView): string {
  return fields
    .filter(({ name, kind }) => name !== label && kind !== 'boolean' && kind !== 'json' && kind !== 'time')
    .flatMap(({ name }) => {
      const value = names[name] ?? values[name]
      if (Array.isArray(value)) return value.length === 0 ? [] : [value.join(' + ')]
      return typeof value === 'string' || typeof value === 'number' ? [String(value)] : []
    })
    .filter((text) => text !== '')
    .slice(0, MOST_FACTS)
    .join(', ')
}
