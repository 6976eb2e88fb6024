/** The reference of a daemon's settings, generated from its schema. */
import type { TObject } from 'typebox'
import { expectedText } from './expectation.ts'
import { tablesOf } from './load.ts'

/** A Markdown table of every key: name, what is allowed, default, meaning. */
export function referenceOf(schema: TObject): string {
  const rows = ['| key | allowed | default | meaning |', '|---|---|---|---|']
  for (const [table, { properties }] of Object.entries(tablesOf(schema)))
    for (const [name, key] of Object.entries(properties)) {
      const cells = [
        `\`${table}.${name}\``,
        expectedText(key),
        `\`${JSON.stringify(key.default)}\``,
        key.description ?? '',
      ]
      rows.push(`| ${cells.map(cellText).join(' | ')} |`)
    }
  return `${rows.join('\n')}\n`
}

/** A bar or a line break would end the cell. */
function cellText(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
