/** Bounds of the controller as keys of controller.toml, and as the parts have them. */
import { Type } from 'typebox'

/** A whole number of one unit; `''` for a count. */
export function count(
  unit: '' | 'ms' | 's' | 'days' | 'bytes',
  byDefault: number,
  [minimum, maximum]: readonly [number, number],
  description: string,
) {
  return Type.Integer({ default: byDefault, minimum, maximum, ...(unit === '' ? {} : { unit }), description })
}

type Camelled<Key extends string> = Key extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<Camelled<Rest>>}`
  : Key

/** A table of settings with the names that code has: `commit_ms` is `commitMs`. */
export type AsLimits<Table> = { [Key in keyof Table as Key extends string ? Camelled<Key> : never]: Table[Key] }

export function limitsOf<Table extends Readonly<Record<string, unknown>>>(table: Table): AsLimits<Table> {
  const entries = Object.entries(table).map(([key, value]) => [
    key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ])
  return Object.fromEntries(entries)
}
