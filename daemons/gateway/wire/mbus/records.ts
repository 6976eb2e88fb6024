/** The data records of a telegram: cut by their data and value information, and decoded to values with units. */
import { Fault } from '#kit/pure/fault.ts'
import { type Decimal, decimalOf, isExact, numberOf, scaled, textOfDecimal } from '../point-value.ts'
import { bcdDigits } from './identity.ts'
import { furtherQualified, meaningOf, type QualifiedMeaning, qualified, unitMark, type VifTable } from './meanings.ts'

/** What a value is of: the present, the most or the least of a time, or of while there was an error. */
type RecordFunction = 'instantaneous' | 'maximum' | 'minimum' | 'error'

/** One value of a meter. */
export interface MbusRecord {
  /** What it is, in words, as a point names it: `energy`, `power maximum storage 1`. */
  name: string
  quantity: string
  /** The unit of `value`; null where it has none. */
  unit: string | null
  /** A text for dates, times and texts, and for a number with more digits than a double holds. */
  value: number | string | null
  /** Why there is no value, or what the meter says is wrong with it; null where all is well. */
  problem: string | null
  function: RecordFunction
  storage: number
  tariff: number
  subunit: number
  /** Its data and value information, and its data, as they were sent. */
  header: Uint8Array
  data: Uint8Array
  /** The value exactly, where it is a number. */
  decimal: Decimal | null
}

/** What the records of a telegram were cut into. */
export interface CutRecords {
  records: MbusRecord[]
  /** What only the manufacturer can read, and what follows a record that could not be cut; empty where nothing is left. */
  rest: Uint8Array
  /** The next telegram has more records. */
  hasMore: boolean
  /** Why the records could not be cut to the end. */
  problem: string | null
}

/** Data information without a data field of its own. @source EN 13757-3:2013, Table 5 */
const MANUFACTURER_DATA = 0x0f
const MANUFACTURER_DATA_MORE = 0x1f
const FILLER = 0x2f

/** How many further bytes data information and value information may have. @source EN 13757-3:2013, 6.3.5 and 6.4.2 */
const MOST_EXTENSIONS = 10

/**
 * Cuts a telegram's data into records.
 * @param isHighFirst numbers of several bytes come highest byte first, as in mode 2
 * @source EN 13757-3:2013, 6.2
 */
export function cutRecords(data: Uint8Array, isHighFirst = false): CutRecords {
  const records: MbusRecord[] = []
  const bytes = new Cursor(data)
  while (bytes.left > 0) {
    const from = bytes.at
    const dif = bytes.next()
    if (dif === FILLER) continue
    if (dif === MANUFACTURER_DATA || dif === MANUFACTURER_DATA_MORE)
      return { records, rest: data.subarray(bytes.at), hasMore: dif === MANUFACTURER_DATA_MORE, problem: null }
    try {
      records.push(readRecord(bytes, from, isHighFirst))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return { records, rest: data.subarray(from), hasMore: false, problem: error.message }
    }
  }
  return { records, rest: new Uint8Array(0), hasMore: false, problem: null }
}

/** A record of the fixed data structure, or of another without value information. @source our own names */
export function namedRecord(record: Omit<MbusRecord, 'name'>, words: readonly string[] = []): MbusRecord {
  const { quantity, storage, subunit, tariff, unit } = record
  const all = [
    quantity,
    ...words,
    unitMark({ quantity, unit }),
    record.function === 'instantaneous' ? '' : record.function,
    storage === 0 ? '' : `storage ${storage}`,
    tariff === 0 ? '' : `tariff ${tariff}`,
    subunit === 0 ? '' : `subunit ${subunit}`,
  ]
  return { name: all.filter(Boolean).join(' '), ...record }
}

/**
 * Names that differ: where a meter has several records of one name, `#2` is behind that of the second.
 * @source our own names
 */
export function withOwnNames(records: readonly MbusRecord[]): MbusRecord[] {
  const seen = new Map<string, number>()
  return records.map((record) => {
    let count = (seen.get(record.name) ?? 0) + 1
    const own = () => (count === 1 ? record.name : `${record.name} #${count}`)
    // A meter may have written such a number into a unit of its own.
    while (count > 1 && seen.has(own())) count++
    seen.set(own(), 1)
    seen.set(record.name, count)
    return count === 1 ? record : { ...record, name: own() }
  })
}

/** Reads bytes one after the other. */
class Cursor {
  readonly #bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.at
  }

  /** @throws Fault `mbus_malformed` */
  next(): number {
    return this.take(1)[0] ?? 0
  }

  take(count: number): Uint8Array {
    if (count > this.left)
      throw malformed(`a record needs ${count} bytes more at byte ${this.at}, and ${this.left} are left`)
    this.at += count
    return this.#bytes.subarray(this.at - count, this.at)
  }

  since(from: number): Uint8Array {
    return this.#bytes.subarray(from, this.at)
  }
}

