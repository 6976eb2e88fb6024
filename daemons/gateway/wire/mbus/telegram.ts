/** A telegram of a meter: who it is, how it is, and its records; or the error that it answers with instead. */
import { openLongFrame } from './frames.ts'
import { bcdDigits, type MeterIdentity, manufacturerName, mediumName } from './identity.ts'
import { cutRecords, type MbusRecord, namedRecord } from './records.ts'

/** What a telegram holds. */
export interface Telegram {
  /** Control information: how the rest is built. */
  ci: number
  /** Null in telegrams that do not name their meter. */
  meter: MeterIdentity | null
  /** Counts the telegrams of a meter; null in telegrams without it. */
  accessNumber: number | null
  /** What the meter says of itself; empty where all is well. */
  status: readonly string[]
  /** The records are encrypted, so that there are none here: `rest` holds them. */
  isEncrypted: boolean
  records: readonly MbusRecord[]
  /** What only the manufacturer can read, or what could not be read at all. */
  rest: Uint8Array
  /** The next telegram has more records. */
  hasMore: boolean
  /** Why the records were not read to the end; null where they were. */
  problem: string | null
}

// Control information. @source EN 13757-3:2013, Table 1

const ERROR = 0x70
const VARIABLE = 0x72
const FIXED = 0x73
const VARIABLE_HIGH_FIRST = 0x76
const FIXED_HIGH_FIRST = 0x77
const WITHOUT_HEADER = 0x78
const SHORT_HEADER = 0x7a

const LONG_HEADER_BYTES = 12
const SHORT_HEADER_BYTES = 4
const FIXED_BYTES = 16

/**
 * What a meter says that it cannot do, in the standard's words: "not implemented" is said of the meter, not of us.
 * @source EN 13757-3:2013, Table 8
 */
const ERRORS: Readonly<Record<number, string>> = {
  0: 'unspecified error',
  1: 'control information not implemented',
  2: 'buffer too long',
  3: 'too many records',
  4: 'premature end of record',
  5: 'more than ten DIFEs',
  6: 'more than ten VIFEs',
  8: 'application too busy',
  9: 'too many readouts',
}

/** The error that a frame tells instead of data; null where it tells none. @source EN 13757-3:2013, 8 */
export function applicationError(frame: Uint8Array): { code: number; name: string } | null {
  const opened = openLongFrame(frame)
  if (opened?.ci !== ERROR) return null
  const [code = 0] = opened.data
  return { code, name: ERRORS[code] ?? `error ${code}` }
}

/**
 * Reads the telegram of a frame that is whole and tells no error.
 * @returns what could be read, however little; it never throws
 * @source EN 13757-3:2013, 5 and 6
 */
export function openTelegram(frame: Uint8Array): Telegram {
  const { ci = 0, data = new Uint8Array(0) } = openLongFrame(frame) ?? {}
  switch (ci) {
    case VARIABLE:
    case VARIABLE_HIGH_FIRST:
      return data.length < LONG_HEADER_BYTES ? unread(ci, data, tooShort(data)) : openVariable(ci, data)
    case FIXED:
    case FIXED_HIGH_FIRST:
      return data.length < FIXED_BYTES ? unread(ci, data, tooShort(data)) : openFixed(ci, data)
    case SHORT_HEADER: {
      if (data.length < SHORT_HEADER_BYTES) return unread(ci, data, tooShort(data))
      const [accessNumber = 0, status = 0] = data
      const head = { ci, meter: null, accessNumber, status: statusWords(status) }
      return withRecords(head, data.subarray(SHORT_HEADER_BYTES), data.subarray(2, 4))
    }
    case WITHOUT_HEADER:
      return withRecords({ ci, meter: null, accessNumber: null, status: [] }, data, new Uint8Array(2))
    default:
      return unread(ci, data, `control information ${hex(ci)} is not that of a meter's data`)
  }
}

