/**
 * What tests compare with: tcompare, but a list has as many items as its pattern. As it comes, `t.match(records, [{ reason:
 * 'busy' }])` holds for any list that begins so, and `[]` for every list: what nobody expected there would pass.
 */
import { Has, HasStrict, Match, MatchStrict, type Same, type SameOptions } from 'tcompare'

export * from 'tcompare'

type Comparison = new (found: unknown, options: SameOptions) => Same

/** As tcompare makes its own. @param Cut cuts a list to its pattern */
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

/** Of what `Has` extends: nothing is cut there. */
const wholeOf = Object.getPrototypeOf(Has.prototype)

export const has = comparing(Has)
export const hasStrict = comparing(HasStrict)
export const match = comparing(Match)
export const matchStrict = comparing(MatchStrict)
