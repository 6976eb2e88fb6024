/** The live traffic of one port: the lines of its log, which of them are kept and shown, and whether it is paused. */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { now } from '#kit/web/contact.ts'
import type { Lit } from '#kit/web/parts.ts'
import { type Feed, type FeedMessage, openFeed } from '#kit/web/socket.ts'
import type { FramePayload, PortEvent } from '../core/lines/ports.ts'
import type { DecodedFrame } from '../wire/modbus-reply.ts'
import * as texts from './texts.ts'
import { functionName, rangeText } from './words.ts'

// One event of a port as a line of the log: direction, unit, content, and whether it is well.

/** What an event means on the line. `ask` and `answer` are whole frames; `miss`: a reply that never came. */
type RowKind = 'ask' | 'answer' | 'late' | 'noise' | 'miss' | 'note'

/** One line of the log. */
export interface Row {
  /** The position in the log since it was opened. */
  serial: number
  /** Identifies an event that the feed repeats after a reconnect; the frames of one read may share it. */
  id: string
  /** Epoch ms by the gateway's clock. */
  at: number
  /** CLOCK_MONOTONIC in ms, if the event has it: gives exact distances between frames. */
  monotonicMs: number | null
  kind: RowKind
  direction: 'rx' | 'tx' | null
  unit: number | null
  /** What people read first: the values. */
  value: string
  what: string
  hex: string
  length: number
  tookMs: number | null
  lit: Lit | null
  /** A request of a scan: an exception in reply to it does not count against the unit. */
  isScan?: boolean
}

/** The line for an event; null for events that the log does not show. */
export function trafficRow(event: PortEvent): Row | null {
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
  const decoded = frame.decoded as DecodedFrame | RingFrame | null
  if (decoded) return { ...row, ...('frameType' in decoded ? ringRow(decoded) : decodedRow(decoded)) }
  if (frame.decodeError) return { ...row, kind: 'noise', what: frame.decodeError.message, lit: 'warn' }
  return { ...row, what: printableText(frame.hex) ?? texts.bytesLong(frame.length) }
}

function decodedRow(decoded: DecodedFrame): Partial<Row> {
  const { unitId = null, fc = 0, address, quantity, values } = decoded
  // A pty replies before a real line would have sent the request, so the time may be negative: it becomes 0.
  const tookMs = decoded.tookMs === undefined ? null : Math.max(0, decoded.tookMs)
  const head = { unit: unitId, tookMs }
  switch (decoded.kind) {
    case 'request':
      return {
        ...head,
        tookMs: null,
        kind: 'ask',
        what: factsText(decoded) ?? requestText(fc, address, quantity, values),
      }
    case 'reply':
      return { ...head, kind: 'answer', ...replyText(decoded) }
    case 'exception': {
      const { code, name } = decoded.exception ?? { code: 0, name: texts.unknownException }
      return { ...head, kind: 'answer', what: texts.exception(String(code).padStart(2, '0'), name), lit: 'warn' }
    }
    case 'late':
      return { ...head, kind: 'late', what: texts.lateReply, lit: 'warn' }
    case 'stray':
      return { ...head, kind: 'noise', what: texts.unexpectedReply, lit: 'warn' }
    case 'echo':
      return { ...head, kind: 'noise', what: texts.ownBytes, lit: 'mute' }
    default:
      return { ...head, kind: 'noise', what: texts.noise, lit: 'warn' }
  }
}

/** A frame of a ring. */
interface RingFrame {
  frameType: string
  destination: number
  source: number
  pdu?: string
  service?: string
  network?: string
  invokeId?: number
}

/** The unit is who speaks. Ours are asked for by their direction, not by what they say. */
function ringRow({ destination, frameType, invokeId, network, pdu, service, source }: RingFrame): Partial<Row> {
  const said = [network, pdu, service, invokeId !== undefined && `#${invokeId}`].filter(Boolean).join(' ')
  return { unit: source, value: said, what: texts.frameTo(frameType, destination) }
}

/** What a frame of another protocol says, by the names that it decodes it to; undefined for a frame of Modbus. */
function factsText({ fc, kind, tookMs, unitId, ...facts }: DecodedFrame): string | undefined {
  if (fc !== undefined) return undefined
  return Object.entries(facts)
    .map(([name, value]) => `${name} ${valueText(value)}`)
    .join(', ')
}

const WRITES = [5, 6, 15, 16, 22]

function requestText(fc: number, address?: number, quantity?: number, values?: readonly unknown[]): string {
  if (address === undefined) return functionName(fc)
  const start = `${functionName(fc)} ${rangeText(address, quantity)}`
  return values && values.length > 0 ? `${start} = ${valuesText(values)}` : start
}

