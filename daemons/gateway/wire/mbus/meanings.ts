/** What the value information of a record means: its quantity, its unit and its power of ten. */

/** What a record is about. */
export interface Meaning {
  /** In words, such as `flow temperature`. */
  quantity: string
  /** Null where it has none. */
  unit: string | null
  /** The raw number times ten to the power of this is in `unit`. */
  exponent: number
  /**
   * How its bytes are read: `date` by their count, `bits` without a sign, `raw` not at all, as only the manufacturer
   * knows how; all others as the data information says.
   */
  type: 'number' | 'date' | 'bits' | 'raw'
}

type Row = readonly [
  from: number,
  to: number,
  quantity: string,
  unit: string | null | readonly string[],
  exponent: number,
  type?: Meaning['type'],
]

/** One unit for each code. */
const TIMES = ['s', 'min', 'h', 'd'] as const
const LONG_TIMES = ['h', 'd', 'months', 'years'] as const

// Rows of codes: the exponent is that of the first, and one more for each further code; where the units are a list, they
// change from code to code instead.

/** @source EN 13757-3:2013, Table 10 */
const PRIMARY: readonly Row[] = [
  [0x00, 0x07, 'energy', 'Wh', -3],
  [0x08, 0x0f, 'energy', 'J', 0],
  [0x10, 0x17, 'volume', 'm³', -6],
  [0x18, 0x1f, 'mass', 'kg', -3],
  [0x20, 0x23, 'on time', TIMES, 0],
  [0x24, 0x27, 'operating time', TIMES, 0],
  [0x28, 0x2f, 'power', 'W', -3],
  [0x30, 0x37, 'power', 'J/h', 0],
  [0x38, 0x3f, 'volume flow', 'm³/h', -6],
  [0x40, 0x47, 'volume flow', 'm³/min', -7],
  [0x48, 0x4f, 'volume flow', 'm³/s', -9],
  [0x50, 0x57, 'mass flow', 'kg/h', -3],
  [0x58, 0x5b, 'flow temperature', '°C', -3],
  [0x5c, 0x5f, 'return temperature', '°C', -3],
  [0x60, 0x63, 'temperature difference', 'K', -3],
  [0x64, 0x67, 'external temperature', '°C', -3],
  [0x68, 0x6b, 'pressure', 'bar', -3],
  [0x6c, 0x6c, 'date', null, 0, 'date'],
  [0x6d, 0x6d, 'date and time', null, 0, 'date'],
  [0x6e, 0x6e, 'heat cost allocation', 'HCA', 0],
  [0x70, 0x73, 'averaging duration', TIMES, 0],
  [0x74, 0x77, 'actuality duration', TIMES, 0],
  [0x78, 0x78, 'fabrication number', null, 0, 'bits'],
  [0x79, 0x79, 'identification', null, 0, 'bits'],
  [0x7a, 0x7a, 'bus address', null, 0, 'bits'],
  [0x7e, 0x7e, 'any', null, 0],
]

