/** What the kernel tells of a device that came or went. */

/** One message, as far as it matters here. */
export interface Uevent {
  /** add, remove, change, bind, unbind, ... */
  action: string
  /** Below /sys, as `/devices/pci0000:00/...`. */
  devicePath: string
  subsystem: string
  /** usb_device or usb_interface, of the subsystem usb. */
  deviceType: string
}

/**
 * @param message `add@/devices/...`, then `NAME=value` parts, with zero bytes between
 * @returns undefined for what is no such message
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
