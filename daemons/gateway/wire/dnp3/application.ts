/** The application layer of DNP3: fragments, their header, and the headers of their objects. @source IEEE 1815-2012, 4 */
import { Fault } from '#kit/pure/fault.ts'

/** Function codes. @source IEEE 1815-2012, Table 4-2 */
export const FC = {
  confirm: 0,
  read: 1,
  write: 2,
  select: 3,
  operate: 4,
  directOperate: 5,
  directOperateNoReply: 6,
  freeze: 7,
  freezeNoReply: 8,
  freezeAndClear: 9,
  freezeAndClearNoReply: 10,
  coldRestart: 13,
  warmRestart: 14,
  enableUnsolicited: 20,
  disableUnsolicited: 21,
  assignClass: 22,
  delayMeasure: 23,
  recordTime: 24,
  response: 129,
  unsolicited: 130,
} as const

/** Internal indications, the first byte in the low eight bits. @source IEEE 1815-2012, Table 4-5 */
export const IIN = {
  broadcast: 0x0001,
  class1: 0x0002,
  class2: 0x0004,
  class3: 0x0008,
  needTime: 0x0010,
  localControl: 0x0020,
  deviceTrouble: 0x0040,
  deviceRestart: 0x0080,
  noFunction: 0x0100,
  objectUnknown: 0x0200,
  parameterError: 0x0400,
  overflow: 0x0800,
  alreadyExecuting: 0x1000,
  configCorrupt: 0x2000,
} as const

const FIRST = 0x80
const FINAL = 0x40
const CONFIRM = 0x20
const UNSOLICITED = 0x10

/** The application control byte. @source IEEE 1815-2012, 4.2.2.1 */
export interface Control {
  isFirst: boolean
  isFinal: boolean
  wantsConfirm: boolean
  isUnsolicited: boolean
  /** 0 to 15. */
  sequence: number
}

/** The byte of an application control. @source IEEE 1815-2012, 4.2.2.1 */
export function controlByte({ isFinal, isFirst, isUnsolicited, sequence, wantsConfirm }: Control): number {
  const bits = (isFirst ? FIRST : 0) | (isFinal ? FINAL : 0) | (wantsConfirm ? CONFIRM : 0)
  return bits | (isUnsolicited ? UNSOLICITED : 0) | (sequence & 0x0f)
}

/** A request of a master, its objects still to be read. */
export interface Request {
  control: Control
  function: number
  objects: Uint8Array
}

/** Opens a request; undefined where it is too short to be one. @source IEEE 1815-2012, 4.2.2 */
export function openRequest(fragment: Uint8Array): Request | undefined {
  const [control, code] = fragment
  if (control === undefined || code === undefined) return undefined
  return {
    control: {
      isFirst: (control & FIRST) !== 0,
      isFinal: (control & FINAL) !== 0,
      wantsConfirm: (control & CONFIRM) !== 0,
      isUnsolicited: (control & UNSOLICITED) !== 0,
      sequence: control & 0x0f,
    },
    function: code,
    objects: fragment.subarray(2),
  }
}

/** Builds a response, solicited or not. @source IEEE 1815-2012, 4.2.2 */
export function responseOf(control: Control, iin: number, objects: Uint8Array): Uint8Array {
  const code = control.isUnsolicited ? FC.unsolicited : FC.response
  return Uint8Array.of(controlByte(control), code, iin & 0xff, iin >> 8, ...objects)
}

/** Which objects a header is about. */
export type ObjectRange =
  | { kind: 'all' }
  | { kind: 'count'; count: number }
  | { kind: 'indices'; start: number; stop: number }
  /** Each object stands behind its own index. */
  | { kind: 'prefixed'; indices: readonly number[] }

/** The header of objects, with the bytes of the objects where it is followed by any. */
export interface ObjectHeader {
  group: number
  variation: number
  qualifier: number
  range: ObjectRange
  /** One for each index of the range, or for its count. */
  objects: readonly Uint8Array[]
  /** The whole of it, as it came. */
  bytes: Uint8Array
}

/** How many bytes one object has; undefined: none are there, as in a read. */
export type ObjectSize = (group: number, variation: number) => number | undefined

