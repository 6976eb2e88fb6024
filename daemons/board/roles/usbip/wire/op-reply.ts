/** What the server answers in the first phase. */
import { Fault } from '#kit/fault.ts'
import {
  DEVICE_RECORD_BYTES,
  type DeviceRecord,
  deviceBytes,
  INTERFACE_RECORD_BYTES,
  type InterfaceRecord,
  interfaceBytes,
  openDevice,
  openInterface,
  refuseShort,
} from './device-record.ts'
import { hex4 } from './hex4.ts'
import { headerBytes, OP_CODE, OP_HEADER_BYTES, type OpStatus, openHeader, statusOf } from './op-header.ts'

/** A device of the list. `device.interfaces` says how many stand in `interfaces`. */
export interface ListedDevice {
  device: DeviceRecord
  interfaces: readonly InterfaceRecord[]
}

/**
 * @param devices the interfaces of each cut or filled up with zeros to the number that its record tells, since a client
 *   reads exactly as many
 * @source Linux, Documentation/usb/usbip_protocol.rst, OP_REP_DEVLIST
 */
export function devlistReply(devices: readonly ListedDevice[]): Uint8Array {
  const count = new Uint8Array(4)
  new DataView(count.buffer).setUint32(0, devices.length)
  return joined([headerBytes(OP_CODE.replyDevlist), count, ...devices.flatMap(partsOf)])
}

/**
 * @param device undefined where the import is refused
 * @source Linux, Documentation/usb/usbip_protocol.rst, OP_REP_IMPORT
 */
export function importReply(status: OpStatus, device?: DeviceRecord): Uint8Array {
  const header = headerBytes(OP_CODE.replyImport, status)
  return device ? joined([header, deviceBytes(device)]) : header
}

/** Reads a whole list, as a client does. @throws Fault `usbip_short`, `usbip_version`, `usbip_code`, `usbip_text` */
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

/** Reads the reply to an import. @throws Fault `usbip_short`, `usbip_version`, `usbip_code`, `usbip_text` */
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

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
