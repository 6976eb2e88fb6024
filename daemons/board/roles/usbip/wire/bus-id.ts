/** Where a USB device is plugged in, as the kernel writes it: bus, then the port of each hub on the way, `1-1.4`. */

/** Longest bus id, with the zero byte behind it: SYSFS_BUS_ID_SIZE of the kernel's tools. */
export const BUS_ID_BYTES = 32

/** Six hubs deep at most (USB 3.2, 10.1), each with up to 255 ports. */
const BUS_ID = /^[1-9]\d{0,3}-[1-9]\d{0,2}(\.[1-9]\d{0,2}){0,6}$/

/** Whether a text is the bus id of a device: no root hub (`usb1`) and no interface (`1-1:1.0`). */
export function isBusId(text: string): boolean {
  return text.length < BUS_ID_BYTES && BUS_ID.test(text)
}

/** Whether a device is plugged in below another: behind the hub `hub`, at any depth. */
export function isBelow(busId: string, hub: string): boolean {
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