/** After the byte FD. @source EN 13757-3:2013, Table 12 */
const MAIN_EXTENSION: readonly Row[] = [
  [0x00, 0x03, 'credit', 'currency units', -3],
  [0x04, 0x07, 'debit', 'currency units', -3],
  [0x08, 0x08, 'access number', null, 0, 'bits'],
  [0x09, 0x09, 'medium', null, 0, 'bits'],
  [0x0a, 0x0a, 'manufacturer', null, 0, 'bits'],
  [0x0b, 0x0b, 'parameter set', null, 0, 'bits'],
  [0x0c, 0x0c, 'model version', null, 0, 'bits'],
  [0x0d, 0x0d, 'hardware version', null, 0, 'bits'],
  [0x0e, 0x0e, 'firmware version', null, 0, 'bits'],
  [0x0f, 0x0f, 'software version', null, 0, 'bits'],
  [0x10, 0x10, 'customer location', null, 0, 'bits'],
  [0x11, 0x11, 'customer', null, 0, 'bits'],
  [0x12, 0x12, 'access code of user', null, 0, 'bits'],
  [0x13, 0x13, 'access code of operator', null, 0, 'bits'],
  [0x14, 0x14, 'access code of system operator', null, 0, 'bits'],
  [0x15, 0x15, 'access code of developer', null, 0, 'bits'],
  [0x16, 0x16, 'password', null, 0, 'bits'],
  [0x17, 0x17, 'error flags', null, 0, 'bits'],
  [0x18, 0x18, 'error mask', null, 0, 'bits'],
  [0x1a, 0x1a, 'digital output', null, 0, 'bits'],
  [0x1b, 0x1b, 'digital input', null, 0, 'bits'],
  [0x1c, 0x1c, 'baud rate', 'baud', 0, 'bits'],
  [0x1d, 0x1d, 'response delay', 'bit times', 0, 'bits'],
  [0x1e, 0x1e, 'retries', null, 0, 'bits'],
  [0x1f, 0x1f, 'remote control', null, 0, 'bits'],
  [0x20, 0x20, 'first storage number', null, 0, 'bits'],
  [0x21, 0x21, 'last storage number', null, 0, 'bits'],
  [0x22, 0x22, 'size of storage block', null, 0, 'bits'],
  [0x24, 0x27, 'storage interval', TIMES, 0],
  [0x28, 0x29, 'storage interval', ['months', 'years'], 0],
  [0x2c, 0x2f, 'time since readout', TIMES, 0],
  [0x30, 0x30, 'start of tariff', null, 0, 'date'],
  [0x31, 0x33, 'duration of tariff', ['min', 'h', 'd'], 0],
  [0x34, 0x37, 'period of tariff', TIMES, 0],
  [0x38, 0x39, 'period of tariff', ['months', 'years'], 0],
  [0x3a, 0x3a, 'number', null, 0],
  [0x40, 0x4f, 'voltage', 'V', -9],
  [0x50, 0x5f, 'current', 'A', -12],
  [0x60, 0x60, 'resets', null, 0, 'bits'],
  [0x61, 0x61, 'cumulations', null, 0, 'bits'],
  [0x62, 0x62, 'control signal', null, 0, 'bits'],
  [0x63, 0x63, 'day of week', null, 0, 'bits'],
  [0x64, 0x64, 'week number', null, 0, 'bits'],
  [0x65, 0x65, 'time of day change', null, 0, 'bits'],
  [0x66, 0x66, 'parameter activation', null, 0, 'bits'],
  [0x67, 0x67, 'supplier information', null, 0, 'raw'],
  [0x68, 0x6b, 'time since cumulation', LONG_TIMES, 0],
  [0x6c, 0x6f, 'operating time of battery', LONG_TIMES, 0],
  [0x70, 0x70, 'battery change', null, 0, 'date'],
  [0x71, 0x71, 'RF level', 'dBm', 0],
  [0x72, 0x72, 'daylight saving', null, 0, 'raw'],
  [0x73, 0x73, 'listening window', null, 0, 'raw'],
  [0x74, 0x74, 'remaining battery life', 'd', 0],
  [0x75, 0x75, 'stops', null, 0, 'bits'],
  [0x76, 0x76, 'manufacturer container', null, 0, 'raw'],
]

/** After the byte FB. @source EN 13757-3:2013, Table 14 */
const ALTERNATE_EXTENSION: readonly Row[] = [
  [0x00, 0x01, 'energy', 'Wh', 5],
  [0x02, 0x03, 'reactive energy', 'varh', 3],
  [0x04, 0x05, 'apparent energy', 'VAh', 3],
  [0x08, 0x09, 'energy', 'J', 8],
  [0x0c, 0x0f, 'energy', 'cal', 5],
  [0x10, 0x11, 'volume', 'm³', 2],
  [0x14, 0x17, 'reactive power', 'var', 0],
  [0x18, 0x19, 'mass', 'kg', 5],
  [0x1a, 0x1b, 'relative humidity', '%', -1],
  [0x20, 0x20, 'volume', 'ft³', 0],
  [0x21, 0x21, 'volume', 'ft³', -1],
  [0x22, 0x23, 'volume', 'US gal', -1],
  [0x24, 0x24, 'volume flow', 'US gal/min', -3],
  [0x25, 0x25, 'volume flow', 'US gal/min', 0],
  [0x26, 0x26, 'volume flow', 'US gal/h', 0],
  [0x28, 0x29, 'power', 'W', 5],
  [0x2a, 0x2a, 'phase between voltages', '°', -1],
  [0x2b, 0x2b, 'phase between voltage and current', '°', -1],
  [0x2c, 0x2f, 'frequency', 'Hz', -3],
  [0x30, 0x31, 'power', 'J/h', 8],
  [0x34, 0x37, 'apparent power', 'VA', 0],
  [0x58, 0x5b, 'flow temperature', '°F', -3],
  [0x5c, 0x5f, 'return temperature', '°F', -3],
  [0x60, 0x63, 'temperature difference', '°F', -3],
  [0x64, 0x67, 'external temperature', '°F', -3],
  [0x70, 0x73, 'temperature limit', '°F', -3],
  [0x74, 0x77, 'temperature limit', '°C', -3],
  [0x78, 0x7f, 'maximum power count', 'W', -3],
]

