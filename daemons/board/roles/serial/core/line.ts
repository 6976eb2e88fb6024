/** One line: kept open while enabled, its settings and signals, and its driver's counters. */

import { type Clock, type Timer, wait } from '#kit/clock.ts'
import type {
  ControlledLine,
  ControlledLineOpener,
  ControlledSettings,
  DriverCounts,
  ModemLines,
  Purge,
} from '#kit/line/line.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { stopBitsFault } from '#kit/pure/line.ts'
import { Backoff, type BackoffLimits, createSerialTurn } from '#kit/pure/pace.ts'
import { LINE_STATE } from '../wire/com-port.ts'

// The driver's counters, summed over every opening of the line.

/** Names as in the API. */
export interface DriverTotals {
  overruns: number
  framing: number
  parity: number
  breaks: number
}

const NOTHING_COUNTED: DriverTotals = { overruns: 0, framing: 0, parity: 0, breaks: 0 }

/** Counts of one port. */
interface DriverCounter {
  /** @param counts since the line was opened; null if the driver keeps none */
  read(counts: DriverCounts | null): void
  /** The line was closed: the next counts start at 0. */
  closed(): void
  /** Null until a driver has counted anything. */
  totals(): DriverTotals | null
}

function createDriverCounter(): DriverCounter {
  let before = NOTHING_COUNTED
  let now: DriverTotals | null = null
  let isKnown = false
  return {
    read(counts) {
      if (counts === null) return
      isKnown = true
      const { overrun, buf_overrun: kernelOverrun, frame: framing, parity, brk: breaks } = counts
      now = { overruns: overrun + kernelOverrun, framing, parity, breaks }
    },
    closed() {
      before = sumOfTotals(before, now ?? NOTHING_COUNTED)
      now = null
    },
    totals: () => (isKnown ? sumOfTotals(before, now ?? NOTHING_COUNTED) : null),
  }
}

function sumOfTotals(one: DriverTotals, other: DriverTotals): DriverTotals {
  return {
    overruns: one.overruns + other.overruns,
    framing: one.framing + other.framing,
    parity: one.parity + other.parity,
    breaks: one.breaks + other.breaks,
  }
}

// State table of a serial port: state x event -> next state.

export type SerialPortState = 'off' | 'opening' | 'open' | 'absent' | 'failed'

/**
 * - `enabled` the settings want it open, at start or by POST
 * - `disabled` they do not, or the daemon stops
 * - `opened` the driver accepted the line and every setting
 * - `notThere` the device does not exist
 * - `refused` the driver refused, or another program holds the lock
 * - `gone` an open line was unplugged or failed
 * - `retryDue` the wait before the next try is over
 */
export type SerialPortEvent = 'enabled' | 'disabled' | 'opened' | 'notThere' | 'refused' | 'gone' | 'retryDue'

/** Events not listed leave the state as it is. */
export const serialPortTable: Readonly<Record<SerialPortState, Partial<Record<SerialPortEvent, SerialPortState>>>> = {
  off: { enabled: 'opening' },
  opening: { disabled: 'off', opened: 'open', notThere: 'absent', refused: 'failed' },
  open: { disabled: 'off', gone: 'absent' },
  absent: { disabled: 'off', retryDue: 'opening' },
  failed: { disabled: 'off', retryDue: 'opening' },
}

/** @returns the next state; the same if the table has no such pair */
export function nextSerialPortState(state: SerialPortState, event: SerialPortEvent): SerialPortState {
  return serialPortTable[state][event] ?? state
}

// Keeps a line open while enabled: retries while it is absent or refused.

interface KeptLineParts {
  path: string
  opener: ControlledLineOpener
  clock: Clock
  /** Waits between tries. */
  retry: BackoffLimits
  /** Read at each try. */
  settings(): ControlledSettings
  onOpened(line: ControlledLine): void
  /** The line is gone, or was closed; it is no longer usable. */
  onClosed(): void
  /** State or fault have changed. */
  onChange(state: SerialPortState, fault: Fault | undefined): void
}

