/** What a run was called with: values by name, how large each is, and which of them the caller supplied. */
import { Fault } from '#kit/fault.ts'
import type { Json } from '../row.ts'
import { jsonChars } from './json-size.ts'

/** Kept in maps: a name like `__proto__` is a name like any other. */
export interface MacroArgs {
  readonly values: ReadonlyMap<string, Json>
  /** Characters of JSON of each value. */
  readonly chars: ReadonlyMap<string, number>
  /** Names of values that came with the request, wholly or in part; the others are the macro's own. */
  readonly supplied: ReadonlySet<string>
  /** Names of values that are secret, wholly or in part, whatever they are called. */
  readonly secret: ReadonlySet<string>
}

/** What is known of some of the values, by their names. */
export interface ArgMarks {
  /** Those that came with the request; all when left out. */
  supplied?: Iterable<string>
  /** Those that are secret; none when left out. */
  secret?: Iterable<string>
}

/**
 * @param values own properties count, nothing inherited
 * @throws Fault `macro_value_size`, `macro_value`
 */
export function makeArgs(values: Iterable<[string, Json]>, mostChars: number, marks: ArgMarks = {}): MacroArgs {
  const map = new Map(values)
  const chars = new Map<string, number>()
  let left = mostChars
  for (const [name, value] of map) {
    const size = jsonChars(value, mostChars) + name.length + 3
    chars.set(name, size)
    left -= size
    if (left < 0) throw new Fault('macro_value_size', `the args come to more than ${mostChars} characters`)
  }
  return { values: map, chars, supplied: new Set(marks.supplied ?? map.keys()), secret: new Set(marks.secret) }
}
