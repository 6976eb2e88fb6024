/** The words of the pages for lines, protocols and Modbus functions, and the verdicts on the lines. */
import { age, baudText, count, sinceText } from '#kit/web/numbers.ts'
import type { Judgement, Lit } from '#kit/web/parts.ts'
import type { Port, ProtocolName } from './api.ts'
import * as texts from './texts.ts'

/** The short name of a line: `ttyUSB0`, `pts/3`, or the middle of a stable name, `FTDI FT232R USB UART A50285BI`. */
export function shortPath(path: string): string {
  const [, group, tail = path] = /^\/dev\/(serial\/by-id\/)?(.+)$/.exec(path) ?? []
  if (!group) return tail
  return tail
    .replace(/^usb-/, '')
    .replace(/-if\d+(-port\d+)?$/, '')
    .replaceAll('_', ' ')
}

/** The names of the protocols. */
export const protocolNames: Readonly<Record<ProtocolName, string>> = {
  raw: texts.raw,
  'modbus-rtu': texts.modbusRtu,
  mbus: texts.mbus,
  'bacnet-mstp': texts.bacnetMstp,
  dnp3: texts.dnp3,
  equipment: texts.equipment,
}

/** The protocols that send requests to units and get replies. */
const OF_UNITS: Readonly<Record<ProtocolName, boolean>> = {
  raw: false,
  'modbus-rtu': true,
  mbus: true,
  'bacnet-mstp': false,
  dnp3: false,
  equipment: false,
}

/** How a line of the protocol usually runs, where that differs from the defaults. */
export function usualLine(protocol: string): { baud?: number; parity?: string } {
  return protocol === 'mbus' ? { baud: 2400, parity: 'even' } : {}
}

/** Whether units are on its line, asked by the gateway or by another master; or it is a unit itself. */
export function isOfUnits({ protocol }: Pick<Port, 'protocol'>): boolean {
  return protocol !== null && OF_UNITS[protocol]
}

/** `9600 8E1`. */
export function framingOf(line: { baud: number; data_bits: number; parity: string; stop_bits: number }): string {
  return `${baudText(line.baud)} ${line.data_bits}${line.parity.charAt(0).toUpperCase()}${line.stop_bits}`
}

/** `Modbus RTU · 9600 8E1 · RS-485`; null if the port is not set up. */
export function setupOf(port: Port): string | null {
  if (!port.protocol || !port.line) return null
  const parts = [protocolNames[port.protocol], framingOf(port.line)]
  if (port.line.rs485?.enabled) parts.push('RS-485')
  if (port.line.flow !== 'none') parts.push(port.line.flow === 'rtscts' ? 'RTS/CTS' : 'XON/XOFF')
  return parts.join(' · ')
}

/** `FTDI FT232R USB UART A50285BI`; empty if the system knows nothing about the device. */
export function deviceOf(port: Port): string {
  return [port.maker, port.product, port.serialNumber].filter(Boolean).join(' ')
}

/** How many bits one byte takes on the line. */
export function bitsPerByte(line: { data_bits: number; parity: string; stop_bits: number }): number {
  return 1 + line.data_bits + (line.parity === 'none' ? 0 : 1) + line.stop_bits
}

/** The lamp and the word for a line's state. */
export function stateOf(port: Port, nowMs: number, zone?: string): { lit: Lit; word: string } {
  if (!port.configured) return { lit: 'off', word: texts.notSetUp }
  switch (port.state) {
    case 'open':
      return openState(port)
    case 'opening':
      return { lit: 'busy', word: texts.opening }
    case 'absent':
      return { lit: 'gone', word: texts.absentSince(sinceText(port.stateSince ?? nowMs, nowMs, zone)) }
    case 'failed':
      return { lit: 'fault', word: texts.willNotOpen }
    default:
      return { lit: 'off', word: texts.closed }
  }
}

function openState({ fault, units }: Port): { lit: Lit; word: string } {
  const { silent = 0, noisy = 0 } = units ?? {}
  const bad = [
    fault?.code === 'mstp_alone' ? texts.alone : fault && texts.withFault,
    silent > 0 && texts.someSilent(silent),
    noisy > 0 && texts.someNoisy(noisy),
  ].filter(Boolean)
  return bad.length > 0 ? { lit: 'warn', word: [texts.open, ...bad].join(', ') } : { lit: 'ok', word: texts.open }
}

/** The functions that a Modbus master can use, sorted by number. */
export const modbusFunctions = [
  { fc: 1, name: texts.readCoils, short: texts.readCoil },
  { fc: 2, name: texts.readDiscreteInputs, short: texts.readDiscrete },
  { fc: 3, name: texts.readHolding, short: texts.readHolding },
  { fc: 4, name: texts.readInput, short: texts.readInput },
  { fc: 5, name: texts.writeCoil, short: texts.writeCoil },
  { fc: 6, name: texts.writeHolding, short: texts.writeHolding },
  { fc: 15, name: texts.writeCoils, short: texts.writeCoils },
  { fc: 16, name: texts.writeHoldings, short: texts.writeHolding },
  { fc: 22, name: texts.maskWriteHolding, short: texts.maskHolding },
  { fc: 23, name: texts.writeAndReadHoldings, short: texts.writeAndRead },
] as const