function replyText(decoded: DecodedFrame): Partial<Row> {
  const { fc, address, quantity, values } = decoded
  if (fc === undefined) return { value: factsText(decoded), what: '' }
  if (WRITES.includes(fc)) {
    const where = address === undefined ? functionName(fc) : rangeText(address, quantity)
    return { value: values?.length ? `${where} = ${valuesText(values)}` : where, what: texts.taken }
  }
  if (values && values.length > 0) return { value: valuesText(values), what: '' }
  return { what: texts.trafficAnswered(functionName(fc)) }
}

/** The values that fit on a line; the others are only counted. */
function valuesText(values: readonly unknown[]): string {
  const most = 8
  const shown = values.slice(0, most).map(valueText)
  const rest = values.length - shown.length
  return rest > 0 ? texts.andMore(shown.join(', '), rest) : shown.join(', ')
}

/** Registers and bits are numbers; identification objects are texts with names. */
function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.values(value)
    .filter((part) => typeof part === 'string')
    .join(' ')
}

function errorRow(event: PortEvent, fault: Record<string, unknown>): Row {
  const unit = typeof fault.unitId === 'number' ? fault.unitId : null
  const waitedMs = typeof fault.waitedMs === 'number' ? fault.waitedMs : null
  const isTimeout = /^(modbus|mbus)_timeout$/.test(String(fault.code))
  const isMiss = isTimeout || /^(modbus|mbus)_bad_reply$/.test(String(fault.code))
  const isSilent = isTimeout && waitedMs !== null
  return {
    ...base(event),
    id: `${event.timestamp} ${fault.code} ${unit}`,
    kind: isMiss ? 'miss' : 'note',
    unit,
    what: isSilent ? texts.noReplyIn(Math.round(waitedMs)) : String(fault.message),
    lit: 'fault',
  }
}

const STATES: Record<string, [Lit, string]> = {
  open: ['ok', texts.lineOpen],
  opening: ['busy', texts.lineIsBeingOpened],
  closed: ['off', texts.lineClosed],
  absent: ['gone', texts.deviceAbsent],
  failed: ['fault', texts.trafficLineWillNotOpen],
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

/**
 * The bytes as text, with line ends as `\r` and `\n`, because not every font has pictures of them. Null if they are no
 * text.
 */
export function printableText(hex: string): string | null {
  const bytes = hex === '' ? [] : hex.split(' ').map((pair) => Number.parseInt(pair, 16))
  const isText = (byte: number): boolean =>
    (byte >= 0x20 && byte < 0x7f) || byte === 0x0d || byte === 0x0a || byte === 0x09
  if (bytes.length === 0 || !bytes.every(isText) || !bytes.some((byte) => byte >= 0x20)) return null
  return bytes.map((byte) => ESCAPES[byte] ?? String.fromCodePoint(byte)).join('')
}

// The log of one port: events as lines, of which a limited number is kept, none of them twice.

/** The log of one port. */
interface FrameLog {
  /** Adds an event. After `replayed`, lines that are already there are ignored, up to the first new one. */
  add(event: PortEvent): void
  /** The feed has restarted: its first events may be in the log already. */
  replayed(): void
  /** Adds a line saying that frames were left out. */
  skipped(many: number, atMs: number): void
  /** The lines kept, oldest first. A new array after every change. */
  rows(): readonly Row[]
  /** How many lines were added since the start. */
  taken(): number
}

/** @param most how many lines are kept; the oldest are dropped first */
export function createFrameLog(most: number): FrameLog {
  let rows: Row[] = []
  let shown: readonly Row[] = rows
  let isFresh = true
  let taken = 0
  const ids = new Set<string>()
  let isReplay = false

  function push(row: Row): void {
    if (isReplay && ids.has(row.id)) return
    isReplay = false
    ids.add(row.id)
    taken += 1
    rows.push({ ...row, serial: taken })
    isFresh = false
    if (rows.length < most * 2) return
    for (const old of rows.slice(0, -most)) ids.delete(old.id)
    rows = rows.slice(-most)
  }

  return {
    add(event) {
      const row = trafficRow(event)
      if (row) push(row)
    },
    replayed() {
      isReplay = true
    },
    skipped(many, atMs) {
      push({
        serial: 0,
        id: `${atMs} skipped ${many}`,
        at: atMs,
        monotonicMs: null,
        kind: 'note',
        direction: null,
        unit: null,
        value: '',
        what: texts.framesSkipped(many),
        hex: '',
        length: 0,
        tookMs: null,
        lit: 'warn',
      })
    },
    rows() {
      if (!isFresh) shown = rows.slice(-most)
      isFresh = true
      return shown
    },
    taken: () => taken,
  }
}

/** The lines to show: those with every word of the filter, and only bad ones if so asked. */
export function matching(rows: readonly Row[], filter: string, errorsOnly: boolean): readonly Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0 && !errorsOnly) return rows
  return rows.filter((row) => {
    if (errorsOnly && !isBad(row)) return false
    const text = `${row.unit === null ? '' : `unit ${row.unit}`} ${row.value} ${row.what} ${row.hex}`.toLowerCase()
    return holds(text, words)
  })
}

