/** Which columns an answer shows, and under which names. */
import type { FieldAsk } from '../../wire/query/query.ts'
import type { TableFace } from './schema-face.ts'
import { jsonOf, memberOf, type View } from './views.ts'

/** How views become JSON. */
export interface Projection {
  /** Names that stand in the answer. */
  readonly names: ReadonlySet<string>
  json(view: View): string
  /** The same without one column, which something else will stand for. */
  jsonWithout(view: View, column: string): string
}

/** @param fields columns of the table; undefined: all of them. A name that is asked for twice is shown once. */
export function projectionOf(table: TableFace, fields: readonly FieldAsk[] | undefined): Projection {
  const columns = new Map<string, string>()
  for (const { column, alias } of fields ?? [...table.columns.keys()].map((column) => ({ column, alias: undefined })))
    columns.set(alias ?? column, column)
  const pairs = [...columns]
  const write = (view: View, chosen: readonly (readonly [string, string])[]) =>
    `{${chosen.map(([name, column]) => memberOf(name, view.cells[column])).join(',')}}`
  return {
    names: new Set(columns.keys()),
    json: fields === undefined ? (view) => jsonOf(view, table) : (view) => write(view, pairs),
    jsonWithout: (view, column) =>
      write(
        view,
        pairs.filter(([name]) => name !== column),
      ),
  }
}
