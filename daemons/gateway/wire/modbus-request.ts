/**
 * Modbus requests as bytes: checksum, functions, timing, the fields of a request, and device identification.
 * @source Modbus Application Protocol V1.1b3, 4 and 6; Modbus over Serial Line V1.02, 2.5.1
 */
import { crc16 } from '#kit/pure/crc16.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type LineRate, wireUs } from '#kit/pure/line.ts'

// The checksum of Modbus RTU, and frames with and without it.

/** Bytes of the longest RTU frame: unit 1, PDU 253, CRC 2. @source Modbus over Serial Line V1.02, 2.5.1 */
export const MAX_RTU_BYTES = 256

/** Whether the last two bytes are the checksum of the others. Frames shorter than 4 bytes have none. */
export function hasGoodCrc(frame: Uint8Array): boolean {
  if (frame.length < 4) return false
  const crc = crc16(frame.subarray(0, -2))
  return frame[frame.length - 2] === (crc & 0xff) && frame[frame.length - 1] === crc >>> 8
}

/**
 * Makes a frame: the given bytes and their checksum.
 * @param body unit, function and data, 2..254 bytes
 * @throws Fault `modbus_long` if the frame would be longer than RTU allows
 */
export function sealed(body: ArrayLike<number>): Uint8Array {
  if (body.length + 2 > MAX_RTU_BYTES)
    throw new Fault('modbus_long', `a frame of ${body.length + 2} bytes is longer than the ${MAX_RTU_BYTES} of RTU`)
  const frame = new Uint8Array(body.length + 2)
  frame.set(body)
  const crc = crc16(frame.subarray(0, -2))
  frame[body.length] = crc & 0xff
  frame[body.length + 1] = crc >>> 8
  return frame
}

/** The big-endian word at `at`, 0..65535. Bytes beyond the end read as 0: check the length first. */
export function wordAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

// The functions and exceptions of Modbus in one table: names, shapes and quantities.

/** The layout of a function's request and reply. */
export type FunctionShape =
  | 'readBits'
  | 'readWords'
  | 'writeBit'
  | 'writeWord'
  | 'writeBits'
  | 'writeWords'
  | 'maskWord'
  | 'readWriteWords'
  | 'identify'

/** One function. `maxQuantity`: the most bits or registers per request. */
export interface ModbusFunction {
  fc: number
  name: string
  shape: FunctionShape
  maxQuantity: number
  isWrite: boolean
}

/** The most registers that function 23 writes. @source Modbus Application Protocol V1.1b3, 6.17 */
export const MAX_WRITTEN_BY_23 = 121

/** MEI type of device identification. @source Modbus Application Protocol V1.1b3, 6.21 */
export const MEI_IDENTIFY = 0x0e

const rows: ModbusFunction[] = [
  { fc: 1, name: 'Read Coils', shape: 'readBits', maxQuantity: 2000, isWrite: false },
  { fc: 2, name: 'Read Discrete Inputs', shape: 'readBits', maxQuantity: 2000, isWrite: false },
  { fc: 3, name: 'Read Holding Registers', shape: 'readWords', maxQuantity: 125, isWrite: false },
  { fc: 4, name: 'Read Input Registers', shape: 'readWords', maxQuantity: 125, isWrite: false },
  { fc: 5, name: 'Write Single Coil', shape: 'writeBit', maxQuantity: 1, isWrite: true },
  { fc: 6, name: 'Write Single Register', shape: 'writeWord', maxQuantity: 1, isWrite: true },
  { fc: 15, name: 'Write Multiple Coils', shape: 'writeBits', maxQuantity: 1968, isWrite: true },
  { fc: 16, name: 'Write Multiple Registers', shape: 'writeWords', maxQuantity: 123, isWrite: true },
  { fc: 22, name: 'Mask Write Register', shape: 'maskWord', maxQuantity: 1, isWrite: true },
  { fc: 23, name: 'Read/Write Multiple Registers', shape: 'readWriteWords', maxQuantity: 125, isWrite: true },
  { fc: 43, name: 'Read Device Identification', shape: 'identify', maxQuantity: 4, isWrite: false },
]

