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

/** Lamp of the device itself: present, on its way, or unplugged. */
export function deviceLit(state: UsbipState): Lit {
  if (!state.supported || !state.enabled) return 'off'
  if (!state.device || state.device.state === 'absent') return 'gone'
  return state.attached ? 'ok' : 'busy'
}

/** What a host runs once: fetches the script of this board and runs it as an administrator. */
export function hostCommands(origin: string): { sh: string; ps1: string } {
  return {
    sh: `curl -fsS ${origin}/usbip.sh | sudo sh -s -- install`,
    ps1: `iwr ${origin}/usbip.ps1 -OutFile usbip.ps1; powershell -ExecutionPolicy Bypass -File usbip.ps1 install`,
  }
}
