/**
 * USB in the kernel's notation: bus ids, events and device classes.
 * @source Linux, names of USB devices in sysfs (drivers/usb/core/usb.c)
 */

// Bus ids name where a USB device is plugged in: the bus, then the port of each hub on the way, `1-1.4`.

/** Longest bus id with its terminating zero byte: SYSFS_BUS_ID_SIZE of the kernel's tools. */
export const BUS_ID_BYTES = 32

/** At most six hubs deep (USB 3.2, 10.1), each with up to 255 ports. */
const BUS_ID = /^[1-9]\d{0,3}-[1-9]\d{0,2}(\.[1-9]\d{0,2}){0,6}$/

/** Whether a text is the bus id of a device, rather than of a root hub (`usb1`) or an interface (`1-1:1.0`). */
export function isBusId(text: string): boolean {
  return text.length < BUS_ID_BYTES && BUS_ID.test(text)
}

/** Whether a device is plugged in behind a hub, at any depth. */
export function isBehindHub(busId: string, hub: string): boolean {
  return busId.startsWith(`${hub}.`)
}

/** Orders by bus, then by port, hub by hub: 1-2 before 1-10. */
export function compareBusIds(one: string, other: string): number {
  const a = one.split(/[-.]/).map(Number)
  const b = other.split(/[-.]/).map(Number)
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? -1) - (b[i] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}

// Kernel events for devices that are plugged in or pulled.

/** The fields of an event that are used here. */
interface Uevent {
  /** add, remove, change, bind, unbind, ... */
  action: string
  /** Path below /sys: `/devices/pci0000:00/...`. */
  devicePath: string
  subsystem: string
  /** usb_device or usb_interface, in the subsystem usb. */
  deviceType: string
}

/**
 * @param message `add@/devices/...`, then `NAME=value` parts, separated by zero bytes
 * @returns undefined if it is no such message
 * @source Linux, lib/kobject_uevent.c
 */
export function openUevent(message: Uint8Array): Uevent | undefined {
  const [head = '', ...parts] = latin1(message).split('\0')
  if (!/^[a-z]+@\//.test(head)) return undefined
  const values = new Map(parts.map(pairOf))
  return {
    action: values.get('ACTION') ?? '',
    devicePath: values.get('DEVPATH') ?? '',
    subsystem: values.get('SUBSYSTEM') ?? '',
    deviceType: values.get('DEVTYPE') ?? '',
  }
}

function pairOf(part: string): [string, string] {
  const at = part.indexOf('=')
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
}

// The kind of device, from its class or that of its first interface.

/** @source USB-IF, Defined Class Codes */
const CLASS_NAMES: Readonly<Record<number, string>> = {
  1: 'audio',
  2: 'communications',
  3: 'input',
  5: 'physical',
  6: 'camera',
  7: 'printer',
  8: 'storage',
  9: 'hub',
  10: 'communications data',
  11: 'smart card reader',
  13: 'content security',
  14: 'video',
  15: 'health',
  16: 'audio and video',
  17: 'billboard',
  18: 'USB-C bridge',
  220: 'diagnostic',
  224: 'wireless',
  239: 'composite',
  254: 'application specific',
  255: 'vendor specific',
}

/**
 * @param deviceClass 0 if each interface has its own
 * @param interfaceClass of the first interface, undefined if there is none
 */
export function className(deviceClass: number, interfaceClass: number | undefined): string | null {
  return CLASS_NAMES[deviceClass || (interfaceClass ?? 0)] ?? null
}
