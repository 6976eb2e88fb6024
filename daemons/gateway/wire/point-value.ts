/**
 * Values of points, decoded from registers and coils as exact decimals.
 * @source our own decoding of registers: docs/decisions/points-and-polling.md
 */
import { Fault } from '#kit/pure/fault.ts'

// Decimal numbers without rounding, so that a scale of 0.1 is exact, and so are integers that no double can hold.

/** `digits` times ten to the power of `exponent`. @source our own */
export interface Decimal {
  digits: bigint
  exponent: number
}

/** The shortest decimal that stands for this double: 0.1 is one tenth. Finite numbers only. */
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

/** The nearest double. */
export function numberOf({ digits, exponent }: Decimal): number {
  return Number(`${digits}e${exponent}`)
}

/** Whether a double holds every digit. A whole number beyond 2^53 is not exact, whatever zeros it ends in. */
export function isExact(decimal: Decimal): boolean {
  const { digits, exponent } = trimmed(decimal)
  const written = digits * 10n ** BigInt(Math.max(0, exponent))
  return written >= -MOST && written <= MOST
}

/** Without an exponent: `-12.5`, `18446744073709551615`. */
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

/** Without trailing zeros in `digits`. */
function trimmed({ digits, exponent }: Decimal): Decimal {
  if (digits === 0n) return { digits, exponent: 0 }
  while (digits % 10n === 0n) {
    digits /= 10n
    exponent++
  }
  return { digits, exponent }
}

/** Types of points. Integers are two's complement, floats IEEE 754. */
export const pointTypes = ['bit', 'u16', 's16', 'u32', 's32', 'u64', 's64', 'f32', 'f64', 'string'] as const
export type PointType = (typeof pointTypes)[number]

/** `big`: the most significant comes first, as Modbus orders the bytes of a register. */
export const orders = ['big', 'little'] as const
export type Order = (typeof orders)[number]

/** How the registers of a point are decoded. */
export interface PointFormat {
  type: PointType
  /** Which register of a number comes first. The registers of a text are always in order. */
  wordOrder: Order
  /** Which byte comes first within each register. */
  byteOrder: Order
  /** The bit of a register, 0 the lowest; null for coils and discrete inputs, which are single bits. */
  bit: number | null
  /** The number of registers of a text; null for other types. */
  length: number | null
  scale: number
  offset: number
  /** What the device sends if it has no value: all bytes of the point as hex digits, the most significant first. */
  noValue: readonly string[]
}

/** How a point is decoded of which only its type is known. */
export const plainFormat = {
  ...{ wordOrder: 'big', byteOrder: 'big', bit: null, length: null },
  ...{ scale: 1, offset: 0, noValue: [] },
} as const satisfies Omit<PointFormat, 'type'>

/** A string also for a `u64` or `s64` with more digits than a double holds. */
export type PointValue = number | string | boolean

/** How many registers a point takes; for a coil or discrete input, how many bits. */
export function pointLength({ type, length }: Pick<PointFormat, 'type' | 'length'>): number {
  return type === 'string' ? (length ?? 1) : sizes[type]
}

const sizes: Readonly<Record<Exclude<PointType, 'string'>, number>> = {
  bit: 1,
  u16: 1,
  s16: 1,
  u32: 2,
  s32: 2,
  u64: 4,
  s64: 4,
  f32: 2,
  f64: 4,
}

/** Decodes a point's value from its registers (0..65535 each), or from its coil (0 or 1). */
export type PointReader = (words: readonly number[]) => PointValue

/**
 * Prepares the decoding of one point.
 * @returns a reader that needs exactly `pointLength` words. It throws Fault `point_no_value` if what the device sent is
 * no value: not a number, infinity, a text with unprintable bytes, or one of `noValue`.
 */
export function createPointReader(format: PointFormat): PointReader {
  const { type, bit } = format
  if (type === 'bit') return (words) => bitOf(words, format, bit)
  if (type === 'string') return (words) => textOf(bytesOf(words, { ...format, wordOrder: 'big' }))
  return type === 'f32' || type === 'f64' ? floatReader(format, type) : integerReader(format, type)
}

/** A value as text for people: a number with this many decimals, a bit as on or off. */
export function valueText(value: PointValue, decimals: number | null): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value === 'string' || decimals === null) return String(value)
  const text = value.toFixed(decimals)
  return Number(text) === 0 ? text.replace('-', '') : text
}

