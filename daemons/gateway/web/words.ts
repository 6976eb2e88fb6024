/** How the pages call things: lines, protocols, settings, Modbus functions. */
import type { Lit } from '#kit/web/lamp.ts'
import { baudText, sinceText } from '#kit/web/numbers.ts'
import type { Port } from './api.ts'

/** A short name of a line: `ttyUSB0`, `pts/3`, or the middle of a stable name, `FTDI FT232R USB UART A50285BI`. */
export function nameOf(path: string): string {
  const [, group, tail = path] = /^\/dev\/(serial\/by-id\/)?(.+)$/.exec(path) ?? []
  if (!group) return tail
  return tail
    .replace(/^usb-/, '')
    .replace(/-if\d+(-port\d+)?$/, '')
    .replaceAll('_', ' ')
}

/** Names of the protocols. */
export const protocolNames = { raw: 'Raw', 'modbus-rtu': 'Modbus RTU' } as const

/** `9600 8E1`. */
export function framingOf(line: { baud: number; data_bits: number; parity: string; stop_bits: number }): string {
  return `${baudText(line.baud)} ${line.data_bits}${line.parity.charAt(0).toUpperCase()}${line.stop_bits}`
}

/** `Modbus RTU · 9600 8E1 · RS-485`; null where nothing is set up. */
export function setupOf(port: Port): string | null {
  if (!port.protocol || !port.line) return null
  const parts = [protocolNames[port.protocol], framingOf(port.line)]
  if (port.line.rs485?.enabled) parts.push('RS-485')
  if (port.line.flow !== 'none') parts.push(port.line.flow === 'rtscts' ? 'RTS/CTS' : 'XON/XOFF')
  return parts.join(' · ')
}

/** `FTDI FT232R USB UART A50285BI`; empty where the system says nothing of the device. */
export function deviceOf(port: Port): string {
  return [port.maker, port.product, port.serialNumber].filter(Boolean).join(' ')
}

/** Bits that one byte takes on the line. */
export function bitsPerByte(line: { data_bits: number; parity: string; stop_bits: number }): number {
  return 1 + line.data_bits + (line.parity === 'none' ? 0 : 1) + line.stop_bits
}

/** Lamp and word of a line's state. */
export function stateOf(port: Port, nowMs: number, zone?: string): { lit: Lit; word: string } {
  if (!port.configured) return { lit: 'off', word: 'not set up' }
  switch (port.state) {
    case 'open':
      return openState(port)
    case 'opening':
      return { lit: 'busy', word: 'opening' }
    case 'absent':
      return { lit: 'gone', word: `absent since ${sinceText(port.stateSince ?? nowMs, nowMs, zone)}` }
    case 'failed':
      return { lit: 'fault', word: 'will not open' }
    default:
      return { lit: 'off', word: 'closed' }
  }
}

function openState({ units }: Port): { lit: Lit; word: string } {
  const { silent = 0, noisy = 0 } = units ?? {}
  const bad = [silent > 0 && `${silent} silent`, noisy > 0 && `${noisy} noisy`].filter(Boolean)
  return bad.length > 0 ? { lit: 'warn', word: ['open', ...bad].join(', ') } : { lit: 'ok', word: 'open' }
}

/** Functions a Modbus master can ask for, in the order of their numbers. */
export const modbusFunctions = [
  { fc: 1, name: 'Read coils', short: 'Read coil' },
  { fc: 2, name: 'Read discrete inputs', short: 'Read discrete' },
  { fc: 3, name: 'Read holding', short: 'Read holding' },
  { fc: 4, name: 'Read input', short: 'Read input' },
  { fc: 5, name: 'Write coil', short: 'Write coil' },
  { fc: 6, name: 'Write holding', short: 'Write holding' },
  { fc: 15, name: 'Write coils', short: 'Write coils' },
  { fc: 16, name: 'Write holdings', short: 'Write holding' },
  { fc: 22, name: 'Mask write holding', short: 'Mask holding' },
  { fc: 23, name: 'Write and read holdings', short: 'Write and read' },
] as const

/** What a function number is called in the log. */
export function functionName(fc: number): string {
  return modbusFunctions.find((each) => each.fc === fc)?.short ?? `Function ${fc}`
}

/** `12` or `12–13`: the addresses a request means. */
export function rangeText(address: number, quantity: number | undefined): string {
  return quantity !== undefined && quantity > 1 ? `${address}–${address + quantity - 1}` : String(address)
}
