/** Texts of any signs, for laws that hold whatever is written. */
import fc from 'fast-check'

/** Halves of a pair, which no text has alone. @source Unicode 3.8, surrogates */
const FIRST_HALF = 0xd800
const HALVES = 0x800
const LAST_SIGN = 0x10_ffff

/**
 * Any sign of Unicode. What fast-check calls `binary` is the same, but lists a million signs first: that takes a second and
 * 85 MB, and each collection of garbage after it longer.
 */
const anySign = fc.integer({ min: 0, max: LAST_SIGN - HALVES }).map(signOf, numberOf)

function signOf(number: number): string {
  return String.fromCodePoint(number < FIRST_HALF ? number : number + HALVES)
}

/** @throws Error where it is not one sign: fast-check asks of what a text is made that it knows to be dangerous */
function numberOf(sign: unknown): number {
  if (typeof sign !== 'string' || [...sign].length !== 1 || !sign.isWellFormed()) throw new Error('not one sign')
  const number = sign.codePointAt(0) ?? 0
  return number < FIRST_HALF ? number : number - HALVES
}

/** Any text, well formed; among them names such as `__proto__`. @param bounds of its length, in signs */
export function anyText(bounds: Omit<fc.StringConstraints, 'unit'> = {}): fc.Arbitrary<string> {
  return fc.string({ ...bounds, unit: anySign })
}
