/** A device and its interfaces, as lists and imports tell them. */
import { Fault } from '#kit/fault.ts'
import { BUS_ID_BYTES } from './bus-id.ts'
import { textBytes, textOf } from './fixed-text.ts'

const PATH_BYTES = 256

export const DEVICE_RECORD_BYTES = 312
export const INTERFACE_RECORD_BYTES = 4

/** What a USB device says of itself and where it is. Numbers as on the bus, each in its descriptor's range. */
export interface DeviceRecord {
  /** Below /sys, as the server has it; clients show it. */
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

/** Megabits per second, by the codes of enum usb_device_speed (include/uapi/linux/usb/ch9.h). */
const SPEEDS: readonly (readonly [mbit: number, code: number])[] = [
  [1.5, 1],
  [12, 2],
  [480, 3],
  [5000, 5],
  [10_000, 6],
  [20_000, 6],
]

/** @param mbit as sysfs tells it; @returns 0 (unknown) for what is no speed of USB, or null */
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
export function openInterface(bytes: Uint8Array): InterfaceRecord {
  refuseShort(bytes, INTERFACE_RECORD_BYTES, 'an interface')
  const [interfaceClass = 0, interfaceSubClass = 0, interfaceProtocol = 0] = bytes
  return { interfaceClass, interfaceSubClass, interfaceProtocol }
}

/** @throws Fault `usbip_short` */
export function refuseShort(bytes: Uint8Array, size: number, what: string): void {
  if (bytes.length < size) throw new Fault('usbip_short', `${what} has ${size} bytes; ${bytes.length} came.`)
}
