/**
 * The first phase of USB/IP: requests of hosts, replies of the server, and the device records in them.
 * @source Linux, Documentation/usb/usbip_protocol.rst
 */
import { joinBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { BUS_ID_BYTES, isBusId } from './usb.ts'

// Four hex digits, as used for vendors, products, codes and versions.

/** @param number 0..65535 */
export function hex4(number: number): string {
  return number.toString(16).padStart(4, '0')
}

// Text in a field of fixed length, terminated by a zero byte.

/** @returns `size` bytes: one per character, cut so that a zero byte follows; a character beyond Latin-1 becomes ? */
function textBytes(text: string, size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  for (let i = 0; i < Math.min(text.length, size - 1); i++) {
    const code = text.charCodeAt(i)
    bytes[i] = code > 0xff ? 0x3f : code
  }
  return bytes
}

/** @returns the characters before the first zero byte, ignoring the rest; undefined if there is none */
function textOf(bytes: Uint8Array): string | undefined {
  const end = bytes.indexOf(0)
  return end < 0 ? undefined : String.fromCharCode(...bytes.subarray(0, end))
}

// The eight-byte header of every message in the first phase: version, code, status.

/** The port registered with IANA for USB/IP. */
export const USBIP_PORT = 3240

/** Protocol version of all stock clients and servers. */
const OP_VERSION = 0x0111

export const OP_HEADER_BYTES = 8

/** Message codes: requests have the top bit set, replies do not. */
export const OP_CODE = {
  requestImport: 0x8003,
  replyImport: 0x0003,
  requestDevlist: 0x8005,
  replyDevlist: 0x0005,
} as const

/**
 * Result of a request. Clients show `not_available` as "Request failed".
 * @source Linux, tools/usb/usbip/src/usbip_network.h, ST_OK to ST_ERROR
 */
export const OP_STATUS = {
  ok: 0,
  not_available: 1,
  busy: 2,
  device_error: 3,
  no_device: 4,
  error: 5,
} as const
export type OpStatus = keyof typeof OP_STATUS

/** One header. `status` is 0 in requests. */
interface OpHeader {
  version: number
  code: number
  status: number
}

/**
 * @returns 8 bytes, big-endian: version (2), code (2), status (4)
 * @source Linux, Documentation/usb/usbip_protocol.rst
 */
export function opHeader(code: number, status: OpStatus = 'ok'): Uint8Array {
  const bytes = new Uint8Array(OP_HEADER_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, OP_VERSION)
  view.setUint16(2, code)
  view.setUint32(4, OP_STATUS[status])
  return bytes
}

/**
 * @param bytes at least 8, of which the first 8 are read
 * @throws Fault `usbip_short`, and `usbip_version` if the peer speaks another version or another protocol
 */
export function openHeader(bytes: Uint8Array): OpHeader {
  if (bytes.length < OP_HEADER_BYTES)
    throw new Fault('usbip_short', `A message begins with ${OP_HEADER_BYTES} bytes; ${bytes.length} came.`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const header = { version: view.getUint16(0), code: view.getUint16(2), status: view.getUint32(4) }
  if (header.version !== OP_VERSION)
    throw new Fault(
      'usbip_version',
      `The peer says version 0x${hex4(header.version)}; this board speaks USB/IP 0x${hex4(OP_VERSION)}.`,
    )
  return header
}

/** @returns the name of a status code, `error` for an undefined one */
export function statusOf(code: number): OpStatus {
  const found = Object.entries(OP_STATUS).find(([, number]) => number === code)
  return (found?.[0] as OpStatus | undefined) ?? 'error'
}

// A device and its interfaces, as listed and imported.

const PATH_BYTES = 256

const DEVICE_RECORD_BYTES = 312
const INTERFACE_RECORD_BYTES = 4

/** Descriptor of a USB device, and where it is. Numbers as on the bus, each in its descriptor's range. */
export interface DeviceRecord {
  /** Path below /sys on the server; clients show it. */
  path: string
  busId: string
  /** 1.. */
  busNumber: number
  /** Address on the bus, 1..127. */
  deviceNumber: number
  /** Bits per second as enum usb_device_speed: see `speedCode`. */
  speed: number
  vendorId: number
  productId: number
  bcdDevice: number
  deviceClass: number
  deviceSubClass: number
  deviceProtocol: number
  configurationValue: number
  configurations: number
  interfaces: number
}

export interface InterfaceRecord {
  interfaceClass: number
  interfaceSubClass: number
  interfaceProtocol: number
}

/** Megabits per second, with the codes of enum usb_device_speed (include/uapi/linux/usb/ch9.h). */
const SPEEDS: readonly (readonly [mbit: number, code: number])[] = [
  [1.5, 1],
  [12, 2],
  [480, 3],
  [5000, 5],
  [10_000, 6],
  [20_000, 6],
]

/** @param mbit as in sysfs; @returns 0 (unknown) for null, and for anything that is not a USB speed */
export function speedCode(mbit: number | null): number {
  return SPEEDS.find(([known]) => known === mbit)?.[1] ?? 0
}

/**
 * @returns 312 bytes, big-endian: path (256), bus id (32), bus, device, speed (4 each), vendor, product, bcdDevice (2
 * each), class, subclass, protocol, configuration value, number of configurations, number of interfaces (1 each)
 * @source Linux, Documentation/usb/usbip_protocol.rst; struct usbip_usb_device
 */
export function deviceBytes(device: DeviceRecord): Uint8Array {
  const bytes = new Uint8Array(DEVICE_RECORD_BYTES)
  const view = new DataView(bytes.buffer)
  bytes.set(textBytes(device.path, PATH_BYTES), 0)
  bytes.set(textBytes(device.busId, BUS_ID_BYTES), PATH_BYTES)
  view.setUint32(288, device.busNumber)
  view.setUint32(292, device.deviceNumber)
  view.setUint32(296, device.speed)
  view.setUint16(300, device.vendorId)
  view.setUint16(302, device.productId)
  view.setUint16(304, device.bcdDevice)
  bytes.set(
    [
      device.deviceClass,
      device.deviceSubClass,
      device.deviceProtocol,
      device.configurationValue,
      device.configurations,
      device.interfaces,
    ],
    306,
  )
  return bytes
}

/** @param bytes at least 312, of which the first 312 are read; @throws Fault `usbip_short`, `usbip_text` */
export function openDevice(bytes: Uint8Array): DeviceRecord {
  refuseShort(bytes, DEVICE_RECORD_BYTES, 'a device')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const path = textOf(bytes.subarray(0, PATH_BYTES))
  const busId = textOf(bytes.subarray(PATH_BYTES, PATH_BYTES + BUS_ID_BYTES))
  if (path === undefined || busId === undefined)
    throw new Fault('usbip_text', 'The path or the bus id of a device has no end.')
  return {
    path,
    busId,
    busNumber: view.getUint32(288),
    deviceNumber: view.getUint32(292),
    speed: view.getUint32(296),
    vendorId: view.getUint16(300),
    productId: view.getUint16(302),
    bcdDevice: view.getUint16(304),
    deviceClass: view.getUint8(306),
    deviceSubClass: view.getUint8(307),
    deviceProtocol: view.getUint8(308),
    configurationValue: view.getUint8(309),
    configurations: view.getUint8(310),
    interfaces: view.getUint8(311),
  }
}

/** @returns 4 bytes: class, subclass, protocol, padding */
export function interfaceBytes(one: InterfaceRecord): Uint8Array {
  return Uint8Array.of(one.interfaceClass, one.interfaceSubClass, one.interfaceProtocol, 0)
}

/** @param bytes at least 4; @throws Fault `usbip_short` */
function openInterface(bytes: Uint8Array): InterfaceRecord {
  refuseShort(bytes, INTERFACE_RECORD_BYTES, 'an interface')
  const [interfaceClass = 0, interfaceSubClass = 0, interfaceProtocol = 0] = bytes
  return { interfaceClass, interfaceSubClass, interfaceProtocol }
}

/** @throws Fault `usbip_short` */
function refuseShort(bytes: Uint8Array, size: number, what: string): void {
  if (bytes.length < size) throw new Fault('usbip_short', `${what} has ${size} bytes; ${bytes.length} came.`)
}

// Requests of a client: the list of devices, or one of them.

/** A parsed request. */
export type OpRequest = { kind: 'devlist' } | { kind: 'import'; busId: string }

/** Length of the longest request, an import. */
export const LONGEST_REQUEST_BYTES = OP_HEADER_BYTES + BUS_ID_BYTES

/**
 * Length of a request, from its first 8 bytes. Nothing beyond it may be read: what follows an import belongs to the
 * kernel.
 * @returns 8 or 40
 * @throws Fault `usbip_short`, `usbip_version`, `usbip_code`
 */
export function requestBytesOf(header: Uint8Array): number {
  const { code } = openHeader(header)
  if (code === OP_CODE.requestDevlist) return OP_HEADER_BYTES
  if (code === OP_CODE.requestImport) return LONGEST_REQUEST_BYTES
  throw new Fault(
    'usbip_code',
    `The peer asks for 0x${hex4(code)}; served are 0x8005 (list of devices) and 0x8003 (import).`,
  )
}

/**
 * @param bytes a whole request
 * @throws Fault `usbip_short`, `usbip_version`, `usbip_code`, `usbip_bus_id`
 * @source Linux, Documentation/usb/usbip_protocol.rst, OP_REQ_DEVLIST and OP_REQ_IMPORT
 */
export function readOpRequest(bytes: Uint8Array): OpRequest {
  const length = requestBytesOf(bytes)
  if (bytes.length < length) throw new Fault('usbip_short', `An import has ${length} bytes; ${bytes.length} came.`)
  if (length === OP_HEADER_BYTES) return { kind: 'devlist' }
  const busId = textOf(bytes.subarray(OP_HEADER_BYTES, length))
  if (busId === undefined || !isBusId(busId))
    throw new Fault('usbip_bus_id', 'The request names no device by its bus id, such as 1-1.4.')
  return { kind: 'import', busId }
}

/**
 * Formats a request as a client does.
 * @returns 8 or 40 bytes
 * @internal the client's side: the server's tests use it
 */
export function requestBytes(request: OpRequest): Uint8Array {
  if (request.kind === 'devlist') return opHeader(OP_CODE.requestDevlist)
  const bytes = new Uint8Array(LONGEST_REQUEST_BYTES)
  bytes.set(opHeader(OP_CODE.requestImport))
  bytes.set(textBytes(request.busId, BUS_ID_BYTES), OP_HEADER_BYTES)
  return bytes
}

// Replies of the server.

/** A listed device. `device.interfaces` is the length of `interfaces`. */
export interface ListedDevice {
  device: DeviceRecord
  interfaces: readonly InterfaceRecord[]
}

/**
 * @param devices each one's interfaces are cut, or padded with zeros, to the number in its record, since a client reads
 *   exactly that many
 * @source Linux, Documentation/usb/usbip_protocol.rst, OP_REP_DEVLIST
 */
export function devlistReply(devices: readonly ListedDevice[]): Uint8Array {
  const count = new Uint8Array(4)
  new DataView(count.buffer).setUint32(0, devices.length)
  return joinBytes([opHeader(OP_CODE.replyDevlist), count, ...devices.flatMap(partsOf)])
}

/**
 * @param device undefined if the import is refused
 * @source Linux, Documentation/usb/usbip_protocol.rst, OP_REP_IMPORT
 */
export function importReply(status: OpStatus, device?: DeviceRecord): Uint8Array {
  const header = opHeader(OP_CODE.replyImport, status)
  return device ? joinBytes([header, deviceBytes(device)]) : header
}

/**
 * Parses a whole list.
 * @throws Fault `usbip_short`, `usbip_version`, `usbip_code`, `usbip_text`
 * @internal the client's side: the server's tests use it
 */
export function openDevlistReply(bytes: Uint8Array): ListedDevice[] {
  refuseOther(bytes, OP_CODE.replyDevlist)
  refuseShort(bytes, OP_HEADER_BYTES + 4, 'a list of devices')
  const count = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(OP_HEADER_BYTES)
  const devices: ListedDevice[] = []
  let at = OP_HEADER_BYTES + 4
  for (let i = 0; i < count; i++) {
    const device = openDevice(bytes.subarray(at))
    at += DEVICE_RECORD_BYTES
    const interfaces: InterfaceRecord[] = []
    for (let j = 0; j < device.interfaces; j++, at += INTERFACE_RECORD_BYTES)
      interfaces.push(openInterface(bytes.subarray(at)))
    devices.push({ device, interfaces })
  }
  return devices
}

/**
 * Parses the reply to an import.
 * @throws Fault `usbip_short`, `usbip_version`, `usbip_code`, `usbip_text`
 * @internal the client's side: the server's tests use it
 */
export function openImportReply(bytes: Uint8Array): { status: OpStatus; device?: DeviceRecord } {
  const status = statusOf(refuseOther(bytes, OP_CODE.replyImport))
  return status === 'ok' ? { status, device: openDevice(bytes.subarray(OP_HEADER_BYTES)) } : { status }
}

/** @returns the status code of the header */
function refuseOther(bytes: Uint8Array, code: number): number {
  const header = openHeader(bytes)
  if (header.code !== code)
    throw new Fault('usbip_code', `The reply is 0x${hex4(header.code)}; 0x${hex4(code)} was asked for.`)
  return header.status
}

function partsOf({ device, interfaces }: ListedDevice): Uint8Array[] {
  const none = { interfaceClass: 0, interfaceSubClass: 0, interfaceProtocol: 0 }
  const told = Array.from({ length: device.interfaces & 0xff }, (_, i) => interfaceBytes(interfaces[i] ?? none))
  return [deviceBytes(device), ...told]
}
