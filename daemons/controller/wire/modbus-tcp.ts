/**
 * Modbus TCP of a client: requests, their replies, and values of registers.
 * @source Modbus Application Protocol V1.1b3; how several registers make a number is the custom of devices
 */
import { Fault } from '#kit/pure/fault.ts'

export type Table = 'coil' | 'discrete' | 'input' | 'holding'

/** What is asked of a unit: a read, or a write of these values. */
export interface ModbusQuestion {
  /** 0..255. */
  unit: number
  table: Table
  /** Of the first, as it stands in the message: 0..65535. */
  address: number
  /** How many are read. */
  count: number
  /** What is written: 0 or 1 for each coil, 0..65535 for each register. */
  values?: readonly number[]
  /** Also a single value is written as if it were several: some devices know nothing else. */
  isMultiple?: boolean
}

/** Most that one read may ask for. @source Modbus Application Protocol V1.1b3, 6.1 to 6.4 */
export const MOST_BITS = 2000
export const MOST_WORDS = 125

const READS: Readonly<Record<Table, number>> = { coil: 1, discrete: 2, holding: 3, input: 4 }

/** @source Modbus Application Protocol V1.1b3, 6.5, 6.6, 6.11, 6.12 */
function functionOf({ table, values, isMultiple }: ModbusQuestion): number {
  if (!values) return READS[table]
  const isSingle = values.length === 1 && isMultiple !== true
  if (table === 'coil') return isSingle ? 5 : 15
  return isSingle ? 6 : 16
}

/**
 * @param transactionId 0..65535; the reply repeats it
 * @source Modbus Messaging on TCP/IP V1.0b, 3.1.3
 */
export function modbusFrame(question: ModbusQuestion, transactionId: number): Uint8Array {
  const fc = functionOf(question)
  const body = [question.unit, fc, ...word(question.address), ...rest(question, fc)]
  return Uint8Array.from([...word(transactionId), 0, 0, ...word(body.length), ...body])
}

function rest({ count, values = [] }: ModbusQuestion, fc: number): number[] {
  const [first = 0] = values
  if (fc === 5) return [first === 0 ? 0 : 0xff, 0]
  if (fc === 6) return word(first)
  if (fc === 15) return [...word(values.length), Math.ceil(values.length / 8), ...packed(values)]
  if (fc === 16) return [...word(values.length), 2 * values.length, ...values.flatMap(word)]
  return word(count)
}

/** Lowest bit first. */
function packed(bits: readonly number[]): number[] {
  const bytes = new Array<number>(Math.ceil(bits.length / 8)).fill(0)
  for (const [at, bit] of bits.entries()) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (bit << (at & 7))
  return bytes
}

/** How a message ends: its length follows four bytes of head. */
export const MODBUS_FRAMING = { mode: 'length_field', offset: 4, size: 2, endian: 'big', adjust: 6 } as const

/**
 * Whether a message is the reply to this question, an exception too: transaction, protocol, unit and function are its own.
 * @source Modbus Messaging on TCP/IP V1.0b, 3.1.3
 */
export function isModbusReply(question: ModbusQuestion, transactionId: number, frame: Uint8Array): boolean {
  const isSame = wordAt(frame, 0) === transactionId && wordAt(frame, 2) === 0 && frame[6] === question.unit
  return frame.length >= 9 && isSame && ((frame[7] ?? 0) & 0x7f) === functionOf(question)
}

/** @source Modbus Application Protocol V1.1b3, 7 */
const EXCEPTIONS: Readonly<Record<number, string>> = {
  1: 'it does not know the function',
  2: 'it has nothing at this address',
  3: 'it does not take this value',
  4: 'it failed',
  5: 'it takes longer for that',
  6: 'it is busy',
  8: 'its memory is damaged',
  10: 'the gateway has no way to the unit',
  11: 'the unit did not answer the gateway',
}

/** The exceptions of a gateway whose unit is away. @source Modbus Application Protocol V1.1b3, 7 */
const UNIT_IS_AWAY = [10, 11]

/**
 * @param frame for which `isModbusReply` holds
 * @returns what was read: 0 or 1 for each bit, 0..65535 for each register; nothing for a write
 * @throws Fault `modbus_refused` with `details.isUnitAway`; `modbus_reply` if the reply does not fit the question
 * @source Modbus Application Protocol V1.1b3, 6 and 7
 */
