/** What is wrong with a form whose fields core reads: everything at once, each field by its name. */
import { Fault } from '#kit/fault.ts'
import type { FieldFault } from '#kit/http/sentences.ts'
import { nearestName } from '#kit/nearest.ts'

/** @returns what is wrong with a name that nothing goes by */
export function unknownField(name: string, known: readonly string[]): FieldFault {
  const field = name.slice(0, 64)
  const nearest = nearestName(field, known)
  return { field, message: nearest ? `There is no such field. Do you mean ${nearest}?` : 'There is no such field.' }
}

/** The first in full: many show the sentence alone. */
export function badFields(faults: readonly FieldFault[]): Fault {
  const [first] = faults
  const more = faults.length - 1
  const rest = more === 0 ? '' : ` ${more === 1 ? 'One more field does' : `${more} more fields do`} not fit either.`
  return new Fault('bad_fields', `${first?.field}: ${first?.message}${rest}`, { details: { fields: faults } })
}
