/** What both scripts for hosts are made from. */
import { USBIP_PORT } from '../wire/op-header.ts'

/** What a script is for. Everything in it may come from strangers: it ends up quoted, whatever it is. */
export interface HostScriptOptions {
  /** How the host reaches the board: name or address, IPv6 without brackets. */
  host: string
  /** TCP port of the board's USB/IP server. */
  port: number
  /** Which device, as the setting `device` names one: `0403:6001`, `0403:6001:SERIAL`, a place `1-1.4`; null for all. */
  key: string | null
}

/** What the parts on the host are named after: one set for each board. Letters, digits, dots and dashes alone. */
export function hostPartsName({ host, port }: HostScriptOptions): string {
  const board = host.replace(/[^A-Za-z0-9.-]/g, '-').slice(0, 100)
  return `plantroom-usbip-${board}${port === USBIP_PORT ? '' : `-${port}`}`
}