/** The tables by the byte that leads to them; 0: none does. */
const TABLES = { 0: PRIMARY, 251: ALTERNATE_EXTENSION, 253: MAIN_EXTENSION } as const

/** The byte that leads to a table; 0: none does, so it is the first. */
export type VifTable = keyof typeof TABLES

/**
 * What a code of a table means. One that has no meaning yet keeps its number in its name.
 * @param code 0..127, without the extension bit
 * @source EN 13757-3:2013, 6.4
 */
export function meaningOf(table: VifTable, code: number): Meaning {
  const row = TABLES[table].find(([from, to]) => code >= from && code <= to)
  if (!row) return { quantity: `unknown ${hex(table)}${hex(code)}`, unit: null, exponent: 0, type: 'number' }
  const [from, , quantity, unit, exponent, type = 'number'] = row
  if (Array.isArray(unit)) return { quantity, unit: unit[code - from] ?? null, exponent, type }
  return { quantity, unit: unit as string | null, exponent: exponent + code - from, type }
}

/** The units in which quantities usually come; in another one it is another value, as its name then says. */
const USUAL = new Set(['Wh', 'm³', 'kg', 'h', 'W', 'm³/h', '°C', 'K'])

/** Quantities that come in several units. */
const SEVERAL = new Set(
  [...Map.groupBy(Object.values(TABLES).flat(), ([, , quantity]) => quantity)].flatMap(([quantity, rows]) =>
    new Set(rows.flatMap((row) => row[3])).size > 1 ? [quantity] : [],
  ),
)

/** `(J)` where the unit of a quantity is another than the usual one, else nothing. @source our own names */
export function unitMark({ quantity, unit }: Pick<Meaning, 'quantity' | 'unit'>): string {
  return unit !== null && !USUAL.has(unit) && SEVERAL.has(quantity) ? `(${unit})` : ''
}

function hex(byte: number): string {
  return byte === 0 ? '' : byte.toString(16).toUpperCase().padStart(2, '0')
}

// What further bytes add to a meaning.

/** Words for single codes. @source EN 13757-3:2013, Table 15 */
const QUALIFIERS: Readonly<Record<number, string>> = {
  18: 'average',
  19: 'inverse compact profile',
  29: 'standard conform data',
  30: 'compact profile with registers',
  31: 'compact profile',
  32: 'per second',
  33: 'per minute',
  34: 'per hour',
  35: 'per day',
  36: 'per week',
  37: 'per month',
  38: 'per year',
  39: 'per measurement',
  40: 'per input pulse on channel 0',
  41: 'per input pulse on channel 1',
  42: 'per output pulse on channel 0',
  43: 'per output pulse on channel 1',
  44: 'per litre',
  45: 'per m³',
  46: 'per kg',
  47: 'per K',
  48: 'per kWh',
  49: 'per GJ',
  50: 'per kW',
  51: 'per K·l',
  52: 'per V',
  53: 'per A',
  54: 'times s',
  55: 'times s/V',
  56: 'times s/A',
  58: 'uncorrected',
  59: 'positive contributions',
  60: 'negative contributions',
  61: 'alternate unit',
  62: 'at base conditions',
  63: 'with OBIS declaration',
  104: 'while below lower limit',
  105: 'leakage',
  108: 'while above upper limit',
  109: 'overflow',
  126: 'future',
}

/** After the byte FC. @source EN 13757-3:2013, Table 16 */
const FURTHER_QUALIFIERS: Readonly<Record<number, string>> = {
  1: 'phase L1',
  2: 'phase L2',
  3: 'phase L3',
  4: 'neutral',
  5: 'between L1 and L2',
  6: 'between L2 and L3',
  7: 'between L3 and L1',
  8: 'quadrant 1',
  9: 'quadrant 2',
  10: 'quadrant 3',
  11: 'quadrant 4',
  12: 'import minus export',
  13: 'alternative non-metric unit',
  16: 'all contributions',
  17: 'unsigned',
  18: 'bits',
}

