/** Texts of any characters, for properties that hold for every text. */
import fc from 'fast-check'

/** Surrogates, which never occur alone in well-formed text. @source Unicode 3.8, surrogates */
const FIRST_HALF = 0xd800
const HALVES = 0x800
const LAST_SIGN = 0x10_ffff

/**
 * Any Unicode character. fast-check's own `binary` unit is the same, but lists a million characters first: that takes a
 * second and 85 MB, and slows down every later garbage collection.
 */
const anySign = fc.integer({ min: 0, max: LAST_SIGN - HALVES }).map(signOf, numberOf)

function signOf(number: number): string {
  return String.fromCodePoint(number < FIRST_HALF ? number : number + HALVES)
}

/** @throws Error if it is not one character: fast-check tries to split texts that it knows to be dangerous */
function numberOf(sign: unknown): number {
  if (typeof sign !== 'string' || [...sign].length !== 1 || !sign.isWellFormed()) throw new Error('not one sign')
  const number = sign.codePointAt(0) ?? 0
  return number < FIRST_HALF ? number : number - HALVES
}

/** Any well-formed text, including names such as `__proto__`. @param bounds of its length, in characters */
export function anyText(bounds: Omit<fc.StringConstraints, 'unit'> = {}): fc.Arbitrary<string> {
  return fc.string({ ...bounds, unit: anySign })
}