/** Starts in state `off`. */
export class KeptLine {
  readonly #parts: KeptLineParts
  readonly #backoff: Backoff
  #state: SerialPortState = 'off'
  #fault: Fault | undefined
  #line: ControlledLine | undefined
  #timer: Timer | undefined
  /** Number of the current attempt, so that a superseded one notices. */
  #attempt = 0
  /** The last attempt or closing. Never rejects. */
  #turn: Promise<void> = Promise.resolve()

  constructor(parts: KeptLineParts) {
    this.#parts = parts
    this.#backoff = new Backoff(parts.retry)
  }

  get state(): SerialPortState {
    return this.#state
  }

  get fault(): Fault | undefined {
    return this.#fault
  }

  /** Undefined if not open. */
  get line(): ControlledLine | undefined {
    return this.#line
  }

  /** Resolves after the first try. */
  async open(): Promise<void> {
    if (this.#state !== 'off') return
    this.#backoff.reset()
    this.#move('enabled')
    this.#try()
    await this.#turn
  }

  /** Resolves when the device is closed. */
  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#attempt++
    this.#letGo()
    this.#move('disabled')
    await this.#turn
  }

  #move(event: SerialPortEvent, fault?: Fault): void {
    this.#state = nextSerialPortState(this.#state, event)
    this.#fault = fault
    this.#parts.onChange(this.#state, fault)
  }

  /** Waits for the previous closing: the device is locked until then. */
  #try(): void {
    const mine = ++this.#attempt
    this.#turn = this.#turn.then(() => this.#open(mine))
  }

  /** A superseded attempt closes its line again. */
  async #open(mine: number): Promise<void> {
    const isOvertaken = () => mine !== this.#attempt
    if (isOvertaken()) return
    const { opener, path, settings, onOpened } = this.#parts
    try {
      const line = await opener.open(path, settings())
      if (isOvertaken()) return await line.close()
      this.#line = line
      this.#backoff.reset()
      line.onGone((why) => this.#gone(line, why))
      this.#move('opened')
      onOpened(line)
    } catch (error) {
      if (isOvertaken()) return
      const why = faultOf(error, 'line_refused', `${path} could not be opened.`)
      this.#move(why.code === 'line_absent' ? 'notThere' : 'refused', why)
      this.#retryLater()
    }
  }

  #gone(line: ControlledLine, why: Fault): void {
    if (this.#line !== line) return
    this.#letGo()
    this.#move('gone', why)
    this.#retryLater()
  }

  #letGo(): void {
    const line = this.#line
    if (line === undefined) return
    this.#line = undefined
    this.#parts.onClosed()
    // A lost line may fail to close; its descriptors are released anyway.
    this.#turn = this.#turn.then(() => line.close()).catch(() => {})
  }

  #retryLater(): void {
    this.#timer = this.#parts.clock.after(this.#backoff.next(), () => {
      this.#move('retryDue', this.#fault)
      this.#try()
    })
  }
}

// Settings and signals: as saved, as changed by a client, and as they really are.

/** Events on the line since the last look, and its present levels: bits of LINE_STATE. */
export interface LineLook {
  events: number
  levels: number
}

interface LineDeskParts {
  clock: Clock
  saved: ControlledSettings
  /** How long a change waits for bytes written before. */
  drainMs: number
  /**
   * Polling interval for the line's errors, and for modem lines if the driver cannot report changes, while somebody
   * wants them.
   */
  lookMs: number
  /** Bytes read from the line so far. */
  receivedBytes(): number
  /** Whether anybody wants modem lines; errors and levels. */
  isModemWanted(): boolean
  isLookWanted(): boolean
  onModem(lines: ModemLines): void
  onLook(look: LineLook): void
}

