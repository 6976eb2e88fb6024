/** How large and how deep a JSON value is, found without recursion and no further than is allowed. */
import { Fault } from '#kit/fault.ts'
import { SHAPE_CHARS, VALUE_CHARS } from '../bounded-value.ts'
import { isObject } from '../json-kind.ts'

/** How deep a value of a macro may be; a list in a list is 2. */
const DEEPEST_VALUE = 16

/**
 * The characters of a value's JSON text, escapes not counted; a list or an object counts as what it takes in memory: 16
 * more, and one with names 32 more.
 * @param value anything: what is no JSON is refused
 * @throws Fault `macro_value_size` beyond `mostChars` or DEEPEST_VALUE; `macro_value` for what JSON cannot say
 */
export function jsonChars(value: unknown, mostChars: number): number {
  const open: [unknown, number][] = [[value, 0]]
  let chars = 0
  for (let next = open.pop(); next; next = open.pop()) {
    const [item, depth] = next
    if (depth > DEEPEST_VALUE) throw new Fault('macro_value_size', `a value is more than ${DEEPEST_VALUE} levels deep`)
    chars += ownChars(item)
    if (Array.isArray(item)) for (const entry of item) open.push([entry, depth + 1])
    else if (isObject(item)) {
      const keys = Object.keys(item)
      if (keys.length > 0) chars += SHAPE_CHARS
      for (const key of keys) {
        chars += key.length + 3
        open.push([item[key], depth + 1])
      }
    }
    if (chars + open.length > mostChars)
      throw new Fault('macro_value_size', `a value has more than ${mostChars} characters`)
  }
  return chars
}

/** Those of a scalar; of a list or object its brackets, and what V8 has around them. */
function ownChars(item: unknown): number {
  if (typeof item === 'string') return item.length + 3
  if (item === null || typeof item === 'boolean') return 6
  if (typeof item === 'number' && Number.isFinite(item)) return String(item).length + 1
  if (typeof item === 'object') return VALUE_CHARS + 3
  throw new Fault('macro_value', `a value is ${typeof item}, which JSON cannot say`)
}