type IntegerType = 'u16' | 's16' | 'u32' | 's32' | 'u64' | 's64'

function integerReader(format: PointFormat, type: IntegerType): PointReader {
  const isNoValue = noValueCheck(format)
  const scale = decimalOf(format.scale)
  const offset = decimalOf(format.offset)
  const bits = 16 * pointLength(format)
  const isSigned = type.startsWith('s')
  return (words) => {
    const plain = plainOf(bytesOf(words, format))
    if (isNoValue(plain)) throw noValueFault(`${hexText(plain, bits)}, which means that it has no value`)
    return asValue(scaled(isSigned ? BigInt.asIntN(bits, plain) : plain, scale, offset), bits)
  }
}

/** Meters count in 64 bits beyond what a double holds: such a value becomes a text, never a rounded number. */
function asValue(decimal: Decimal, bits: number): PointValue {
  return bits === 64 && !isExact(decimal) ? textOfDecimal(decimal) : numberOf(decimal)
}

function floatReader(format: PointFormat, type: 'f32' | 'f64'): PointReader {
  const { offset, scale } = format
  const isNoValue = noValueCheck(format)
  return (words) => {
    const bytes = bytesOf(words, format)
    const plain = plainOf(bytes)
    if (isNoValue(plain)) throw noValueFault(`${hexText(plain, 8 * bytes.length)}, which means that it has no value`)
    const view = new DataView(bytes.buffer)
    const raw = type === 'f32' ? shortest(view.getFloat32(0)) : view.getFloat64(0)
    if (!Number.isFinite(raw)) throw noValueFault(Number.isNaN(raw) ? 'not a number' : 'infinity')
    if (scale === 1 && offset === 0) return raw + 0
    // A double is accurate to fifteen digits: 0.1 times 3 shall be 0.3.
    const value = Number((raw * scale + offset).toPrecision(15))
    if (!Number.isFinite(value)) throw noValueFault(`${raw}, which is beyond every number once it is scaled`)
    return value + 0
  }
}

/** The shortest decimal for the same single: a device that sends 230.1 is not read as 230.10000610351562. */
function shortest(single: number): number {
  if (!Number.isFinite(single)) return single
  for (let digits = 6; digits < 9; digits++) {
    const candidate = Number(single.toPrecision(digits))
    if (Math.fround(candidate) === single) return candidate
  }
  return Number(single.toPrecision(9))
}

function bitOf(words: readonly number[], { byteOrder }: PointFormat, bit: number | null): boolean {
  const [word = 0] = words
  if (bit === null) return word !== 0
  const [high = 0, low = 0] = bytesOf([word], { byteOrder, wordOrder: 'big' })
  return (((high << 8) | low) & (1 << bit)) !== 0
}

/**
 * Printable ASCII up to the first zero byte, without blanks at the ends.
 * @throws Fault `point_no_value` that names the byte which is no character
 */
function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0)
  const used = end < 0 ? bytes : bytes.subarray(0, end)
  const wrongAt = used.findIndex((byte) => byte < 0x20 || byte > 0x7e)
  if (wrongAt >= 0) throw noValueFault(`byte ${used[wrongAt]} at ${wrongAt}, which is not a printable character`)
  return String.fromCharCode(...used).trim()
}

/** The bytes of the registers, the most significant first. */
function bytesOf(words: readonly number[], { wordOrder, byteOrder }: Pick<PointFormat, 'wordOrder' | 'byteOrder'>) {
  const bytes = new Uint8Array(2 * words.length)
  for (const [at, word] of words.entries()) {
    const place = 2 * (wordOrder === 'big' ? at : words.length - 1 - at)
    bytes[place + (byteOrder === 'big' ? 0 : 1)] = word >> 8
    bytes[place + (byteOrder === 'big' ? 1 : 0)] = word & 0xff
  }
  return bytes
}

function plainOf(bytes: Uint8Array): bigint {
  return bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
}

function noValueCheck({ noValue }: PointFormat): (plain: bigint) => boolean {
  const marks = new Set(noValue.map((hex) => BigInt(`0x${hex}`)))
  return (plain) => marks.has(plain)
}

function hexText(plain: bigint, bits: number): string {
  return `0x${plain
    .toString(16)
    .toUpperCase()
    .padStart(bits / 4, '0')}`
}

function noValueFault(what: string): Fault {
  return new Fault('point_no_value', `The device sent ${what}.`)
}
