/** Whether a site fits together: every reference has its row, nothing that is unique stands twice, no circle of parents. */
import { withArticle } from '#kit/bytes/words.ts'
import type { SiteRows } from '../change.ts'
import type { Json, Row } from '../row.ts'
import type { Column, Table } from '../schema/column.ts'
import { siteTables } from '../schema/registry.ts'
import { readSetting, siteSettings } from '../settings.ts'
import { folded, targetTable } from './next-site.ts'
import { overrideTargets } from './overrides.ts'
import { type FaultList, quoted } from './site-faults.ts'

/** Where a row comes from: `zone[3]` of a file, or `zone 12`. */
export type PathOf = (table: string, id: number) => string

/** Rows of a circle that a sentence names. */
const MOST_SHOWN = 8

/** What the checks go by. */
interface Whole {
  site: SiteRows
  pathOf: PathOf
  faults: FaultList
}

/** Looks at all rows, those too that nothing was asked of: what they refer to may be gone. */
export function checkWhole(site: SiteRows, pathOf: PathOf, faults: FaultList): void {
  const whole: Whole = { site, pathOf, faults }
  for (const table of siteTables()) {
    const rows = [...(site.get(table.name)?.values() ?? [])]
    const references = table.columns.filter((column) => column.reference ?? column.referenceBy)
    for (const row of rows) for (const column of references) checkReference(whole, table, column, row)
    for (const column of table.columns) {
      if (column.isUnique) checkUnique(whole, table, rows, [column])
      if (column.reference === table.name) checkCircles(whole, table, column.name)
    }
    const together = table.uniqueTogether.flatMap((name) => table.column(name) ?? [])
    if (together.length > 0) checkUnique(whole, table, rows, together)
  }
  for (const row of site.get('zone')?.values() ?? []) checkOverrides(whole, row)
  for (const row of site.get('setting')?.values() ?? []) checkSetting(whole, row)
}

function checkReference({ site, pathOf, faults }: Whole, table: Table, column: Column, row: Row): void {
  const id = row[column.name] ?? null
  const target = targetTable(column, (name) => row[name])
  if (id === null) {
    // An attribute of a table's row needs that row; one of the controller has none.
    if (column.referenceBy !== undefined && target !== undefined)
      faults.add(
        `${pathOf(table.name, row.id)}.${column.name}`,
        `is missing: it belongs to ${withArticle(target.name)}`,
      )
    return
  }
  if (target === undefined || (typeof id === 'number' && site.get(target.name)?.has(id))) return
  faults.add(`${pathOf(table.name, row.id)}.${column.name}`, `there is no ${target.name} ${id}`)
}

function checkUnique({ pathOf, faults }: Whole, table: Table, rows: readonly Row[], columns: readonly Column[]): void {
  const seen = new Map<string, number>()
  for (const row of rows) {
    const values = columns.map((column) => folded(column, row[column.name] ?? null))
    if (values.includes(null)) continue
    const key = JSON.stringify(values)
    const first = seen.get(key)
    if (first === undefined) seen.set(key, row.id)
    else {
      const [only, ...others] = columns
      const place = others.length === 0 ? `.${only?.name}` : ''
      faults.add(`${pathOf(table.name, row.id)}${place}`, twice(columns, row, pathOf(table.name, first)))
    }
  }
}

function twice(columns: readonly Column[], row: Row, first: string): string {
  const said = columns.map(({ name }) => `${name} ${sayable(row[name] ?? null)}`).join(' and ')
  return `${said} stands in ${first} already`
}

function sayable(value: Json): string {
  return typeof value === 'string' ? quoted(value) : String(value)
}

/** Each row is walked up from once: what was found good before is not walked again. */
function checkCircles({ site, pathOf, faults }: Whole, table: Table, column: string): void {
  const rows = site.get(table.name) ?? new Map<number, Row>()
  const good = new Set<number>()
  for (const start of rows.keys()) {
    const walked = new Set<number>()
    let id: Json | undefined = start
    while (typeof id === 'number' && !good.has(id) && !walked.has(id)) {
      walked.add(id)
      id = rows.get(id)?.[column]
    }
    if (typeof id === 'number' && walked.has(id)) {
      const around = [...walked].slice([...walked].indexOf(id))
      faults.add(
        `${pathOf(table.name, id)}.${column}`,
        `goes round in a circle: ${[...around.slice(0, MOST_SHOWN), id].join(' -> ')}`,
      )
    }
    for (const one of walked) good.add(one)
  }
}

function checkOverrides({ site, pathOf, faults }: Whole, row: Row): void {
  for (const { path, table, said } of overrideTargets(row.overrides ?? null))
    if (typeof said === 'number' && !site.get(table.name)?.has(said))
      faults.add(`${pathOf('zone', row.id)}${path}`, `there is no ${table.name} ${said}`)
}

function checkSetting({ pathOf, faults }: Whole, row: Row): void {
  const key = String(row.key)
  const facts = siteSettings.find((one) => one.key === key)
  if (facts === undefined) {
    const known = siteSettings.map((one) => one.key)
    faults.add(`${pathOf('setting', row.id)}.key`, `there is no setting ${quoted(key)}${faults.nearest(key, known)}`)
    return
  }
  if (readSetting(facts, row.value ?? null) !== undefined) return
  const range = facts.type === 'boolean' ? 'true or false' : `a whole number of ${facts.minimum} to ${facts.maximum}`
  faults.add(`${pathOf('setting', row.id)}.value`, `must be ${range}`)
}