/**
 * The functions supported here, by code.
 * @source Modbus Application Protocol V1.1b3, 6.1 to 6.6, 6.11, 6.12, 6.16, 6.17, 6.21
 */
export const modbusFunctions: ReadonlyMap<number, ModbusFunction> = new Map(rows.map((row) => [row.fc, row]))

const exceptionNames: Readonly<Record<number, string>> = {
  1: 'Illegal Function',
  2: 'Illegal Data Address',
  3: 'Illegal Data Value',
  4: 'Server Device Failure',
  5: 'Acknowledge',
  6: 'Server Device Busy',
  8: 'Memory Parity Error',
  10: 'Gateway Path Unavailable',
  11: 'Gateway Target Device Failed To Respond',
}

/** The standard's name of an exception code. @source Modbus Application Protocol V1.1b3, 7 */
export function exceptionName(code: number): string {
  return exceptionNames[code] ?? 'Unknown Exception'
}

/** The standard's name of a function code, also of that code in an exception. */
export function functionName(fc: number): string {
  return modbusFunctions.get(fc & 0x7f)?.name ?? `Function ${fc & 0x7f}`
}

// Times on a Modbus RTU line, from its settings.

/** Above this rate the silence no longer shrinks. @source Modbus over Serial Line V1.02, 2.5.1.1 */
const FIXED_GAP_ABOVE_BAUD = 19_200

/** @source Modbus over Serial Line V1.02, 2.5.1.1: 1.750 ms between frames above 19200 bits per second */
const FIXED_GAP_US = 1750

/** Microseconds of silence before a frame: 3.5 characters, 1750 above 19200 bits per second. */
export function silenceUs(rate: LineRate): number {
  return rate.baud > FIXED_GAP_ABOVE_BAUD ? FIXED_GAP_US : wireUs(rate, 3.5)
}

/** Milliseconds of silence between frames. @param gapUs the setting; 0: derived from the rate */
export function gapMsOf(rate: LineRate, gapUs: number): number {
  return (gapUs || silenceUs(rate)) / 1000
}

/**
 * The fields of a request. For function 43/14 `address` is the first object and `quantity` the read device id code.
 * `values`: 0 or 1 per coil, 0..65535 per register.
 */
export interface ModbusRequest {
  unitId: number
  fc: number
  address: number
  quantity: number
  values?: readonly number[]
  andMask?: number
  orMask?: number
  writeAddress?: number
}

/**
 * The length of a whole frame in bytes; `more`: it takes more bytes to know; `impossible`: no such frame begins like
 * this.
 */
export type Need = number | 'more' | 'impossible'

/** The fixed length of a request, or where its byte count is. */
const lengths: Readonly<Record<FunctionShape, { bytes: number; countAt?: number }>> = {
  readBits: { bytes: 8 },
  readWords: { bytes: 8 },
  writeBit: { bytes: 8 },
  writeWord: { bytes: 8 },
  writeBits: { bytes: 9, countAt: 6 },
  writeWords: { bytes: 9, countAt: 6 },
  maskWord: { bytes: 10 },
  readWriteWords: { bytes: 13, countAt: 10 },
  identify: { bytes: 7 },
}

/** The length of the request that begins with these bytes. Units 0 (broadcast) to 247. */
export function requestLength(head: Uint8Array): Need {
  const [unitId, fc] = head
  if (unitId === undefined) return 'more'
  if (unitId > 247) return 'impossible'
  if (fc === undefined) return 'more'
  const known = modbusFunctions.get(fc)
  if (!known) return 'impossible'
  const { bytes, countAt } = lengths[known.shape]
  if (countAt === undefined) return bytes
  const count = head[countAt]
  return count === undefined ? 'more' : bytes + count
}

/**
 * Opens one request, as sent or heard.
 * @param frame unit, function, data, CRC
 * @throws Fault `modbus_short`, `modbus_long`, `modbus_crc`, `modbus_unknown_function`, `modbus_malformed`
 * @source Modbus Application Protocol V1.1b3, 6
 */
