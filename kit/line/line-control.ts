/** Settings and signals of an open port: changed without a byte lost, and told as they are. */
import { systemClock } from '#kit/clock.ts'
import { type CallError, MODEM, type PlantroomPort } from '#native/serial/index.ts'
import type { ControlledSettings, ModemLines, TransmitterState } from './controlled-line.ts'
import { lineFaultOf } from './line-faults.ts'
import { optionsOf } from './serial-options.ts'

/** What of a line is not the port's own. */
export interface LineControlParts {
  port: PlantroomPort
  path: string
  isPty: boolean
}

/** Controls one port; every call fails with Fault `line_refused`, or `line_absent` where the device has gone. */
export class LineControl {
  readonly #port: PlantroomPort
  readonly #path: string
  readonly #isPty: boolean
  readonly #hasModemLines: boolean
  /** One wait for the transmitter at a time, however many changes give up waiting. */
  #draining: Promise<void> | undefined

  constructor({ port, path, isPty }: LineControlParts) {
    this.#port = port
    this.#path = path
    this.#isPty = isPty
    this.#hasModemLines = !port.unsupported.includes('modem_lines')
  }

  /** @param written resolves when the driver has what was written before */
  async update(settings: ControlledSettings, drainMs: number, written: Promise<unknown>): Promise<void> {
    const { channel } = this.#port
    channel.passing.tell()
    channel.passing.hold()
    try {
      const isTaken = await settledWithin(written, drainMs)
      channel.blockWrites()
      if (isTaken) await settledWithin(this.#drained(), drainMs)
      await this.#told(this.#port.update(withoutPath(settings)))
    } finally {
      channel.unblockWrites()
      channel.passing.release()
    }
  }

  async modemLines(): Promise<ModemLines | null> {
    if (!this.#hasModemLines) return null
    const bits = await this.#told(this.#port.modem())
    return {
      dtr: (bits & MODEM.dtr) !== 0,
      rts: (bits & MODEM.rts) !== 0,
      cts: (bits & MODEM.cts) !== 0,
      dsr: (bits & MODEM.dsr) !== 0,
      dcd: (bits & MODEM.dcd) !== 0,
      ring: (bits & MODEM.ring) !== 0,
    }
  }

  async setModemLines(lines: { dtr?: boolean; rts?: boolean }): Promise<void> {
    if (this.#hasModemLines) await this.#told(this.#port.set(lines))
  }

  async modemChange(): Promise<boolean> {
    if (!this.#hasModemLines) return false
    return this.#port.waitModem(MODEM.cts | MODEM.dsr | MODEM.dcd | MODEM.ring).then(
      () => true,
      () => false, // a driver without TIOCMIWAIT, or a line that was closed: there is nothing to wait for
    )
  }

  setBreak(isOn: boolean): Promise<void> {
    return this.#told(this.#port.set({ brk: isOn }))
  }

  async transmitter(): Promise<TransmitterState> {
    const waitingBytes = this.#port.outQueue()
    const isEmpty = await this.#port.isTransmitterEmpty().catch(() => null) // few drivers know TIOCSERGETLSR
    return { waitingBytes, isEmpty }
  }

  #drained(): Promise<void> {
    // Nothing is on its way in a pty.
    if (this.#isPty) return Promise.resolve()
    this.#draining ??= this.#port
      .drain()
      .catch(() => {}) // a line that closes meanwhile is told by the change itself
      .finally(() => {
        this.#draining = undefined
      })
    return this.#draining
  }

  async #told<Result>(call: Promise<Result>): Promise<Result> {
    return await call.catch((error: CallError) => {
      throw lineFaultOf(error, this.#path)
    })
  }
}

function withoutPath(settings: ControlledSettings) {
  const { path: _, ...options } = optionsOf('', settings)
  return options
}

/** @returns whether it was over in time; its outcome is for whoever began it */
function settledWithin(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = systemClock.after(limitMs, () => resolve(false))
    const isOver = () => {
      timer.cancel()
      resolve(true)
    }
    promise.then(isOver, isOver)
  })
}
