/**
 * Comparison for tests: tcompare, but a list must have as many items as its pattern. Otherwise `t.match(records, [{
 * reason: 'busy' }])` holds for any list that begins so, and `[]` for every list: unexpected items would pass.
 */
import { Has, HasStrict, Match, MatchStrict, type Same, type SameOptions } from 'tcompare'

export * from 'tcompare'

type Comparison = new (found: unknown, options: SameOptions) => Same

/** Wraps a comparison, as tcompare does. @param Cut cuts a list to its pattern */
function comparing(Cut: Comparison) {
  class Whole extends Cut {
    override get objectAsArray() {
      return Reflect.get(wholeOf, 'objectAsArray', this)
    }
  }
  return (found: unknown, expect: unknown, options: object = {}) => {
    const compared = new Whole(found, { ...options, expect, parent: undefined })
    return { diff: compared.print(), match: compared.match }
  }
}

/** The parent of `Has`, which cuts nothing. */
const wholeOf = Object.getPrototypeOf(Has.prototype)

export const has = comparing(Has)
export const hasStrict = comparing(HasStrict)
export const match = comparing(Match)
export const matchStrict = comparing(MatchStrict)
