/** Attributes in site files: which of their values are secret, and secrets inside of values that are JSON as text. */
import { bracketsOf } from '../data/attribute-value.ts'
import type { Json } from '../row.ts'
import { isSameJson } from '../same-json.ts'
import type { Column, Table } from '../schema/column.ts'
import { isSensitiveName, withoutSecrets } from '../sensitive-name.ts'
import { keepSecrets } from './keep-secrets.ts'

/** JSON that is nested deeper is taken as the file has it: nobody is shown what stands down there. */
const DEEPEST = 64

/** Whether a column holds what an attribute is set to, now or before. */
export function isAttributeValue(table: Table, column: Column): boolean {
  return table.name === 'attribute' && column.isAnyJson === true
}

/** Whether the values of an attribute are secret as a whole. @source document 1, Guards 2 */
export function isSecretAttribute({ secure, name }: Readonly<Record<string, Json>>): boolean {
  return secure === true || isSensitiveName(String(name))
}

/** A value with null where a secret is nested in it; the very same where there is none. @source document 1, Guards 3 */
export function withoutNested(value: Json): Json {
  const json = jsonIn(value)
  const seen = withoutSecrets(json)
  return seen === json ? value : JSON.stringify(seen)
}

/** The value that a file states, with the secrets that it leaves out and that `before` holds in the same place. */
export function keepNested(next: Json, before: Json): Json {
  if (typeof next !== 'string' || next === before || bracketsOf(next) > DEEPEST) return next
  const had = jsonIn(before)
  const said = jsonIn(next)
  const kept = keepSecrets(said, had)
  if (isSameJson(kept, said)) return next
  return isSameJson(kept, had) ? before : JSON.stringify(kept)
}

/** What stands in a text, where that is an object or a list of JSON; null else. */
function jsonIn(value: Json): Json {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return null
  try {
    return JSON.parse(value) as Json
  } catch {
    return null
  }
}