export function readModbusRequest(frame: Uint8Array): ModbusRequest {
  if (frame.length < 4) throw new Fault('modbus_short', `request has ${frame.length} bytes, needs at least 4`)
  if (!hasGoodCrc(frame)) throw new Fault('modbus_crc', 'request fails its checksum')
  const need = requestLength(frame)
  if (need === 'impossible')
    throw new Fault('modbus_unknown_function', `unit ${frame[0]} function ${frame[1]} is not a request known here`)
  if (need === 'more' || frame.length < need)
    throw new Fault('modbus_short', `request has ${frame.length} bytes, needs ${need === 'more' ? 'more' : need}`)
  if (frame.length > need) throw new Fault('modbus_long', `request has ${frame.length} bytes, needs ${need}`)
  return opened(frame)
}

function opened(frame: Uint8Array): ModbusRequest {
  const base = { unitId: frame[0] ?? 0, fc: frame[1] ?? 0, address: wordAt(frame, 2), quantity: wordAt(frame, 4) }
  switch (modbusFunctions.get(base.fc)?.shape) {
    case 'writeBit':
      return { ...base, quantity: 1, values: [coilOf(base.quantity)] }
    case 'writeWord':
      return { ...base, quantity: 1, values: [base.quantity] }
    case 'maskWord':
      return { ...base, quantity: 1, andMask: wordAt(frame, 4), orMask: wordAt(frame, 6) }
    case 'writeBits':
      checkCount(frame[6], Math.ceil(base.quantity / 8))
      return { ...base, values: bitsOf(frame.subarray(7), base.quantity) }
    case 'writeWords':
      checkCount(frame[6], base.quantity * 2)
      return { ...base, values: wordsOf(frame.subarray(7), base.quantity) }
    case 'readWriteWords':
      checkCount(frame[10], wordAt(frame, 8) * 2)
      return { ...base, writeAddress: wordAt(frame, 6), values: wordsOf(frame.subarray(11), wordAt(frame, 8)) }
    case 'identify':
      if (frame[2] !== MEI_IDENTIFY) throw new Fault('modbus_malformed', `MEI type ${frame[2]} is not ${MEI_IDENTIFY}`)
      return { ...base, address: frame[4] ?? 0, quantity: frame[3] ?? 0 }
    default:
      return base
  }
}

/** @source Modbus Application Protocol V1.1b3, 6.5: FF00 is on, 0000 is off, all else is illegal */
function coilOf(word: number): number {
  if (word !== 0xff00 && word !== 0) throw new Fault('modbus_malformed', `coil value ${word} is neither 65280 nor 0`)
  return word === 0 ? 0 : 1
}

function checkCount(found: number | undefined, wanted: number): void {
  if (found !== wanted) throw new Fault('modbus_malformed', `byte count is ${found}, its quantity asks for ${wanted}`)
}

/** The bits of a packed field, lowest bit of the first byte first, without the padding of the last byte. */
export function bitsOf(bytes: Uint8Array, quantity: number): number[] {
  return Array.from({ length: quantity }, (_, at) => ((bytes[at >> 3] ?? 0) >> (at & 7)) & 1)
}

/** The big-endian words of a field, 0..65535 each. */
export function wordsOf(bytes: Uint8Array, quantity: number): number[] {
  return Array.from({ length: quantity }, (_, at) => wordAt(bytes, at * 2))
}

/** `unitId` 0: in every unit. `fc` 1 for coils, 3 for holding registers. */
export interface WrittenPlace {
  unitId: number
  fc: 1 | 3
  address: number
  quantity: number
}

/** The coils or registers that a request writes. @returns undefined if it writes nothing */
export function writtenPlace(request: ModbusRequest): WrittenPlace | undefined {
  const { unitId, address, quantity } = request
  switch (request.fc) {
    case 5:
    case 15:
      return { unitId, fc: 1, address, quantity }
    case 6:
    case 16:
    case 22:
      return { unitId, fc: 3, address, quantity }
    case 23:
      return { unitId, fc: 3, address: request.writeAddress ?? address, quantity: request.values?.length ?? 0 }
    default:
      return undefined
  }
}

// Function 43/14, read device identification: request, reply, names of objects.

