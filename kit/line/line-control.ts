/** Settings and control lines of an open serial line, and what its errors mean. */

import { readFileSync } from 'node:fs'
import { type CallError, MODEM, type PlantroomOpenOptions, type PlantroomPort } from '#native/serial/index.ts'
import { systemClock } from '../clock.ts'
import { Fault } from '../pure/fault.ts'
import type { ControlledSettings, LineSettings, ModemLines, TransmitterState } from './line.ts'

// Converts line settings to options of the serialport binding.

/** @param line flow control of what the far end sends equals that of the other direction, unless `flow_in` is given */
export function optionsOf(path: string, line: LineSettings & { flow_in?: LineSettings['flow'] }): PlantroomOpenOptions {
  const { rs485, flow, flow_in: flowIn = flow } = line
  return {
    path,
    baudRate: line.baud,
    dataBits: line.data_bits,
    parity: line.parity,
    stopBits: line.stop_bits,
    rtscts: flow === 'rtscts' || flowIn === 'rtscts',
    xon: flow === 'xonxoff',
    xoff: flowIn === 'xonxoff',
    lowLatency: line.low_latency,
    rs485: rs485
      ? {
          enabled: rs485.enabled,
          rtsOnSend: rs485.rts_on_send,
          rxDuringTx: rs485.rx_during_tx,
          delayBeforeMs: rs485.delay_before_send_ms,
          delayAfterMs: rs485.delay_after_send_ms,
        }
      : undefined,
  }
}

// Turns a failed open of a device into a sentence for people.

/** Errnos that mean the device is not there, or no longer; EIO comes from a pty whose far end has closed. */
const ABSENT = ['ENOENT', 'ENXIO', 'ENODEV', 'EIO', 'HANGUP']

/** @returns Fault `line_absent`, `line_busy`, `line_not_tty` or `line_refused`; details name the call and the errno */
export function lineFaultOf(error: CallError, path: string): Fault {
  const facts = { ioctl: error.syscall, errno: error.errno }
  if (ABSENT.includes(error.code))
    return new Fault('line_absent', `${path} is not there; it may be unplugged.`, { cause: error, details: facts })
  if (error.code === 'EBUSY') return busy(error, path)
  if (error.code === 'ENOTTY')
    return new Fault('line_not_tty', `${path} is not a serial line: ${error.syscall} says ENOTTY.`, { cause: error })
  return new Fault('line_refused', sentenceOf(error, path), {
    cause: error,
    details: error.field ? { ...facts, field: error.field, wanted: error.wanted, got: error.got } : facts,
  })
}

function sentenceOf(error: CallError, path: string): string {
  if (error.field !== undefined)
    return `The driver of ${path} did not keep ${error.field}: wanted ${error.wanted}, ${error.syscall} reads back ${error.got}.`
  if (error.code === 'EACCES' || error.code === 'EPERM')
    return `${path} may not be opened: ${error.syscall} says ${error.code} (errno ${error.errno}). The user of this daemon needs the group that owns the device, usually dialout.`
  if (error.path === undefined) return `${path} cannot be set: ${error.message}.`
  return `${path} refused the settings: ${error.syscall} says ${error.code} (errno ${error.errno}).`
}

function busy(error: CallError, path: string): Fault {
  if (error.holder === undefined)
    return new Fault('line_busy', `${path} is in use by another process.`, { cause: error })
  const program = programOf(error.holder)
  const who = program === undefined ? `process ${error.holder}` : `process ${error.holder} (${program})`
  return new Fault('line_busy', `${path} is in use by ${who}.`, {
    cause: error,
    details: { pid: error.holder, ...(program === undefined ? {} : { program }) },
  })
}

function programOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return undefined // ended meanwhile, or hidden from our user
  }
}

/** What a line knows beside its port. */
interface LineControlParts {
  port: PlantroomPort
  path: string
  isPty: boolean
}

/** Controls one port; every call fails with Fault `line_refused`, or `line_absent` if the device has gone. */
export class LineControl {
  readonly #port: PlantroomPort
  readonly #path: string
  readonly #isPty: boolean
  readonly #hasModemLines: boolean
  /** The one wait for the transmitter, shared by all changes, however many of them time out. */
  #draining: Promise<void> | undefined

  constructor({ port, path, isPty }: LineControlParts) {
    this.#port = port
    this.#path = path
    this.#isPty = isPty
    this.#hasModemLines = !port.unsupported.includes('modem_lines')
  }

  /** @param written resolves when the driver has taken everything written before */
  async update(settings: ControlledSettings, drainMs: number, written: Promise<unknown>): Promise<void> {
    const { channel } = this.#port
    channel.tellPassed()
    channel.holdSockets()
    try {
      const isTaken = await settledWithin(written, drainMs)
      channel.blockWrites()
      if (isTaken) await settledWithin(this.#drained(), drainMs)
      await this.#told(this.#port.update(withoutPath(settings)))
    } finally {
      channel.unblockWrites()
      channel.releaseSockets()
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
      () => false, // a driver without TIOCMIWAIT, or a closed line: nothing to wait for
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
    // A pty has no transmitter to wait for.
    if (this.#isPty) return Promise.resolve()
    this.#draining ??= this.#port
      .drain()
      .catch(() => {}) // if the line closes meanwhile, the change itself reports it
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

/** @returns whether it settled in time; its result is for the caller that started it */
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
