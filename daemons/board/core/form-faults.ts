/** What is wrong with a form whose fields core reads: everything at once, each field by its name. */
import { Fault } from '#kit/fault.ts'
import type { FieldFault } from '#kit/http/sentences.ts'
import { nearestName } from '#kit/nearest.ts'

/** Characters of a name from outside that are said again. */
const LONGEST_NAME = 64

/**
 * @param what a name stands for in this form
 * @returns what is wrong with a name that nothing goes by
 */
export function unknownField(name: string, known: readonly string[], what: 'field' | 'setting' = 'field'): FieldFault {
  const field = name.slice(0, LONGEST_NAME)
  const nearest = nearestName(field, known)
  const hint = nearest === undefined ? '' : ` Do you mean ${nearest}?`
  return { field, message: `There is no such ${what}.${hint}` }
}

/** The first in full: many show the sentence alone. */
export function badFields(faults: readonly FieldFault[]): Fault {
  const [first] = faults
  const more = faults.length - 1
  const rest = more === 0 ? '' : ` ${more === 1 ? 'One more field does' : `${more} more fields do`} not fit either.`
  return new Fault('bad_fields', `${first?.field}: ${first?.message}${rest}`, { details: { fields: faults } })
}