/** One object of a device: its id (0..255), its name in the standard, its text. */
export interface IdentificationObject {
  id: number
  name: string
  value: string
}

/** The content of one reply to 43/14. `nextObjectId` is null if nothing more follows. */
interface Identification {
  conformityLevel: number
  nextObjectId: number | null
  objects: IdentificationObject[]
}

/** @source Modbus Application Protocol V1.1b3, 6.21, table of object ids */
const objectNames = [
  'VendorName',
  'ProductCode',
  'MajorMinorRevision',
  'VendorUrl',
  'ProductName',
  'ModelName',
  'UserApplicationName',
]

/** Bytes before the first object: unit, function, MEI type, code, conformity, more follows, next object, count. */
const HEAD_BYTES = 8

/** The request as it goes on the wire. @param request `address`: first object, `quantity`: read device id code 1..4 */
export function identifyRequestFrame(request: ModbusRequest): Uint8Array {
  return sealed([request.unitId, request.fc, MEI_IDENTIFY, request.quantity, request.address])
}

/** The length of the reply that begins with these bytes, by its count of objects. */
export function identificationLength(head: Uint8Array): Need {
  if (head.length > 2 && head[2] !== MEI_IDENTIFY) return 'impossible'
  if (head.length < HEAD_BYTES) return 'more'
  let at = HEAD_BYTES
  for (let left = head[7] ?? 0; left > 0; left--) {
    const length = head[at + 1]
    if (length === undefined) return 'more'
    at += 2 + length
  }
  return at + 2 > 256 ? 'impossible' : at + 2
}

/**
 * Opens a reply whose checksum, unit and function are right. A count above the objects present is accepted if more
 * follows: the standard's own example (6.21) counts the objects of all replies, and devices were built like it. Texts
 * are read as ISO 8859-1: the standard says ASCII, but devices send degree signs and umlauts, and none may be altered.
 * @param frame unit to CRC
 * @throws Fault `modbus_malformed`
 * @source Modbus Application Protocol V1.1b3, 6.21
 */
export function openIdentification(frame: Uint8Array): Identification {
  const flaw = identificationFlaw(frame)
  if (flaw) throw new Fault('modbus_malformed', flaw)
  const objects: IdentificationObject[] = []
  for (const { id, bytes } of objectsOf(frame) ?? [])
    objects.push({ id, name: objectName(id), value: String.fromCharCode(...bytes) })
  return { conformityLevel: frame[4] ?? 0, nextObjectId: frame[5] === 0xff ? (frame[6] ?? 0) : null, objects }
}

/** What is wrong with the reply, as a sentence; undefined if nothing is. */
export function identificationFlaw(frame: Uint8Array): string | undefined {
  if (frame.length < HEAD_BYTES + 2) return `identification has ${frame.length} bytes, needs at least ${HEAD_BYTES + 2}`
  if (frame[2] !== MEI_IDENTIFY) return `MEI type ${frame[2]} is not ${MEI_IDENTIFY}`
  if (frame[5] !== 0 && frame[5] !== 0xff) return `more follows is ${frame[5]}, expected 0 or 255`
  const objects = objectsOf(frame)
  if (!objects) return 'the list of objects does not end where the frame does'
  const count = frame[7] ?? 0
  if (objects.length === count || (objects.length < count && objects.length > 0 && frame[5] === 0xff)) return undefined
  return `${objects.length} objects are present, ${count} are announced`
}

/** @returns undefined if an object extends beyond the end of the list */
function objectsOf(frame: Uint8Array): { id: number; bytes: Uint8Array }[] | undefined {
  const list = frame.subarray(HEAD_BYTES, -2)
  const objects: { id: number; bytes: Uint8Array }[] = []
  for (let at = 0; at < list.length; ) {
    const id = list[at]
    const length = list[at + 1]
    if (id === undefined || length === undefined || at + 2 + length > list.length) return undefined
    objects.push({ id, bytes: list.subarray(at + 2, at + 2 + length) })
    at += 2 + length
  }
  return objects
}

function objectName(id: number): string {
  return objectNames[id] ?? (id < 0x80 ? `Reserved ${id}` : `Private ${id}`)
}
