/** One line that is kept open while it is wanted: tried again while it is absent or refused. */
import { type BackoffLimits, createBackoff } from '#kit/backoff.ts'
import type { Clock, Timer } from '#kit/clock.ts'
import { type Fault, faultOf } from '#kit/fault.ts'
import type { ControlledLine, ControlledLineOpener, ControlledSettings } from '#kit/line/controlled-line.ts'
import { nextSerialPortState, type SerialPortEvent, type SerialPortState } from './port-state-table.ts'

export interface KeptLineParts {
  path: string
  opener: ControlledLineOpener
  clock: Clock
  /** Waits between tries. */
  retry: BackoffLimits
  /** Asked for at each try. */
  settings(): ControlledSettings
  onOpened(line: ControlledLine): void
  /** The line is gone, or was closed; it is of no use any more. */
  onClosed(): void
  /** State or fault are otherwise. */
  onChange(state: SerialPortState, fault: Fault | undefined): void
}

/** Begins in state `off`. */
export class KeptLine {
  readonly #parts: KeptLineParts
  readonly #backoff: ReturnType<typeof createBackoff>
  #state: SerialPortState = 'off'
  #fault: Fault | undefined
  #line: ControlledLine | undefined
  #timer: Timer | undefined
  /** Numbers the attempts to open, so that one which was overtaken knows. */
  #attempt = 0
  /** The attempt or the closing that began last. Never rejects. */
  #turn: Promise<void> = Promise.resolve()

  constructor(parts: KeptLineParts) {
    this.#parts = parts
    this.#backoff = createBackoff(parts.retry)
  }

  get state(): SerialPortState {
    return this.#state
  }

  get fault(): Fault | undefined {
    return this.#fault
  }

  /** Undefined while it is not open. */
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

  /** Resolves when the device is free. */
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

  /** After the closing before: the device is locked until then. */
  #try(): void {
    const mine = ++this.#attempt
    this.#turn = this.#turn.then(() => this.#open(mine))
  }

  /** An attempt that was overtaken gives its line back. */
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
    // A line that is gone may fail to close; its descriptors are given back all the same.
    this.#turn = this.#turn.then(() => line.close()).catch(() => {})
  }

  #retryLater(): void {
    this.#timer = this.#parts.clock.after(this.#backoff.next(), () => {
      this.#move('retryDue', this.#fault)
      this.#try()
    })
  }
}