/** The name of a function in the log. */
export function functionName(fc: number): string {
  return modbusFunctions.find((each) => each.fc === fc)?.short ?? texts.functionNumber(fc)
}

/** `12` or `12–13`: the addresses of a request. */
export function rangeText(address: number, quantity: number | undefined): string {
  return quantity !== undefined && quantity > 1 ? `${address}–${address + quantity - 1}` : String(address)
}

// The verdicts: sentences about all lines, and about one.

/** The present time, for sentences with times in them. */
export interface When {
  nowMs: number
  zone?: string
}

/** From the worst on: refused, absent, open with silent units, open with noisy units, being opened, well, closed. */
const ORDER = ['failed', 'absent', 'ailing', 'noisy', 'opening', 'open', 'closed']

function rankOf(port: Port): number {
  if (!port.configured) return ORDER.length
  return ORDER.indexOf(port.state === 'open' ? openRank(port) : (port.state ?? 'closed'))
}

function openRank({ fault, units }: Port): string {
  if (units?.silent || fault) return 'ailing'
  return units?.noisy ? 'noisy' : 'open'
}

/** The lines that need attention, worst first. */
function needy(ports: readonly Port[]): Port[] {
  return ports.filter((port) => rankOf(port) < ORDER.indexOf('open')).sort((a, b) => rankOf(a) - rankOf(b))
}

/** Sorts bad lines first, then open ones, closed ones, and those that are not set up. */
export function sortPorts(ports: readonly Port[]): Port[] {
  return ports.toSorted((a, b) => rankOf(a) - rankOf(b) || a.path.localeCompare(b.path))
}

/** The verdict in a few words, for the bar on phones. */
export function shortVerdict(ports: readonly Port[]): { lit: Lit; words: string } {
  const wanted = ports.filter((port) => port.configured && port.state !== 'closed')
  const open = wanted.filter((port) => port.state === 'open').length
  const bad = needy(ports)
  const [worst] = bad
  const lit = worst === undefined ? (open > 0 ? 'ok' : 'off') : litOf(worst)
  if (wanted.length === 0) return { lit, words: texts.noLineRuns }
  // All of them open beside a warning would read as if nothing were wrong.
  const isAll = open === wanted.length
  return { lit, words: isAll && worst ? texts.needALook(bad.length) : texts.openOfLines(open, wanted.length) }
}

/** The verdict on all lines. */
export function judgePorts(ports: readonly Port[], when: When): Judgement {
  const configured = ports.filter((port) => port.configured)
  const wanted = configured.filter((port) => port.state !== 'closed')
  const open = wanted.filter((port) => port.state === 'open')
  const bad = needy(ports)
  const first = bad[0]
  if (ports.length === 0) return { lit: 'off', sentence: texts.noSerialLineWasFound }
  if (configured.length === 0)
    return {
      lit: 'off',
      sentence: texts.linesFoundNoneIsSetUp(ports.length),
      why: texts.setOneUpToSee,
    }
  if (!first) {
    if (open.length === 0) return { lit: 'off', sentence: texts.linesAreClosed(configured.length) }
    return { lit: 'ok', sentence: allRun(open), why: spareText(ports, configured) }
  }
  const isAll = open.length === wanted.length
  const some = texts.someLinesRun(open.length, wanted.length)
  const lead = isAll ? allRun(open) : some
  const rest = bad.length > 1 ? texts.moreNeedALook(bad.length - 1) : ''
  return {
    lit: litOf(first),
    sentence: `${lead} ${stateSentence(first, when)}`,
    why: `${whyOf(first, when)}${rest}`.trim(),
  }
}

function allRun(open: readonly Port[]): string {
  return open.length === 1 ? texts.runs(shortPath(open[0]?.path ?? '')) : texts.allLinesRun(open.length)
}

function litOf(port: Port): Lit {
  if (port.state === 'failed') return 'fault'
  return port.state === 'opening' ? 'busy' : 'warn'
}

function spareText(ports: readonly Port[], configured: readonly Port[]): string {
  const closed = configured.filter((port) => port.state === 'closed').length
  const spare = ports.length - configured.length
  const parts = [closed > 0 && texts.someClosed(count(closed)), spare > 0 && texts.someNotSetUp(count(spare))].filter(
    Boolean,
  )
  return parts.length > 0 ? `${parts.join(', ')}.` : ''
}

/** A sentence on a line that is not running. */
export function stateSentence(port: Port, { nowMs, zone }: When): string {
  const name = shortPath(port.path)
  if (port.state === 'failed') return texts.lineWillNotOpen(name)
  if (port.state === 'absent') return texts.isAbsentSince(name, sinceText(port.stateSince ?? nowMs, nowMs, zone))
  const { silent = 0, noisy = 0 } = port.units ?? {}
  if (port.state === 'open') {
    if (port.fault) return texts.hasFault(name)
    if (silent === 0) return texts.unitsAreNoisy(name, noisy)
    return texts.unitsAreSilent(name, silent, noisy)
  }
  return texts.isBeingOpened(name)
}

/** Why opening failed, and when it is tried again. */
export function whyOf(port: Port, { nowMs }: When): string {
  const inMs = port.nextTryAt === null ? null : port.nextTryAt - nowMs
  const next = inMs !== null && inMs > 0 ? texts.triedAgain(age(Math.max(1000, inMs))) : ''
  return `${port.fault?.message ?? ''} ${next}`.trim()
}