/** Who sent a frame that is whole, as far as it says so. @source EN 13757-3:2013, 5.4 */
export function meterOfFrame(frame: Uint8Array): MeterIdentity | null {
  const opened = openLongFrame(frame)
  if (!opened) return null
  const { ci, data } = opened
  const isVariable = ci === VARIABLE || ci === VARIABLE_HIGH_FIRST
  if (isVariable && data.length >= LONG_HEADER_BYTES) return variableIdentity(ci, data)
  const isFixed = ci === FIXED || ci === FIXED_HIGH_FIRST
  return isFixed && data.length >= FIXED_BYTES ? fixedIdentity(ci, data) : null
}

function tooShort(data: Uint8Array): string {
  return `its header has only ${data.length} bytes`
}

function unread(ci: number, rest: Uint8Array, problem: string): Telegram {
  const nothing = { meter: null, accessNumber: null, status: [], isEncrypted: false, records: [], hasMore: false }
  return { ci, ...nothing, rest, problem }
}

type Head = Pick<Telegram, 'ci' | 'meter' | 'accessNumber' | 'status'>

/** The encryption modes: in the low five bits of the higher byte of the configuration word. @source EN 13757-3:2013, 5.12 */
const MODE_MASK = 0x1f
/** DES: the lower byte is how many bytes are encrypted. AES: its high four bits are how many blocks of 16 bytes. */
const DES_MODES = [2, 3]
const AES_MODES = [4, 5, 7, 9, 10, 13]
const BLOCK_BYTES = 16

/** Meters from before there was encryption have a signature of any value there, which no mode and length explain. */
function isEncrypted([low = 0, high = 0]: Uint8Array, length: number): boolean {
  const mode = high & MODE_MASK
  const bytes = DES_MODES.includes(mode) ? low : AES_MODES.includes(mode) ? (low >> 4) * BLOCK_BYTES : 0
  return bytes > 0 && bytes <= length
}

/** @param configuration its word, the lower byte first */
function withRecords(head: Head, data: Uint8Array, configuration: Uint8Array): Telegram {
  if (isEncrypted(configuration, data.length))
    return { ...head, isEncrypted: true, records: [], rest: data, hasMore: false, problem: 'its records are encrypted' }
  return { ...head, isEncrypted: false, ...cutRecords(data, head.ci === VARIABLE_HIGH_FIRST) }
}

function ordered(ci: number, bytes: Uint8Array): Uint8Array {
  return ci === VARIABLE_HIGH_FIRST || ci === FIXED_HIGH_FIRST ? bytes.toReversed() : bytes
}

// The variable data structure.

function openVariable(ci: number, data: Uint8Array): Telegram {
  const [accessNumber = 0, status = 0] = data.subarray(8)
  const head = { ci, meter: variableIdentity(ci, data), accessNumber, status: statusWords(status) }
  return withRecords(head, data.subarray(LONG_HEADER_BYTES), ordered(ci, data.subarray(10, 12)))
}

function variableIdentity(ci: number, data: Uint8Array): MeterIdentity {
  const [low = 0, high = 0] = ordered(ci, data.subarray(4, 6))
  const [version = 0, medium = 0] = data.subarray(6)
  return {
    id: bcdDigits(ordered(ci, data.subarray(0, 4))),
    manufacturer: manufacturerName(low, high),
    version,
    medium: { code: medium, name: mediumName(medium) },
  }
}

const APPLICATION_STATUS = ['', 'application busy', 'application error', 'abnormal condition']
const STATUS_BITS: readonly [bit: number, words: string][] = [
  [0x04, 'power low'],
  [0x08, 'permanent error'],
  [0x10, 'temporary error'],
  [0x20, 'manufacturer bit 5'],
  [0x40, 'manufacturer bit 6'],
  [0x80, 'manufacturer bit 7'],
]

/** @source EN 13757-3:2013, 5.9 */
function statusWords(status: number): string[] {
  const words = STATUS_BITS.flatMap(([bit, word]) => ((status & bit) === 0 ? [] : [word]))
  return [APPLICATION_STATUS[status & 3] ?? '', ...words].filter(Boolean)
}

// The fixed data structure: two counters of four bytes.

