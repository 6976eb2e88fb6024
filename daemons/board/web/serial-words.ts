/** What the page of the serial server says of its ports: state, setup, who is on it, what is wrong and what to do. */
import type { Lit } from '#kit/web/lamp.ts'
import { baudText, count, many } from '#kit/web/numbers.ts'
import { linkTo } from '#kit/web/route.ts'
import { capital } from '#kit/web/sentences.ts'
import type { AdapterDevice } from '../roles/serial/core/ports.ts'
import type { SerialLine, SerialPort } from './api.ts'

/** Lamp and words of a port. */
export function portState(port: SerialPort): { lit: Lit; words: string } {
  if (!port.enabled) return { lit: 'off', words: 'not shared' }
  switch (port.state) {
    case 'open':
      return troubles(port).length > 0 ? { lit: 'warn', words: 'has errors' } : { lit: 'ok', words: 'open' }
    case 'absent':
      return { lit: 'gone', words: 'not plugged in' }
    case 'failed':
      return { lit: 'fault', words: 'will not open' }
    default:
      return { lit: 'busy', words: 'is being opened' }
  }
}

/** What a port is called: its label, else its number. */
export function portName({ port, label }: SerialPort): string {
  return label || `Port ${port}`
}

const MODES: Readonly<Record<string, string>> = { raw: 'raw', rfc2217: 'RFC 2217' }

/** `4001 raw`. */
export function serviceText({ tcp_port: tcpPort, mode }: SerialPort): string {
  return `${tcpPort} ${MODES[mode] ?? mode}`
}

/** `9600 8E1`. */
export function lineText({ baud, data_bits: bits, parity, stop_bits: stop }: SerialLine): string {
  return `${baudText(baud)} ${bits}${parity.charAt(0).toUpperCase()}${stop}`
}

/** `FTDI FT232R A50285BI`, or the path where the system says nothing. */
export function deviceText(port: SerialPort, devices: readonly AdapterDevice[]): string {
  const device = devices.find((each) => each.port === port.port)
  const facts = device ? [device.maker, device.product, device.serial_number].filter(Boolean).join(' ') : ''
  return facts || port.path
}

/** Who may write, as it follows `Of several clients`. */
export const writeWords: Readonly<Record<string, string>> = {
  all: 'all write',
  first: 'the first writes, others read',
  exclusive: 'who writes first writes alone until it leaves',
}

/** One thing that goes wrong on a line: how often, and which setting to look at. */
export interface Trouble {
  name: string
  sentence: string
}

/** What goes wrong, by its counter, with what to do. Counted since the daemon started. */
const REMEDIES: readonly (readonly [
  counter: string,
  one: string,
  more: string,
  remedy: (port: SerialPort) => string,
])[] = [
  [
    'framing',
    'framing error',
    'framing errors',
    (port) => `The other end does not send at ${lineText(nowOf(port))}: compare baud rate, data bits and stop bits.`,
  ],
  [
    'parity',
    'parity error',
    'parity errors',
    (port) => `The other end does not send with parity ${nowOf(port).parity}: compare parity and data bits.`,
  ],
  [
    'overruns',
    'overrun',
    'overruns',
    () => 'Bytes came faster than they were fetched: use flow control or a lower baud rate.',
  ],
  [
    'clients_dropped',
    'client was dropped',
    'clients were dropped',
    () => 'It took too long to take what the line said: look at its network and its program.',
  ],
  [
    'clients_refused',
    'connection was refused',
    'connections were refused',
    (port) =>
      port.allow === '' ? 'There were too many at once.' : `Allowed are ${port.allow}; the journal names who came.`,
  ],
]

/** The line as it is at this moment. */
export function nowOf(port: SerialPort): SerialLine {
  return port.line_now ?? port
}

/** What is wrong on a line, worst first. */
export function troubles(port: SerialPort): Trouble[] {
  return REMEDIES.flatMap(([name, one, more, remedy]) => {
    const seen = port.counters[name] ?? 0
    return seen > 0 ? [{ name, sentence: `${capital(many(seen, one, more))}. ${remedy(port)}` }] : []
  })
}

const COUNTERS: Readonly<Record<string, string>> = {
  bytes_from_line: 'Bytes from the line',
  bytes_to_line: 'Bytes to the line',
  bytes_discarded: 'Bytes not passed on',
  clients_total: 'Clients so far',
  clients: 'Clients now',
  telnet_faults: 'Telnet messages not understood',
}

/** Every counter by a readable name; one that the hardware does not have is n/a. */
export function counterRows({ counters }: SerialPort): [name: string, value: string][] {
  return Object.entries(counters).map(([name, value]) => [
    COUNTERS[name] ?? capital(name.replaceAll('_', ' ')),
    value === null ? 'n/a' : count(value),
  ])
}

/** Address of the form of a port. */
export function editLink({ port }: SerialPort): string {
  return linkTo('live', 'edit', String(port))
}
