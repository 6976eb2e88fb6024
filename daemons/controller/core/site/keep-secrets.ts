/** What a site file leaves out of a JSON column because it is secret stays as it was. */
import { isList, isObject } from '../json-kind.ts'
import type { Json } from '../row.ts'
import { isSameJson } from '../same-json.ts'
import { isSensitiveName, withoutSecrets } from '../sensitive-name.ts'

/**
 * Puts a secret of `before` where `next` has null under the same sensitive key: an export carries no
 * secrets of other machines, and importing it again must not lose them. In lists an item gets them back only from an
 * item in the same place that is otherwise the same.
 */
export function keepSecrets(next: Json, before: Json): Json {
  if (isList(next)) {
    if (!isList(before)) return next
    return next.map((item, index) => {
      const old = before[index] ?? null
      return isSameJson(withoutSecrets(old), withoutSecrets(item)) ? keepSecrets(item, old) : item
    })
  }
  if (!isObject(next) || !isObject(before)) return next
  const old = new Map(Object.entries(before))
  return Object.fromEntries(
    Object.entries(next).map(([key, value]) => {
      const had = old.get(key) ?? null
      return [key, isSensitiveName(key) ? (value ?? had) : keepSecrets(value, had)]
    }),
  )
}