/** Without a line, changes are remembered and applied when it opens. */
export class LineDesk {
  readonly #parts: LineDeskParts
  readonly #inTurn = createSerialTurn()
  readonly #driver = createDriverCounter()
  #saved: ControlledSettings
  #settings: ControlledSettings
  #line: ControlledLine | undefined
  #isBreak = false
  /** Asserted by the driver when it opens. */
  #own = { dtr: true, rts: true }
  #lookTimer: Timer | undefined
  #lookedAt = { errors: null as DriverTotals | null, receivedBytes: 0 }

  constructor(parts: LineDeskParts) {
    this.#parts = parts
    this.#saved = parts.saved
    this.#settings = parts.saved
  }

  /** In effect now, or when the line opens. */
  get settings(): ControlledSettings {
    return this.#settings
  }

  get isBreak(): boolean {
    return this.#isBreak
  }

  /** Whether a client has changed them. */
  get isChanged(): boolean {
    return !isSame(this.#settings, this.#saved)
  }

  attach(line: ControlledLine): void {
    this.#line = line
    this.#lookedAt = { errors: this.driverTotals(), receivedBytes: this.#parts.receivedBytes() }
    void this.#signalAgain(line)
    void this.#watch(line)
  }

  detach(): void {
    // Read once more: counts since the last read go with the line.
    this.driverTotals()
    this.#line = undefined
    this.#driver.closed()
  }

  /**
   * A client's change. If the line refuses, nothing changes.
   * @returns whether it is in effect now
   */
  change(part: Partial<ControlledSettings>): Promise<boolean> {
    return this.#inTurn(() => this.#apply({ ...this.#settings, ...part }).then(isDone, isNotDone))
  }

  /** Replaces saved and changed settings alike. @throws Fault `line_refused`; then nothing has changed */
  async save(saved: ControlledSettings): Promise<void> {
    await this.#inTurn(async () => {
      await this.#apply(saved).catch((fault) => {
        // A line lost at this moment is opened with them when it comes back.
        if (!isGone(fault)) throw fault
      })
      this.#saved = saved
      this.#settings = saved
    })
  }

  /** Call when the last client that could change something has left. */
  async restore(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#apply(this.#saved).then(isDone, isNotDone)
      this.#settings = this.#saved
      if (this.#isBreak) await this.#signal((line) => line.setBreak(false))
      this.#isBreak = false
      if (!this.#own.dtr || !this.#own.rts) await this.#signal((line) => line.setModemLines({ dtr: true, rts: true }))
      this.#own = { dtr: true, rts: true }
    })
  }

  async setBreak(isOn: boolean): Promise<void> {
    await this.#inTurn(async () => {
      this.#isBreak = isOn
      await this.#signal((line) => line.setBreak(isOn))
    })
  }

  async setModemLines(lines: { dtr?: boolean; rts?: boolean }): Promise<void> {
    await this.#inTurn(async () => {
      this.#own = { ...this.#own, ...lines }
      await this.#signal((line) => line.setModemLines(lines))
    })
  }

  /** Present state; without modem lines: outputs as requested, and inputs off. */
  async modemLines(): Promise<ModemLines> {
    const lines = await this.#line?.modemLines().catch(() => null) // a line that has just gone has none
    return lines ?? { ...this.#own, cts: false, dsr: false, dcd: false, ring: false }
  }

  async purge(what: Purge): Promise<void> {
    await this.#inTurn(() => this.#signal((line) => line.flush(what)))
  }

  /** Reads errors and levels of the line now, and reports them to everybody who wants them. */
  async look(): Promise<LineLook> {
    const receivedBytes = this.#parts.receivedBytes()
    const errors = this.driverTotals()
    const { errors: before, receivedBytes: readBefore } = this.#lookedAt
    this.#lookedAt = { errors, receivedBytes }
    const look = {
      events: errors && before ? errorBits(before, errors) : 0,
      levels: (receivedBytes > readBefore ? LINE_STATE.dataReady : 0) | (await this.#transmitterBits()),
    }
    this.#parts.onLook(look)
    return look
  }

  /** Looks at intervals while anybody wants it. */
  lookOn(): void {
    this.#lookTimer ??= this.#parts.clock.after(this.#parts.lookMs, () => {
      this.#lookTimer = undefined
      if (!this.#parts.isLookWanted()) return
      void this.look().then(() => this.lookOn())
    })
  }

  driverTotals(): DriverTotals | null {
    if (this.#line) this.#driver.read(this.#line.driverCounts())
    return this.#driver.totals()
  }

  close(): void {
    this.#lookTimer?.cancel()
    this.detach()
  }

  async #apply(wanted: ControlledSettings): Promise<void> {
    checkTogether(wanted)
    if (isSame(wanted, this.#settings)) return
    await this.#line?.update(wanted, this.#parts.drainMs)
    this.#settings = wanted
  }

  /** A failure is ignored, as of a lost line: the request is remembered anyway. */
  async #signal(give: (line: ControlledLine) => Promise<void>): Promise<void> {
    if (this.#line) await give(this.#line).catch(() => {})
  }

  /** A reopened line has lost them: set them again. */
  async #signalAgain(line: ControlledLine): Promise<void> {
    if (!this.#own.dtr || !this.#own.rts) await line.setModemLines(this.#own).catch(() => {})
    if (this.#isBreak) await line.setBreak(true).catch(() => {})
  }

  async #transmitterBits(): Promise<number> {
    const state = await this.#line?.transmitter().catch(() => undefined) // a line that has just gone
    if (state === undefined) return 0
    const isHoldingEmpty = state.waitingBytes === 0
    const isShiftEmpty = state.isEmpty ?? isHoldingEmpty
    return (isHoldingEmpty ? LINE_STATE.holdingEmpty : 0) | (isShiftEmpty ? LINE_STATE.shiftEmpty : 0)
  }

  /** Runs until the line goes. A driver without TIOCMIWAIT is polled. */
  async #watch(line: ControlledLine): Promise<void> {
    let seen: ModemLines | null = null
    while (this.#line === line) {
      const lines = await line.modemLines().catch(() => null)
      if (lines === null) return
      if (seen !== null && !isSameModem(seen, lines) && this.#line === line) this.#parts.onModem(lines)
      seen = lines
      while (!(await line.modemChange()) && this.#line === line) {
        await wait(this.#parts.clock, this.#parts.lookMs)
        if (this.#parts.isModemWanted()) break
      }
    }
  }
}

/** @throws Fault `line_refused` for what no UART supports */
export function checkTogether({ data_bits: dataBits, stop_bits: stopBits }: ControlledSettings): void {
  const sentence = stopBitsFault(dataBits, stopBits)
  if (sentence !== undefined) throw new Fault('line_refused', sentence)
}

const isGone = (fault: unknown) => fault instanceof Fault && ['line_closed', 'line_absent'].includes(fault.code)
const isDone = () => true
const isNotDone = () => false

const COMPARED = ['baud', 'data_bits', 'parity', 'stop_bits', 'flow', 'flow_in'] as const

function isSame(one: ControlledSettings, other: ControlledSettings): boolean {
  return COMPARED.every((name) => one[name] === other[name])
}

function isSameModem(one: ModemLines, other: ModemLines): boolean {
  return (Object.keys(one) as (keyof ModemLines)[]).every((name) => one[name] === other[name])
}

function errorBits(before: DriverTotals, now: DriverTotals): number {
  const bits: [keyof DriverTotals, number][] = [
    ['overruns', LINE_STATE.overrun],
    ['parity', LINE_STATE.parity],
    ['framing', LINE_STATE.framing],
    ['breaks', LINE_STATE.break],
  ]
  return bits.reduce((sum, [name, bit]) => (now[name] > before[name] ? sum | bit : sum), 0)
}
