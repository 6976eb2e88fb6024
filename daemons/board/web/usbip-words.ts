/** What the page of the USB server says: the device, who has it, and what a host types. */
import type { Lit } from '#kit/web/lamp.ts'
import type { UsbDevice, UsbipState } from './api.ts'

/** What a device is called: its maker and product, else its numbers. */
export function usbName(device: UsbDevice): string {
  return device.product || [device.vendor, usbNumbers(device)].filter(Boolean).join(' ')
}

/** `0922:8003`. */
export function usbNumbers({ vendor_id: vendor, product_id: product }: UsbDevice): string {
  return `${vendor}:${product}`
}

/** Lamp of the link: a host has it, it waits for one, or there is nothing to have. */
export function linkLit({ supported, enabled, device, attached }: UsbipState): Lit {
  if (!supported || !enabled) return 'off'
  if (!device) return 'gone'
  if (device.state === 'failed') return 'fault'
  return attached ? 'ok' : 'busy'
}

const STATES: Readonly<Record<string, string>> = {
  local: 'not shared',
  binding: 'being prepared',
  exported: 'waits for a host',
  handing: 'being handed over',
  attached: 'a host has it',
  freeing: 'being freed',
  releasing: 'being given back',
  failed: 'cannot be shared',
}

/** State of a device in a few words; what the board itself would lose with it comes first. */
export function usbStateText({ state, carries, attached }: UsbDevice): string {
  if (attached) return `${attached.address} has it`
  if (state === 'local' && carries === 'network') return "this board's network"
  if (state === 'local' && carries === 'disk') return 'a disk this board uses'
  return STATES[state] ?? state
}

/** What can be chosen to be shared: the first that is plugged in, each by its key, and what is chosen and not there. */
export function deviceOptions({ choice, devices }: UsbipState): (readonly [key: string, label: string])[] {
  const known = devices.map((device) => [device.key, `${usbName(device)}, ${usbNumbers(device)}`] as const)
  const isThere = choice === '' || devices.some(({ key }) => key === choice)
  return [
    ['', 'The first that is plugged in'],
    ...known,
    ...(isThere ? [] : [[choice, `${choice}, not plugged in`] as const]),
  ]
}

/** What a host runs once, as an administrator: it fetches the script of this board and runs it. */
export function hostCommands(origin: string): { sh: string; ps1: string } {
  return { sh: `curl -fsS ${origin}/usbip.sh | sudo sh`, ps1: `irm ${origin}/usbip.ps1 | iex` }
}
