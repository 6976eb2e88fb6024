/** Who a meter is: its identification number, manufacturer, version and medium, and the secondary address made of them. */

/** A meter as it names itself in each telegram. */
export interface MeterIdentity {
  /** Eight digits as printed on the meter; a digit that is none is A to F. */
  id: string
  /** Three letters, such as KAM; null in the fixed data structure, which has none. */
  manufacturer: string | null
  version: number | null
  /** Code and name; the code is that of the fixed data structure where the telegram has that. */
  medium: { code: number; name: string }
}

/** The names of media. @source EN 13757-3:2013, Table 13 */
const MEDIA: Readonly<Record<number, string>> = {
  0: 'other',
  1: 'oil',
  2: 'electricity',
  3: 'gas',
  4: 'heat',
  5: 'steam',
  6: 'warm water',
  7: 'water',
  8: 'heat cost allocator',
  9: 'compressed air',
  10: 'cooling, outlet',
  11: 'cooling, inlet',
  12: 'heat, inlet',
  13: 'heat and cooling',
  14: 'bus or system',
  15: 'unknown',
  20: 'calorific value',
  21: 'hot water',
  22: 'cold water',
  23: 'hot and cold water',
  24: 'pressure',
  25: 'A/D converter',
  26: 'smoke detector',
  27: 'room sensor',
  28: 'gas detector',
  32: 'breaker',
  33: 'valve',
  37: 'display',
  40: 'waste water',
  41: 'garbage',
  49: 'communication controller',
  54: 'radio converter of the system',
  55: 'radio converter of the meter',
}

/** The name of a medium of the variable data structure. @source EN 13757-3:2013, Table 13 */
export function mediumName(code: number): string {
  return MEDIA[code] ?? `medium ${code}`
}

/** The digits of a number in BCD, the lowest byte first. @source EN 13757-3, annex A, type A */
export function bcdDigits(bytes: Uint8Array): string {
  return [...bytes].reverse().map(hexPair).join('')
}

/** Three letters of two bytes, the lower first. @source EN 13757-3, 5.5 */
export function manufacturerName(low: number, high: number): string {
  const word = low | (high << 8)
  return [10, 5, 0].map((shift) => String.fromCharCode(0x40 + ((word >> shift) & 0x1f))).join('')
}

/** The two bytes of three letters, the lower first. @source EN 13757-3, 5.5 */
export function manufacturerBytes(letters: string): [low: number, high: number] {
  const word = [...letters].reduce((sum, letter) => (sum << 5) | (letter.charCodeAt(0) & 0x1f), 0)
  return [word & 0xff, word >> 8]
}

// Secondary addresses as people write them: eight digits, or sixteen with manufacturer, version and medium.

/** What a secondary address looks like. @source EN 13757-3, 11.1, and the usual way to write one */
export const SECONDARY_PATTERN = '^[0-9A-Fa-f]{8}([0-9A-Fa-f]{8})?$'

/** What stands for anything: of the number each digit may be F, of the rest each byte FF. */
const ANYTHING = 'FFFFFFFF'

/** Sixteen digits in upper case: eight have wildcards for the rest. @source EN 13757-3, 11.3 */
export function wholeSecondary(secondary: string): string {
  return (secondary.length === 8 ? secondary + ANYTHING : secondary).toUpperCase()
}

/** Its eight bytes on the wire: the number lowest byte first, then manufacturer, version, medium. @source EN 13757-3, 11.3 */
export function secondaryBytes(secondary: string): Uint8Array {
  const pairs = wholeSecondary(secondary).match(/../g) ?? []
  const bytes = pairs.map((pair) => Number.parseInt(pair, 16))
  return Uint8Array.from([...bytes.slice(0, 4).reverse(), ...bytes.slice(4)])
}

/** The secondary address of eight bytes on the wire. @source EN 13757-3, 11.3 */
export function secondaryOfBytes(bytes: Uint8Array): string {
  return bcdDigits(bytes.subarray(0, 4)) + [...bytes.subarray(4, 8)].map(hexPair).join('')
}

/** The secondary address of a meter. @source EN 13757-3, 11.1 */
export function secondaryOf({ id, manufacturer, version, medium }: MeterIdentity): string {
  const rest =
    manufacturer === null ? '' : [...manufacturerBytes(manufacturer), version ?? 0, medium.code].map(hexPair).join('')
  return id + rest
}

/** Whether a meter is one of those that a selection means. @source EN 13757-3, 11.3 */
export function isMeantBy(secondary: string, meter: MeterIdentity): boolean {
  const mask = wholeSecondary(secondary)
  const own = secondaryOf(meter)
  const isDigitMeant = [...mask.slice(0, 8)].every((digit, at) => digit === 'F' || digit === own[at])
  if (!isDigitMeant || own.length === 8) return isDigitMeant
  const rest = [8, 10, 12, 14].map((at) => [mask.slice(at, at + 2), own.slice(at, at + 2)])
  return rest.every(([wanted, has]) => wanted === 'FF' || wanted === has)
}

function hexPair(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0')
}