export function openModbusReply(question: ModbusQuestion, frame: Uint8Array): number[] {
  const { unit, table, count, values } = question
  const code = frame[8] ?? 0
  if ((frame[7] ?? 0) & 0x80)
    throw new Fault('modbus_refused', `unit ${unit}: ${EXCEPTIONS[code] ?? 'it refuses'} (exception ${code})`, {
      details: { isUnitAway: UNIT_IS_AWAY.includes(code) },
    })
  if (values) {
    // The reply repeats the address; a device that answers another has done something else.
    if (wordAt(frame, 8) !== question.address) throw misfit(unit)
    return []
  }
  const isBits = table === 'coil' || table === 'discrete'
  const bytes = isBits ? Math.ceil(count / 8) : 2 * count
  if (code !== bytes || frame.length !== 9 + bytes) throw misfit(unit)
  return Array.from({ length: count }, (_, at) =>
    isBits ? ((frame[9 + (at >> 3)] ?? 0) >> (at & 7)) & 1 : wordAt(frame, 9 + 2 * at),
  )
}

function misfit(unit: number): Fault {
  return new Fault('modbus_reply', `unit ${unit} answers something else than it was asked`)
}

// Values of registers.

export const WORD_TYPES = ['int16', 'uint16', 'int32', 'uint32', 'float32', 'float64'] as const
export type WordType = (typeof WORD_TYPES)[number]

/** `abcd`: the most significant byte first, as Modbus has it. `cdab`: words swapped; `badc`: bytes; `dcba`: both. */
export const WORD_ORDERS = ['abcd', 'cdab', 'badc', 'dcba'] as const
export type WordOrder = (typeof WORD_ORDERS)[number]

export interface WordFormat {
  type: WordType
  order: WordOrder
}

export function wordCount({ type }: WordFormat): number {
  return type === 'float64' ? 4 : type.endsWith('32') ? 2 : 1
}

/** @param words as many as the type has. @returns not finite if a float is no number */
export function numberOfWords(words: readonly number[], format: WordFormat): number {
  const view = new DataView(new ArrayBuffer(2 * words.length))
  for (const [at, each] of ordered(words, format).entries()) view.setUint16(2 * at, each)
  switch (format.type) {
    case 'int16':
      return view.getInt16(0)
    case 'uint16':
      return view.getUint16(0)
    case 'int32':
      return view.getInt32(0)
    case 'uint32':
      return view.getUint32(0)
    case 'float32':
      // A single is accurate to seven digits: what a device sends as 230.1 is read as that.
      return Number(view.getFloat32(0).toPrecision(7))
    case 'float64':
      return view.getFloat64(0)
  }
}

const RANGES: Readonly<Record<WordType, readonly [number, number]>> = {
  int16: [-32_768, 32_767],
  uint16: [0, 65_535],
  int32: [-2_147_483_648, 2_147_483_647],
  uint32: [0, 4_294_967_295],
  float32: [-3.4028234e38, 3.4028234e38],
  float64: [-Number.MAX_VALUE, Number.MAX_VALUE],
}

/** Integers are rounded. @returns undefined if the type cannot hold the number */
export function wordsOfNumber(number: number, format: WordFormat): number[] | undefined {
  const { type } = format
  const value = type.startsWith('float') ? number : Math.round(number)
  const [least, most] = RANGES[type]
  if (!(value >= least && value <= most)) return undefined
  const view = new DataView(new ArrayBuffer(2 * wordCount(format)))
  if (type === 'float32') view.setFloat32(0, value)
  else if (type === 'float64') view.setFloat64(0, value)
  else if (view.byteLength === 2) view.setUint16(0, value)
  else view.setUint32(0, value)
  return ordered(
    Array.from({ length: wordCount(format) }, (_, at) => view.getUint16(2 * at)),
    format,
  )
}

/** The same swaps lead there and back. */
function ordered(words: readonly number[], { order }: WordFormat): number[] {
  const isWordSwap = order === 'cdab' || order === 'dcba'
  const isByteSwap = order === 'badc' || order === 'dcba'
  const inOrder = isWordSwap ? words.toReversed() : [...words]
  return isByteSwap ? inOrder.map((each) => ((each & 0xff) << 8) | (each >> 8)) : inOrder
}

function word(value: number): number[] {
  return [value >> 8, value & 0xff]
}

function wordAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}
