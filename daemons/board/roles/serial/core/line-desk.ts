/** Settings and signals of one port's line: as saved, as a client has changed them, and as they really are. */
import { stopBitsFault } from '#kit/bytes/stop-bits.ts'
import { type Clock, type Timer, wait } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { ControlledLine, ControlledSettings, ModemLines, Purge } from '#kit/line/controlled-line.ts'
import { createTurn } from '#kit/turn.ts'
import { LINE_STATE } from '../wire/com-port.ts'
import { createDriverCounter, type DriverTotals } from './driver-totals.ts'

/** What has happened on the line since the last look, and how it is: bits of LINE_STATE. */
export interface LineLook {
  events: number
  levels: number
}

export interface LineDeskParts {
  clock: Clock
  saved: ControlledSettings
  /** How long a change waits for what was written before. */
  drainMs: number
  /** How often a driver that tells of no change is asked, and the line's errors are, while somebody wants to know. */
  lookMs: number
  /** Bytes read from the line so far. */
  receivedBytes(): number
  /** Somebody wants to be told of modem lines; of errors and levels. */
  isModemWanted(): boolean
  isLookWanted(): boolean
  onModem(lines: ModemLines): void
  onLook(look: LineLook): void
}

/** Without a line every change is remembered, and holds when it comes. */
export class LineDesk {
  readonly #parts: LineDeskParts
  readonly #inTurn = createTurn()
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

  /** In effect now, or when the line comes. */
  get settings(): ControlledSettings {
    return this.#settings
  }

  get isBreak(): boolean {
    return this.#isBreak
  }

  /** A client has changed them. */
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
    // What was counted since somebody asked last goes with the line.
    this.driverTotals()
    this.#line = undefined
    this.#driver.closed()
  }

  /**
   * A client's wish. What the line refuses stays as it was.
   * @returns whether it is so now
   */
  change(part: Partial<ControlledSettings>): Promise<boolean> {
    return this.#inTurn(() => this.#apply({ ...this.#settings, ...part }).then(isDone, isNotDone))
  }

  /** Takes the place of saved and changed settings alike. @throws Fault `line_refused`; then nothing has changed */
  async save(saved: ControlledSettings): Promise<void> {
    await this.#inTurn(async () => {
      await this.#apply(saved).catch((fault) => {
        // A line that went this moment is opened with them when it comes back.
        if (!isGone(fault)) throw fault
      })
      this.#saved = saved
      this.#settings = saved
    })
  }

  /** The last client that could change something has left. */
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

  /** As they are; where the line has none ours as they were wished, and none of the far end's. */
  async modemLines(): Promise<ModemLines> {
    const lines = await this.#line?.modemLines().catch(() => null) // a line that has just gone has none
    return lines ?? { ...this.#own, cts: false, dsr: false, dcd: false, ring: false }
  }

  async purge(what: Purge): Promise<void> {
    await this.#inTurn(() => this.#signal((line) => line.flush(what)))
  }

  /** Errors and levels of the line now. Everybody who wants them is told, too. */
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

  /** Looks again and again while somebody wants it. */
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

  /** A line that cannot do it, or that is gone: its wish is remembered all the same. */
  async #signal(give: (line: ControlledLine) => Promise<void>): Promise<void> {
    if (this.#line) await give(this.#line).catch(() => {})
  }

  /** A line that came back has forgotten. */
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

  /** Until the line goes. A driver without TIOCMIWAIT is asked again and again. */
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

/** @throws Fault `line_refused` for what no UART has */
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