/** @source EN 13757-3:1997 (the fixed structure is no longer in later editions), 6.1 */
function openFixed(ci: number, data: Uint8Array): Telegram {
  const [, , , , accessNumber = 0, status = 0, first = 0, second = 0] = data
  const isBinary = (status & 1) !== 0
  const isHistoric = (status & 2) !== 0
  const counters = [data.subarray(8, 12), data.subarray(12, 16)]
  const records = [first, second].map((unit, at) => {
    const isOfFirst = (unit & UNIT_MASK) === SAME_BUT_HISTORIC
    const meaning = fixedMeaning(isOfFirst ? first : unit)
    const raw = counters[at] ?? new Uint8Array(0)
    const storage = isHistoric || isOfFirst ? 1 : 0
    return counter({ ...meaning, isBinary, storage, bytes: ordered(ci, raw), header: Uint8Array.of(unit), data: raw })
  })
  const head = { ci, meter: fixedIdentity(ci, data), accessNumber, status: statusWords(status & ~3) }
  return { ...head, isEncrypted: false, records, rest: new Uint8Array(0), hasMore: false, problem: null }
}

interface Counter extends FixedMeaning {
  isBinary: boolean
  storage: number
  /** The lowest byte first. */
  bytes: Uint8Array
  header: Uint8Array
  data: Uint8Array
}

function counter({ bytes, data, exponent, header, isBinary, quantity, storage, unit }: Counter): MbusRecord {
  const digits = bcdDigits(bytes)
  const isNumber = isBinary || /^\d+$/.test(digits)
  const plain = isNumber ? BigInt(isBinary ? `0x${digits}` : digits) : 0n
  const decimal = isNumber ? { digits: plain, exponent } : null
  const value = isNumber ? Number(`${plain}e${exponent}`) : null
  const problem = isNumber ? null : `its digits are ${digits}`
  const place = { function: 'instantaneous', storage, tariff: 0, subunit: 0 } as const
  return namedRecord({ quantity, unit, value, problem, ...place, header, data, decimal })
}

/** @source EN 13757-3:1997, Table 2 */
const FIXED_MEDIA = [
  'other',
  'oil',
  'electricity',
  'gas',
  'heat',
  'steam',
  'warm water',
  'water',
  'heat cost allocator',
  'reserved',
  'gas, mode 2',
  'heat, mode 2',
  'warm water, mode 2',
  'water, mode 2',
  'heat cost allocator, mode 2',
  'reserved',
]

function fixedIdentity(ci: number, data: Uint8Array): MeterIdentity {
  const [first = 0, second = 0] = data.subarray(6)
  const code = (first >> 6) | ((second >> 6) << 2)
  const medium = { code, name: FIXED_MEDIA[code] ?? 'other' }
  return { id: bcdDigits(ordered(ci, data.subarray(0, 4))), manufacturer: null, version: null, medium }
}

interface FixedMeaning {
  quantity: string
  unit: string | null
  exponent: number
}

const UNIT_MASK = 0x3f
const SAME_BUT_HISTORIC = 0x3e

/** From which code on, and the power of ten of that code; each further code is ten times as much. @source EN 13757-3:1997, Table 3 */
const FIXED_UNITS: readonly [from: number, quantity: string, unit: string | null, exponent: number][] = [
  [0x39, 'heat cost allocation', 'HCA', 0],
  [0x38, 'temperature', '°C', -3],
  [0x2f, 'volume flow', 'm³/h', -6],
  [0x26, 'volume', 'm³', -6],
  [0x1d, 'power', 'J/h', 3],
  [0x14, 'power', 'W', 0],
  [0x0b, 'energy', 'J', 3],
  [0x02, 'energy', 'Wh', 0],
  [0x01, 'date', 'D,M,Y', 0],
  [0x00, 'time', 'h,m,s', 0],
]

function fixedMeaning(byte: number): FixedMeaning {
  const code = byte & UNIT_MASK
  const [from, quantity, unit, exponent] = FIXED_UNITS.find(([first]) => code >= first) ?? [0, 'number', null, 0]
  if (code > 0x39) return { quantity: code === UNIT_MASK ? 'number' : `unknown ${hex(code)}`, unit: null, exponent: 0 }
  return { quantity, unit, exponent: exponent + code - from }
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0')
}