function malformed(sentence: string): Fault {
  return new Fault('mbus_malformed', sentence)
}

const FUNCTIONS: readonly RecordFunction[] = ['instantaneous', 'maximum', 'minimum', 'error']

/** @param from where its data information begins, the first byte of which was read */
function readRecord(bytes: Cursor, from: number, isHighFirst: boolean): MbusRecord {
  const place = readDataInformation(bytes, bytes.since(from)[0] ?? 0)
  const { isOfManufacturer, meaning } = readValueInformation(bytes)
  const header = bytes.since(from)
  const { coding, raw } = readData(bytes, place.field)
  const type = isOfManufacturer ? 'raw' : meaning.type
  const value = decoded({ coding, type, bytes: isHighFirst ? raw.toReversed() : raw, meaning })
  const { error, qualifiers, quantity, unit } = meaning
  const { function: of, storage, subunit, tariff } = place
  const facts = { ...(error === null ? value : { ...NOTHING, problem: `the meter says: ${error}` }), header, data: raw }
  return namedRecord({ quantity, unit, function: of, storage, tariff, subunit, ...facts }, qualifiers)
}

// Data information: how the data is coded, and of which storage, tariff and subunit.

interface Place {
  /** The low four bits of the DIF. */
  field: number
  function: RecordFunction
  storage: number
  tariff: number
  subunit: number
}

/** @source EN 13757-3:2013, 6.3 */
function readDataInformation(bytes: Cursor, dif: number): Place {
  const field = dif & 0x0f
  if (field === 0x0f) throw malformed(`the data information ${hexText(Uint8Array.of(dif))} has no meaning`)
  let storage = (dif >> 6) & 1
  let tariff = 0
  let subunit = 0
  let isExtended = dif >= 0x80
  for (let count = 0; isExtended; count++) {
    if (count >= MOST_EXTENSIONS) throw malformed(`a record has more than ${MOST_EXTENSIONS} bytes of data information`)
    const dife = bytes.next()
    // Beyond 32 bits in the end, so no shifts.
    storage += (dife & 0x0f) * 2 ** (1 + 4 * count)
    tariff += ((dife >> 4) & 3) * 2 ** (2 * count)
    subunit += ((dife >> 6) & 1) * 2 ** count
    isExtended = dife >= 0x80
  }
  return { field, function: FUNCTIONS[(dif >> 4) & 3] ?? 'instantaneous', storage, tariff, subunit }
}

// Value information: quantity, unit, power of ten, and qualifiers.

interface ValueInformation {
  meaning: QualifiedMeaning
  /** The data is coded as only the manufacturer knows. */
  isOfManufacturer: boolean
}

const PLAIN_TEXT = 0x7c
const MANUFACTURER = 0x7f

/** @source EN 13757-3:2013, 6.4 */
function readValueInformation(bytes: Cursor): ValueInformation {
  const vif = bytes.next()
  const code = vif & 0x7f
  const table: VifTable = vif === 0xfb || vif === 0xfd ? vif : 0
  if (code === MANUFACTURER) {
    const further = vif >= 0x80 ? readManufacturerBytes(bytes, 0) : ''
    return { meaning: plainMeaning(`manufacturer specific${further}`, 'raw'), isOfManufacturer: true }
  }
  if (code === PLAIN_TEXT) return readQualifiers(bytes, readPlainText(bytes), vif >= 0x80)
  if (table === 0) return readQualifiers(bytes, { ...meaningOf(0, code), ...PLAIN }, vif >= 0x80)
  const further = bytes.next()
  return readQualifiers(bytes, { ...meaningOf(table, further & 0x7f), ...PLAIN }, further >= 0x80)
}

const PLAIN = { qualifiers: [], offset: null, error: null } as const

function plainMeaning(quantity: string, type: 'number' | 'raw', unit: string | null = null): QualifiedMeaning {
  return { quantity, unit, exponent: 0, type, ...PLAIN }
}

/** A unit as text, last letter first. @source EN 13757-3:2013, 6.4.6 */
function readPlainText(bytes: Cursor): QualifiedMeaning {
  const unit = latinText(bytes.take(bytes.next())).replace(/\p{Cc}/gu, '?')
  return plainMeaning(`in ${unit === '' ? 'no unit' : unit}`, 'number', unit === '' ? null : unit)
}

