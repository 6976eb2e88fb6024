/** Decimal numbers without rounding: what a scale of 0.1 means, and integers that no double can hold. */

/** `digits` times ten to the power of `exponent`. */
export interface Decimal {
  digits: bigint
  exponent: number
}

/** The shortest decimal that means this double: 0.1 is one tenth. Finite numbers only. */
export function decimalOf(value: number): Decimal {
  const [mantissa = '0', power = '0'] = value.toExponential().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length }
}

/** `raw * scale + offset`, exactly. */
export function scaled(raw: bigint, scale: Decimal, offset: Decimal): Decimal {
  const exponent = Math.min(scale.exponent, offset.exponent)
  const product = raw * scale.digits * 10n ** BigInt(scale.exponent - exponent)
  return { digits: product + offset.digits * 10n ** BigInt(offset.exponent - exponent), exponent }
}

/** The double nearest to it. */
export function numberOf({ digits, exponent }: Decimal): number {
  return Number(`${digits}e${exponent}`)
}

/** Whether a double holds every digit of it. A whole number beyond 2^53 is not exact, whatever zeros it ends in. */
export function isExact(decimal: Decimal): boolean {
  const { digits, exponent } = trimmed(decimal)
  const written = digits * 10n ** BigInt(Math.max(0, exponent))
  return written >= -MOST && written <= MOST
}

/** Written out, without an exponent: `-12.5`, `18446744073709551615`. */
export function textOfDecimal(decimal: Decimal): string {
  const { digits, exponent } = trimmed(decimal)
  if (exponent >= 0) return (digits * 10n ** BigInt(exponent)).toString()
  const sign = digits < 0n ? '-' : ''
  const text = digits
    .toString()
    .replace('-', '')
    .padStart(1 - exponent, '0')
  return `${sign}${text.slice(0, exponent)}.${text.slice(exponent)}`
}

const MOST = BigInt(Number.MAX_SAFE_INTEGER)

/** Without zeros at the end of the digits. */
function trimmed({ digits, exponent }: Decimal): Decimal {
  if (digits === 0n) return { digits, exponent: 0 }
  while (digits % 10n === 0n) {
    digits /= 10n
    exponent++
  }
  return { digits, exponent }
}
