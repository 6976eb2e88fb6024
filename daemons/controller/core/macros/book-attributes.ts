/** Attributes as rows of the book: which one a macro means, what it reads there, and what counts as secret. */
import { resolveTarget } from '../control/target.ts'
import { holdsSecret } from '../data/attribute-value.ts'
import type { Book, Row } from '../row.ts'
import { isSensitiveName, NAME_RULES } from '../sensitive-name.ts'
import type { AttributeReading, AttributeRef, Secrets } from './ports.ts'

/** The one attribute that is meant: of a zone or a device; the controller's own where the target has no key. */
export function attributeRow(book: Book, { name, target }: AttributeRef): Row | undefined {
  const place = placeOf(book, target)
  if (place === undefined) return undefined
  return book.named('attribute', name).find((row) => row.system_target === place.kind && row.target_id === place.id)
}

/** Undefined where there is no such attribute. */
export function readAttribute(book: Book, ref: AttributeRef): AttributeReading | undefined {
  const row = attributeRow(book, ref)
  if (row === undefined) return undefined
  const value = row.value ?? null
  // A blob with a secret inside is one as a whole: comparing with it would give the secret away bit by bit.
  return { value, isSecure: row.secure === true || isSensitiveName(ref.name) || holdsSecret(NAME_RULES, value) }
}

/** By names, and by what the attributes of this building say of themselves. */
export function secretsOf(book: Book): Secrets {
  return {
    ...NAME_RULES,
    holdsSecret: (value) => holdsSecret(NAME_RULES, value),
    isSecretAttribute: (name) =>
      isSensitiveName(name) || book.named('attribute', name).some(({ secure }) => secure === true),
  }
}

function placeOf(book: Book, target: AttributeRef['target']): { kind: string; id: number | null } | undefined {
  if (Object.keys(target).length === 0) return { kind: 'controller', id: null }
  const resolved = resolveTarget(book, target)
  if ('fault' in resolved) return undefined
  const { zone, device } = resolved.target
  return zone ? { kind: 'zone', id: zone.id } : device && { kind: 'device', id: device.id }
}