function readQualifiers(bytes: Cursor, given: QualifiedMeaning, hasMore: boolean): ValueInformation {
  let meaning = given
  let isExtended = hasMore
  for (let count = 0; isExtended; count++) {
    if (count >= MOST_EXTENSIONS)
      throw malformed(`a record has more than ${MOST_EXTENSIONS} bytes of value information`)
    const vife = bytes.next()
    const code = vife & 0x7f
    isExtended = vife >= 0x80
    if (code === MANUFACTURER) {
      // Only the bytes that follow are the manufacturer's: the data is coded as ever.
      const further = isExtended ? readManufacturerBytes(bytes, count + 1) : ''
      const qualifiers = [...meaning.qualifiers, `manufacturer specific${further}`]
      return { meaning: { ...meaning, qualifiers }, isOfManufacturer: false }
    }
    if (code === PLAIN_TEXT && isExtended) {
      const further = bytes.next()
      meaning = furtherQualified(meaning, further & 0x7f)
      isExtended = further >= 0x80
    } else meaning = qualified(meaning, code)
  }
  return { meaning, isOfManufacturer: false }
}

/** Bytes that belong to the manufacturer's meaning, as the end of its name. */
function readManufacturerBytes(bytes: Cursor, count: number): string {
  let text = ''
  for (let at = count; ; at++) {
    if (at >= MOST_EXTENSIONS) throw malformed(`a record has more than ${MOST_EXTENSIONS} bytes of value information`)
    const vife = bytes.next()
    text += ` ${hexText(Uint8Array.of(vife))}`
    if (vife < 0x80) return text
  }
}

// Data: as many bytes as the data field says, decoded by it.

type Coding = 'none' | 'integer' | 'real' | 'bcd' | 'negative bcd' | 'text' | 'binary'

const INTEGER_BYTES: Readonly<Record<number, number>> = { 1: 1, 2: 2, 3: 3, 4: 4, 6: 6, 7: 8 }
const BCD_BYTES: Readonly<Record<number, number>> = { 9: 1, 10: 2, 11: 3, 12: 4, 14: 6 }
const REAL = 5
const VARIABLE = 13

/** @source EN 13757-3:2013, Table 4 */
function readData(bytes: Cursor, field: number): { coding: Coding; raw: Uint8Array } {
  const integer = INTEGER_BYTES[field]
  if (integer !== undefined) return { coding: 'integer', raw: bytes.take(integer) }
  const bcd = BCD_BYTES[field]
  if (bcd !== undefined) return { coding: 'bcd', raw: bytes.take(bcd) }
  if (field === REAL) return { coding: 'real', raw: bytes.take(4) }
  if (field === VARIABLE) return readVariable(bytes)
  return { coding: 'none', raw: new Uint8Array(0) }
}

/** @source EN 13757-3:2013, Table 6 */
function readVariable(bytes: Cursor): { coding: Coding; raw: Uint8Array } {
  const length = bytes.next()
  if (length < 0xc0) return { coding: 'text', raw: bytes.take(length) }
  if (length <= 0xc9) return { coding: 'bcd', raw: bytes.take(length - 0xc0) }
  if (length >= 0xd0 && length <= 0xd9) return { coding: 'negative bcd', raw: bytes.take(length - 0xd0) }
  if (length >= 0xe0 && length <= 0xef) return { coding: 'binary', raw: bytes.take(length - 0xe0) }
  if (length >= 0xf0 && length <= 0xf4) return { coding: 'binary', raw: bytes.take(4 * (length - 0xec)) }
  if (length === 0xf5 || length === 0xf6) return { coding: 'binary', raw: bytes.take(length === 0xf5 ? 48 : 64) }
  throw malformed(`the length ${hexText(Uint8Array.of(length))} of a record is reserved`)
}

type Value = Pick<MbusRecord, 'value' | 'problem' | 'decimal'>
const NOTHING = { value: null, problem: null, decimal: null } as const

interface Coded {
  coding: Coding
  type: QualifiedMeaning['type']
  /** The lowest byte first. */
  bytes: Uint8Array
  meaning: QualifiedMeaning
}

function decoded({ bytes, coding, meaning, type }: Coded): Value {
  if (coding === 'none' || type === 'raw') return NOTHING
  if (coding === 'text') return textValue(bytes)
  if (type === 'date' && coding === 'integer') return dateValue(bytes)
  if (coding === 'real') return realValue(bytes, meaning)
  if (coding === 'integer') return integerValue(bytes, type === 'bits', meaning)
  // A long binary string has no value of its own.
  if (coding === 'binary') return bytes.length > 0 && bytes.length <= 8 ? integerValue(bytes, true, meaning) : NOTHING
  return bcdValue(bytes, coding === 'negative bcd', meaning)
}

function numberValue(digits: bigint, { exponent, offset }: QualifiedMeaning): Value {
  const decimal = offset === null ? { digits, exponent } : scaled(digits, { digits: 1n, exponent }, offset)
  return { value: isExact(decimal) ? numberOf(decimal) : textOfDecimal(decimal), problem: null, decimal }
}

