/** What a site file leaves out of a JSON column because it is secret stays as it was. */
import { isList, isObject, objectOf } from '../json-kind.ts'
import type { Json } from '../row.ts'
import { isSameJson } from '../same-json.ts'
import { isSensitiveName, secretKeys, secretPairs, withoutSecrets } from '../sensitive-name.ts'

/**
 * Puts a secret of `before` where `next` has null under the same sensitive key: an export carries no
 * secrets of other machines, and importing it again must not lose them. In lists an item gets them back only from an
 * item in the same place that is otherwise the same.
 */
export function keepSecrets(next: Json, before: Json): Json {
  if (isList(next)) {
    if (!isList(before)) return next
    const isSecretPair = secretPairs(next)
    return next.map((item, index) => {
      const old = before[index] ?? null
      if (isList(item) && isSecretPair(item)) {
        const [name, value] = item
        const had = isList(old) && old.length === 2 && old[0] === name ? (old[1] ?? null) : null
        return [name ?? null, value ?? had]
      }
      return isSameJson(withoutSecrets(old), withoutSecrets(item)) ? keepSecrets(item, old) : item
    })
  }
  if (!isObject(next) || !isObject(before)) return next
  const old = new Map(Object.entries(before))
  const isSecretKey = secretKeys(next)
  return objectOf(
    Object.entries(next).map(([key, value]) => {
      const had = old.get(key) ?? null
      if (isSensitiveName(key)) return [key, value ?? had]
      if (!isSecretKey(key)) return [key, keepSecrets(value, had)]
      // What stood beside another name is no secret of this one.
      const isSameName = isSameJson(withoutSecrets(before), withoutSecrets(next))
      return [key, value ?? (isSameName ? had : null)]
    }),
  )
}
