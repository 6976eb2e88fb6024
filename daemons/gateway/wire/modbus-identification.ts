/** Function 43/14, read device identification: request, reply, names of objects. */
import { Fault } from '#kit/fault.ts'
import { sealed } from './modbus-crc.ts'
import { MEI_IDENTIFY } from './modbus-functions.ts'
import type { ModbusRequest, Need } from './modbus-request.ts'

/** One object of a device: 0..255, the standard's name of it, its text. */
export interface IdentificationObject {
  id: number
  name: string
  value: string
}

/** What one reply to 43/14 says. `nextObjectId` is null where nothing more follows. */
export interface Identification {
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

/** How long the reply is that begins with these bytes, going by its count of objects. */
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
 * Opens a reply whose checksum, unit and function are right.
 * A count above the objects present is taken where more follows: the standard's own example (6.21) counts the
 * objects of all replies, and devices were built after it.
 * Text is ISO 8859-1: the standard says ASCII, devices send degree signs and umlauts, none may be altered.
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

/** What is wrong with the reply, as a sentence; undefined where nothing is. */
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

/** @returns undefined where an object runs over the end of the list */
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