/** A signed integer is none where only its highest bit is set. @source EN 13757-3:2013, annex A, types B, C and D */
function integerValue(bytes: Uint8Array, isUnsigned: boolean, meaning: QualifiedMeaning): Value {
  const plain = bytes.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n)
  if (isUnsigned) return numberValue(plain, meaning)
  const bits = 8 * bytes.length
  if (plain === 1n << BigInt(bits - 1)) return none('the meter marks it as invalid')
  return numberValue(BigInt.asIntN(bits, plain), meaning)
}

/**
 * A minus is the digit F in the highest place; another digit above 9 is how a meter shows that it has no number.
 * @source EN 13757-3:2013, annex A, type A, and annex B
 */
function bcdValue(bytes: Uint8Array, isNegative: boolean, meaning: QualifiedMeaning): Value {
  const digits = bcdDigits(bytes)
  const hasMinus = digits.startsWith('F') && digits.length > 1
  const number = hasMinus ? digits.slice(1) : digits
  if (!/^\d+$/.test(number)) return none(`its digits are ${digits === '' ? 'none' : digits}`)
  return numberValue(hasMinus !== isNegative ? -BigInt(number) : BigInt(number), meaning)
}

/** @source EN 13757-3:2013, annex A, type H */
function realValue(bytes: Uint8Array, meaning: QualifiedMeaning): Value {
  const single = new DataView(bytes.slice().buffer).getFloat32(0, true)
  if (!Number.isFinite(single)) return none('it is not a number')
  // The shortest decimal for the same single: a meter that sends 230.1 is not read as 230.10000610351562.
  const digits = [6, 7, 8].find((count) => Math.fround(Number(single.toPrecision(count))) === single) ?? 9
  const { digits: plain, exponent } = decimalOf(Number(single.toPrecision(digits)))
  return numberValue(plain, { ...meaning, exponent: meaning.exponent + exponent })
}

function textValue(bytes: Uint8Array): Value {
  const text = latinText(bytes)
  const isPrintable = [...text].every((letter) => letter >= ' ' && letter !== '\u007f')
  return isPrintable ? { ...NOTHING, value: text.trim() } : none('its text has unprintable characters')
}

/** ISO 8859-1, last letter first. */
function latinText(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.toReversed()).replace(/^\0+|\0+$/g, '')
}

function none(problem: string): Value {
  return { ...NOTHING, problem }
}

function hexText(bytes: Uint8Array): string {
  return bcdDigits(bytes)
}

// Dates and times. They are those of the meter's clock, whose time zone nobody knows.

/** By their length: type G (date), J (time), F (date and time), I (with seconds). @source EN 13757-3:2013, annex A */
function dateValue(bytes: Uint8Array): Value {
  const [a = 0, b = 0, c = 0, d = 0, e = 0] = bytes
  const text =
    bytes.length === 2
      ? dateText(a, b)
      : bytes.length === 3
        ? timeText(c, b, a)
        : bytes.length === 4
          ? dateTimeText(dateText(c, d, (b >> 5) & 3), timeText(b, a), a)
          : bytes.length === 6
            ? dateTimeText(dateText(d, e), timeText(c, b, a), b)
            : null
  return text === null ? none('it is not a date') : { ...NOTHING, value: text }
}

/** @param minutes holds the mark that the time is not valid */
function dateTimeText(date: string | null, time: string | null, minutes: number): string | null {
  return date === null || time === null || minutes >= 0x80 ? null : `${date}T${time}`
}

/** Of each month, in a leap year. */
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** @param century of type F: 0 to 2, from 1900 on; meters that leave it at 0 mean 2000 up to the year 80 */
function dateText(low: number, high: number, century = 0): string | null {
  const day = low & 0x1f
  const month = high & 0x0f
  const year = (low >> 5) | ((high >> 4) << 3)
  if (day < 1 || month < 1 || month > 12 || year > 99) return null
  const whole = 1900 + 100 * (century === 0 && year <= 80 ? 1 : century) + year
  const isLeap = whole % 4 === 0 && (whole % 100 !== 0 || whole % 400 === 0)
  if (day > (month === 2 && !isLeap ? 28 : (DAYS[month - 1] ?? 0))) return null
  return `${whole}-${pair(month)}-${pair(day)}`
}

function timeText(hours: number, minutes: number, seconds?: number): string | null {
  const [hour, minute, second] = [hours & 0x1f, minutes & 0x3f, (seconds ?? 0) & 0x3f]
  if (hour > 23 || minute > 59 || second > 59) return null
  return [hour, minute, ...(seconds === undefined ? [] : [second])].map(pair).join(':')
}

function pair(number: number): string {
  return String(number).padStart(2, '0')
}