/** A number must match a whole word, so that `unit 1` does not find unit 17. Other words match anywhere. */
function holds(text: string, words: readonly string[]): boolean {
  const whole = new Set(text.split(/[^\p{L}\p{N}.]+/u))
  return words.every((word) => (/^\d+$/.test(word) ? whole.has(word) : text.includes(word)))
}

/** Whether a line shows a problem. */
export function isBad(row: Row): boolean {
  return row.lit === 'warn' || row.lit === 'fault' || row.lit === 'gone'
}

/** How many lines are kept and shown. */
const ROWS_KEPT = 500
/** How many events may wait for the next drawing, since a hidden page draws nothing; more are left out and counted. */
const QUEUE = 1000
/** New lines are drawn at most this often. */
const DRAW_MS = 100

/** The events that become lines of the log. */
const LOGGED = ['frame', 'error', 'port']

/** How frames are shown. */
export type Show = 'both' | 'decoded' | 'bytes'

/** The live traffic of one port. */
export interface Traffic {
  /** All lines kept, also while paused: the verdict is about the line, not about what the page shows. */
  readonly rows: Signal<readonly Row[]>
  /** The lines that the log shows. */
  readonly shown: ReadonlySignal<readonly Row[]>
  /** The lines that the log would show without a filter. */
  readonly frozen: ReadonlySignal<readonly Row[]>
  readonly show: Signal<Show>
  readonly filter: Signal<string>
  readonly errorsOnly: Signal<boolean>
  /** When the log was paused, and what it showed then; null while it runs. */
  readonly pause: Signal<{ rows: readonly Row[]; atMs: number; taken: number } | null>
  /** How many lines were added since the pause. */
  readonly missed: ReadonlySignal<number>
  togglePause(): void
  /** Calls `hear` with the events that are no lines of the log: values and units. Returns a function that ends this. */
  onOther(hear: (event: PortEvent) => void): () => void
  close(): void
}

/** Follows the traffic of a port until closed. */
export function createTraffic(port: string): Traffic {
  const log = createFrameLog(ROWS_KEPT)
  const rows = signal<readonly Row[]>([])
  const taken = signal(0)
  const pause: Traffic['pause'] = signal(null)
  const filter = signal('')
  const errorsOnly = signal(false)
  const frozen = computed(() => pause.value?.rows ?? rows.value)
  const others = new Set<(event: PortEvent) => void>()
  let queue: PortEvent[] = []
  let leftOut = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function draw(): void {
    timer = undefined
    if (leftOut > 0) log.skipped(leftOut, queue[0]?.timestamp ?? Date.now())
    for (const event of queue) log.add(event)
    queue = []
    leftOut = 0
    rows.value = log.rows()
    taken.value = log.taken()
  }

  /** Queued events belong to the previous feed. */
  function begin(): void {
    for (const event of queue) log.add(event)
    queue = []
    log.replayed()
  }

  function hear(message: FeedMessage): void {
    if (message.type === 'event' && !LOGGED.includes(message.event)) {
      for (const tell of others) tell(message)
      return
    }
    if (message.type === 'event') queue.push(message)
    else if (message.type === 'summary') leftOut += message.dropped
    if (queue.length > QUEUE) {
      queue.shift()
      leftOut += 1
    }
    timer ??= setTimeout(() => requestAnimationFrame(draw), DRAW_MS)
  }

  const feed: Feed = openFeed({ port, replay: 200 }, hear, begin)
  return {
    rows,
    frozen,
    shown: computed(() => matching(frozen.value, filter.value, errorsOnly.value)),
    show: signal<Show>('both'),
    filter,
    errorsOnly,
    pause,
    missed: computed(() => (pause.value ? taken.value - pause.value.taken : 0)),
    togglePause() {
      pause.value = pause.value ? null : { rows: rows.value, atMs: now.peek(), taken: taken.value }
    },
    onOther(tell) {
      others.add(tell)
      return () => others.delete(tell)
    },
    close() {
      clearTimeout(timer)
      feed.close()
    },
  }
}
