/** One event of a port as one line of the log: which way, who, what was said, and whether it is well. */
import type { Lit } from '#kit/web/lamp.ts'
import type { FramePayload, PortEvent } from '../core/lines/ports.ts'
import type { DecodedFrame } from '../wire/modbus-reply.ts'
import { functionName, rangeText } from './words.ts'

/** What an event means on the line. `ask` and `answer` are whole frames; `miss` is an answer that never came. */
export type RowKind = 'ask' | 'answer' | 'late' | 'noise' | 'miss' | 'note'

/** One line of the log. */
export interface Row {
  /** Place in the log since it was opened. */
  serial: number
  /** Tells one event from another when it is told again after a cut; frames of one read may share it. */
  id: string
  /** The gateway's epoch ms. */
  at: number
  /** CLOCK_MONOTONIC in ms where the event has it: exact distances between frames. */
  monotonicMs: number | null
  kind: RowKind
  direction: 'rx' | 'tx' | null
  unit: number | null
  /** The part that is read first: values. */
  value: string
  what: string
  hex: string
  length: number
  tookMs: number | null
  lit: Lit | null
  /** A question of a scan: an exception in answer to it says nothing against the unit. */
  isScan?: boolean
}

/** The line of an event; null for events the log does not show. */
export function rowOf(event: PortEvent): Row | null {
  if (event.event === 'frame') return frameRow(event, event.payload as FramePayload)
  if (event.event === 'error') return errorRow(event, event.payload as Record<string, unknown>)
  if (event.event === 'port') return stateRow(event, event.payload as Record<string, unknown>)
  return null
}

function base(event: PortEvent): Row {
  return {
    serial: 0,
    id: `${event.timestamp} ${event.event}`,
    at: event.timestamp,
    monotonicMs: null,
    kind: 'note',
    direction: null,
    unit: null,
    value: '',
    what: '',
    hex: '',
    length: 0,
    tookMs: null,
    lit: null,
  }
}

function frameRow(event: PortEvent, frame: FramePayload): Row {
  const row: Row = {
    ...base(event),
    id: `${frame.monotonicUs} ${frame.direction} ${frame.hex}`,
    monotonicMs: frame.monotonicUs / 1000,
    kind: frame.direction === 'tx' ? 'ask' : 'answer',
    direction: frame.direction,
    hex: frame.hex,
    length: frame.length,
    isScan: frame.priority === 'background',
  }
  if (frame.decoded) return { ...row, ...decodedRow(frame.decoded as DecodedFrame) }
  if (frame.decodeError) return { ...row, kind: 'noise', what: frame.decodeError.message, lit: 'warn' }
  return { ...row, what: textOf(frame.hex) ?? `${frame.length} byte${frame.length === 1 ? '' : 's'}` }
}

function decodedRow(decoded: DecodedFrame): Partial<Row> {
  const { unitId = null, fc = 0, address, quantity, values } = decoded
  // A pty answers before a real line would have sent the question: less than nothing is nothing.
  const tookMs = decoded.tookMs === undefined ? null : Math.max(0, decoded.tookMs)
  const head = { unit: unitId, tookMs }
  switch (decoded.kind) {
    case 'request':
      return { ...head, tookMs: null, kind: 'ask', what: requestText(fc, address, quantity, values) }
    case 'reply':
      return { ...head, kind: 'answer', ...replyText(fc, address, quantity, values) }
    case 'exception': {
      const { code, name } = decoded.exception ?? { code: 0, name: 'unknown' }
      return { ...head, kind: 'answer', what: `Exception ${String(code).padStart(2, '0')}: ${name}`, lit: 'warn' }
    }
    case 'late':
      return { ...head, kind: 'late', what: 'Late reply, thrown away', lit: 'warn' }
    case 'stray':
      return { ...head, kind: 'noise', what: 'Reply nobody waits for, thrown away', lit: 'warn' }
    case 'echo':
      return { ...head, kind: 'noise', what: 'Own bytes heard, thrown away', lit: 'mute' }
    default:
      return { ...head, kind: 'noise', what: 'Noise, thrown away', lit: 'warn' }
  }
}

const WRITES = [5, 6, 15, 16, 22]

function requestText(fc: number, address?: number, quantity?: number, values?: readonly unknown[]): string {
  if (address === undefined) return functionName(fc)
  const start = `${functionName(fc)} ${rangeText(address, quantity)}`
  return values && values.length > 0 ? `${start} = ${valuesText(values)}` : start
}

function replyText(fc: number, address?: number, quantity?: number, values?: readonly unknown[]): Partial<Row> {
  if (WRITES.includes(fc)) {
    const where = address === undefined ? functionName(fc) : rangeText(address, quantity)
    return { value: values?.length ? `${where} = ${valuesText(values)}` : where, what: 'taken' }
  }
  if (values && values.length > 0) return { value: valuesText(values), what: '' }
  return { what: `${functionName(fc)} answered` }
}

/** Values that fit on a line; the rest is counted. */
function valuesText(values: readonly unknown[]): string {
  const most = 8
  const shown = values.slice(0, most).map(valueText)
  const rest = values.length - shown.length
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ')
}

/** Registers and bits are numbers; an identification is a list of named texts. */
function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.values(value)
    .filter((part) => typeof part === 'string')
    .join(' ')
}

function errorRow(event: PortEvent, fault: Record<string, unknown>): Row {
  const unit = typeof fault.unitId === 'number' ? fault.unitId : null
  const waitedMs = typeof fault.waitedMs === 'number' ? fault.waitedMs : null
  const isMiss = fault.code === 'modbus_timeout' || fault.code === 'modbus_bad_reply'
  const isSilent = fault.code === 'modbus_timeout' && waitedMs !== null
  return {
    ...base(event),
    id: `${event.timestamp} ${fault.code} ${unit}`,
    kind: isMiss ? 'miss' : 'note',
    unit,
    what: isSilent ? `No reply within ${Math.round(waitedMs)}\u202fms` : String(fault.message),
    lit: 'fault',
  }
}

const STATES: Record<string, [Lit, string]> = {
  open: ['ok', 'Line open'],
  opening: ['busy', 'Line is being opened'],
  closed: ['off', 'Line closed'],
  absent: ['gone', 'Device absent'],
  failed: ['fault', 'Line will not open'],
}

function stateRow(event: PortEvent, change: Record<string, unknown>): Row {
  const [lit, word] = STATES[String(change.state)] ?? ['off', String(change.state)]
  const fault = change.fault as { message?: string } | null
  return {
    ...base(event),
    id: `${event.timestamp} ${change.state}`,
    what: fault?.message && change.state !== 'opening' ? `${word}: ${fault.message}` : word,
    lit,
  }
}

const ESCAPES: Record<number, string> = { 9: '\\t', 10: '\\n', 13: '\\r' }

/** The bytes as text where they are one, line ends as `\r` and `\n`: pictures of them are not in every font. Null where they are not text. */
export function textOf(hex: string): string | null {
  const bytes = hex === '' ? [] : hex.split(' ').map((pair) => Number.parseInt(pair, 16))
  const isText = (byte: number): boolean =>
    (byte >= 0x20 && byte < 0x7f) || byte === 0x0d || byte === 0x0a || byte === 0x09
  if (bytes.length === 0 || !bytes.every(isText) || !bytes.some((byte) => byte >= 0x20)) return null
  return bytes.map((byte) => ESCAPES[byte] ?? String.fromCodePoint(byte)).join('')
}