/**
 * What a meter says is wrong with a record, in the standard's words: "not implemented" is said of the meter, not of us.
 * @source EN 13757-3:2013, Table 17
 */
const RECORD_ERRORS: Readonly<Record<number, string>> = {
  1: 'too many DIFEs',
  2: 'storage number not implemented',
  3: 'subunit not implemented',
  4: 'tariff not implemented',
  5: 'function not implemented',
  6: 'data class not implemented',
  7: 'data size not implemented',
  11: 'too many VIFEs',
  12: 'illegal VIF group',
  13: 'illegal VIF exponent',
  14: 'VIF and DIF do not match',
  15: 'action not implemented',
  21: 'no data available',
  22: 'data overflow',
  23: 'data underflow',
  24: 'data error',
  28: 'premature end of record',
}

const FIRST = ['first', 'last'] as const
const LIMIT = ['lower limit', 'upper limit'] as const

/** A meaning with what further bytes have added to it. */
export interface QualifiedMeaning extends Meaning {
  qualifiers: readonly string[]
  /** Is added to the value, after its power of ten. */
  offset: { digits: bigint; exponent: number } | null
  /** What the meter says is wrong with the record. */
  error: string | null
}

/**
 * Adds what one further byte means.
 * @param code 0..127, without the extension bit; 0x7C and 0x7F are read by whoever reads the bytes
 * @source EN 13757-3:2013, 6.4.8
 */
export function qualified(meaning: QualifiedMeaning, code: number): QualifiedMeaning {
  const add = (word: string, change: Partial<QualifiedMeaning> = {}): QualifiedMeaning => ({
    ...meaning,
    ...change,
    qualifiers: [...meaning.qualifiers, word],
  })
  const error = RECORD_ERRORS[code]
  if (code === 0) return meaning
  if (error !== undefined) return { ...meaning, error }
  const known = QUALIFIERS[code]
  if (known !== undefined) return add(known)
  if (code === 0x39) return add('start', asDate)
  if (code >= 0x40 && code <= 0x4f) return atLimit(code, add)
  if (code >= 0x50 && code <= 0x5f)
    return add(`duration of ${first(code >> 2)} ${limit(code >> 3)} exceed`, asTime(code))
  if (code >= 0x60 && code <= 0x67) return add(`duration of ${first(code >> 2)}`, asTime(code))
  if (code >= 0x6a && code <= 0x6f) return add(`${code & 1 ? 'end' : 'begin'} of ${first(code >> 2)}`, asDate)
  if (code >= 0x70 && code <= 0x77) return { ...meaning, exponent: meaning.exponent + (code & 7) - 6 }
  if (code >= 0x78 && code <= 0x7b) return { ...meaning, offset: { digits: 1n, exponent: (code & 3) - 3 } }
  if (code === 0x7d) return { ...meaning, exponent: meaning.exponent + 3 }
  return add(`qualifier ${hex(code)}`)
}

/** The same of a byte after FC. @source EN 13757-3:2013, Table 16 */
export function furtherQualified(meaning: QualifiedMeaning, code: number): QualifiedMeaning {
  const word = FURTHER_QUALIFIERS[code] ?? `qualifier FC${hex(code)}`
  const type = code === 0x11 || code === 0x12 ? ({ type: 'bits' } as const) : {}
  return { ...meaning, ...type, qualifiers: [...meaning.qualifiers, word] }
}

const asDate = { unit: null, exponent: 0, type: 'date' } as const

function asTime(code: number): Pick<Meaning, 'unit' | 'exponent' | 'type'> {
  return { unit: TIMES[code & 3] ?? null, exponent: 0, type: 'number' }
}

function first(bits: number): string {
  return FIRST[bits & 1] ?? ''
}

function limit(bits: number): string {
  return LIMIT[bits & 1] ?? ''
}

/** 0x40 to 0x4F: the limit itself, how often it was exceeded, and when. */
function atLimit(code: number, add: (word: string, change?: Partial<QualifiedMeaning>) => QualifiedMeaning) {
  const which = limit(code >> 3)
  if ((code & 7) === 0) return add(which)
  if ((code & 7) === 1) return add(`exceeds of ${which}`, { unit: null, exponent: 0, type: 'number' })
  if ((code & 2) === 0) return add(`qualifier ${hex(code)}`)
  return add(`${code & 1 ? 'end' : 'begin'} of ${first(code >> 2)} ${which} exceed`, asDate)
}