/** The most objects that one header may announce: no request needs more, and each costs memory. */
const MOST_OBJECTS = 4096

/**
 * Reads the headers of a request.
 * @param sizeOf bytes of the objects that follow; in a read none do
 * @throws Fault `dnp3_objects` where a header or its objects are cut off or have a qualifier that is not known
 * @source IEEE 1815-2012, 4.2.2.7 and Table 4-6
 */
export function readHeaders(bytes: Uint8Array, sizeOf: ObjectSize): ObjectHeader[] {
  const headers: ObjectHeader[] = []
  const reader = new Reader(bytes)
  while (reader.left > 0) headers.push(readHeader(reader, sizeOf))
  return headers
}

class Reader {
  readonly #bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.at
  }

  take(count: number): Uint8Array {
    if (count > this.left) throw wrong(`${count} bytes are missing at byte ${this.at}`)
    this.at += count
    return this.#bytes.subarray(this.at - count, this.at)
  }

  /** A number of one or two bytes, the lower first. */
  number(bytes: number): number {
    return this.take(bytes).reduceRight((sum, byte) => sum * 256 + byte, 0)
  }

  since(from: number): Uint8Array {
    return this.#bytes.subarray(from, this.at)
  }
}

function wrong(sentence: string): Fault {
  return new Fault('dnp3_objects', `The objects of the request are not understood: ${sentence}.`)
}

function readHeader(reader: Reader, sizeOf: ObjectSize): ObjectHeader {
  const from = reader.at
  const [group = 0, variation = 0, qualifier = 0] = reader.take(3)
  const size = sizeOf(group, variation)
  const { objects, range } = readRange(reader, qualifier, size)
  return { group, variation, qualifier, range, objects, bytes: reader.since(from) }
}

function readRange(reader: Reader, qualifier: number, size: number | undefined) {
  const many = (count: number) => {
    if (count > MOST_OBJECTS) throw wrong(`a header announces ${count} objects, ${MOST_OBJECTS} at most are read`)
    return size === undefined ? [] : Array.from({ length: count }, () => reader.take(size))
  }
  switch (qualifier) {
    case 0x00:
    case 0x01: {
      const width = qualifier + 1
      const [start, stop] = [reader.number(width), reader.number(width)]
      if (stop < start) throw wrong(`a range goes from ${start} to ${stop}`)
      // Single bits are packed; no request here writes any but the one of the internal indications.
      return { range: { kind: 'indices', start, stop } as const, objects: many(stop - start + 1) }
    }
    case 0x06:
      return { range: { kind: 'all' } as const, objects: [] }
    case 0x07:
    case 0x08: {
      const count = reader.number(qualifier - 0x06)
      return { range: { kind: 'count', count } as const, objects: many(count) }
    }
    case 0x17:
    case 0x28:
      return readPrefixed(reader, qualifier === 0x17 ? 1 : 2, size)
    default:
      throw wrong(`qualifier ${qualifier.toString(16).padStart(2, '0')} is not known`)
  }
}

function readPrefixed(reader: Reader, width: number, size: number | undefined) {
  const count = reader.number(width)
  if (count > MOST_OBJECTS) throw wrong(`a header announces ${count} objects, ${MOST_OBJECTS} at most are read`)
  const indices: number[] = []
  const objects: Uint8Array[] = []
  for (let at = 0; at < count; at++) {
    indices.push(reader.number(width))
    if (size !== undefined) objects.push(reader.take(size))
  }
  return { range: { kind: 'prefixed', indices } as const, objects }
}

/** The header of objects with consecutive indices. @source IEEE 1815-2012, Table 4-6 */
export function rangeHeader(group: number, variation: number, start: number, stop: number): number[] {
  if (stop < 256) return [group, variation, 0x00, start, stop]
  return [group, variation, 0x01, start & 0xff, start >> 8, stop & 0xff, stop >> 8]
}

/** The header of objects that each stand behind their index of two bytes. @source IEEE 1815-2012, Table 4-6 */
export function prefixedHeader(group: number, variation: number, count: number): number[] {
  return [group, variation, 0x28, count & 0xff, count >> 8]
}
