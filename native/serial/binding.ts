/** A serialport binding over plain system calls, with features that serialport's own lacks. */

import { addon, type NativePort, type NativeSettings, PARITY } from './addon.ts'
import type * as Interface from './bindings-interface.cjs'
import { type CallError, Channel, callError } from './channel.ts'
import { flockHolder } from './holder.ts'

/** RS-485 direction control by the driver. Delays in milliseconds. */
export interface Rs485Options {
  enabled: boolean
  rtsOnSend: boolean
  rxDuringTx: boolean
  delayBeforeMs: number
  delayAfterMs: number
}

/** serialport's open options and this binding's additions. */
export interface PlantroomOpenOptions extends Interface.OpenOptions {
  parity?: keyof typeof PARITY
  /** undefined leaves the driver's setting (a device tree may have turned RS-485 on). */
  rs485?: Rs485Options | undefined
  lowLatency?: boolean
  /** PARMRK: a byte with a parity or framing error reads as FF 00 <byte>, a break as FF 00 00, an FF as FF FF. */
  markErrors?: boolean
  /** Folder of UUCP lock files; default /run/lock. Ignored without `lock`. */
  lockFolder?: string
}

/** Counts of TIOCGICOUNT, unsigned 32 bit, as the driver keeps them (not since the line was opened). */
export interface IcounterCounts {
  rx: number
  tx: number
  frame: number
  overrun: number
  parity: number
  brk: number
  buf_overrun: number
  cts: number
  dsr: number
  rng: number
  dcd: number
}

/** Modem line bits of TIOCMGET and TIOCMIWAIT. */
export const MODEM = { dtr: 0x002, rts: 0x004, cts: 0x020, dcd: 0x040, ring: 0x080, dsr: 0x100 } as const

/** Queues of a driver, by the numbers of TCFLSH. */
const QUEUE = { received: 0, toSend: 1, both: 2 } as const

/** Features a driver may lack, in the order of the addon's bits. */
const FEATURES = ['rs485', 'low_latency', 'driver_counts', 'modem_lines'] as const

type Feature = (typeof FEATURES)[number]

const DEFAULTS = {
  dataBits: 8,
  lock: true,
  stopBits: 1,
  parity: 'none',
  rtscts: false,
  xon: false,
  xoff: false,
  xany: false,
  hupcl: true,
  rs485: undefined,
  lowLatency: false,
  markErrors: false,
  lockFolder: '/run/lock',
} as const

type FullOptions = Required<Omit<PlantroomOpenOptions, 'rs485'>> & Pick<PlantroomOpenOptions, 'rs485'>

function refused(sentence: string): CallError {
  return callError(sentence, { code: 'EINVAL', errno: 22, syscall: 'TCSETS2' })
}

function check(options: FullOptions): void {
  const { baudRate, stopBits, dataBits, parity } = options
  if (!Number.isInteger(baudRate) || baudRate < 1 || baudRate > 0xffff_ffff)
    throw refused(`baud rate is ${baudRate}, needs a whole number of at least 1`)
  if (PARITY[parity] === undefined) throw refused(`parity is ${parity}, needs ${Object.keys(PARITY).join(', ')}`)
  // A UART's stop bit means two bits, or one and a half with five data bits; there is no third setting.
  if (stopBits === 1.5 && dataBits !== 5)
    throw refused(`1.5 stop bits exist with 5 data bits only, wanted with ${dataBits}`)
}

function nativeOf(options: FullOptions): NativeSettings {
  const rs485 = options.rs485
  return {
    baud: options.baudRate,
    dataBits: options.dataBits,
    parity: PARITY[options.parity],
    twoStops: options.stopBits !== 1,
    rtscts: options.rtscts,
    xon: options.xon,
    xoff: options.xoff,
    xany: options.xany,
    hupcl: options.hupcl,
    markErrors: options.markErrors,
    lowLatency: options.lowLatency,
    rs485Given: rs485 !== undefined,
    rs485Enabled: rs485?.enabled ?? false,
    rtsOnSend: rs485?.rtsOnSend ?? false,
    rxDuringTx: rs485?.rxDuringTx ?? false,
    delayBeforeMs: rs485?.delayBeforeMs ?? 0,
    delayAfterMs: rs485?.delayAfterMs ?? 0,
  }
}

/** An open line. Errors are CallErrors: code, errno, syscall. */
export class PlantroomPort implements Interface.BindingPortInterface {
  readonly openOptions: FullOptions
  readonly channel: Channel
  readonly #native: NativePort

  constructor(native: NativePort, options: FullOptions) {
    this.#native = native
    this.openOptions = options
    this.channel = new Channel(native)
  }

  get isOpen(): boolean {
    return this.channel.isOpen
  }

  /** CLOCK_MONOTONIC of the last read, microseconds. */
  get lastReadAtUs(): number {
    return this.channel.lastReadAtUs
  }

  /** What this driver cannot do, as found at open. */
  get unsupported(): Feature[] {
    return FEATURES.filter((_, bit) => (this.#native.unsupported & (1 << bit)) !== 0)
  }

  close(): Promise<void> {
    return this.channel.close()
  }

  async read(buffer: Buffer, offset: number, length: number): Promise<{ buffer: Buffer; bytesRead: number }> {
    return { buffer, bytesRead: await this.channel.read(buffer.subarray(offset, offset + length)) }
  }

  write(buffer: Buffer): Promise<void> {
    return this.channel.write(buffer)
  }

  /** Changes any line setting without reopening, read back and compared as at open; if refused, all stays as it was. */
  async update(options: Partial<Omit<PlantroomOpenOptions, 'path' | 'lock' | 'lockFolder'>>): Promise<void> {
    const next = { ...this.openOptions, ...options }
    check(next)
    try {
      await this.#native.configure(nativeOf(next))
    } catch (error) {
      await this.#native.configure(nativeOf(this.openOptions)).catch(() => undefined) // report the first error, which says more
      throw error
    }
    Object.assign(this.openOptions, options)
  }

  async set(options: Interface.SetOptions): Promise<void> {
    const { brk, dtr, rts } = options
    const on = (dtr === true ? MODEM.dtr : 0) | (rts === true ? MODEM.rts : 0)
    const off = (dtr === false ? MODEM.dtr : 0) | (rts === false ? MODEM.rts : 0)
    if (on !== 0 || off !== 0) await this.#native.setModem(on, off)
    if (brk !== undefined) await this.#native.setBreak(brk)
  }

  async get(): Promise<{ cts: boolean; dsr: boolean; dcd: boolean }> {
    const bits = await this.#native.modem()
    return { cts: (bits & MODEM.cts) !== 0, dsr: (bits & MODEM.dsr) !== 0, dcd: (bits & MODEM.dcd) !== 0 }
  }

  /** All MODEM bits, outputs included (TIOCMGET). */
  async modem(): Promise<number> {
    return this.#native.modem()
  }

  /** Resolves at the next change of one of the MODEM bits (TIOCMIWAIT). */
  async waitModem(bits: number): Promise<void> {
    await this.#native.waitModem(bits)
  }

  async getBaudRate(): Promise<{ baudRate: number }> {
    return { baudRate: await this.#native.baud() }
  }

  /** Drops what was received, what is queued to send, or both, in the driver and here. */
  async flush(what: keyof typeof QUEUE = 'both'): Promise<void> {
    if (what !== 'received') this.channel.dropWrites()
    await this.#native.flush(QUEUE[what])
  }

  /**
   * Resolves when the last bit has been sent. Ends with `canceled` on close, however long flow control blocks the line.
   */
  async drain(): Promise<void> {
    try {
      await this.#native.drain()
    } catch (error) {
      throw Object.assign(error as CallError, { canceled: (error as CallError).code === 'ECANCELED' })
    }
  }

  /** Counts of the driver; null if it keeps none. */
  counts(): IcounterCounts | null {
    const list = this.#native.counts()
    if (list === undefined) return null
    const [rx = 0, tx = 0, frame = 0, overrun = 0, parity = 0, brk = 0, buf_overrun = 0, ...lines] = list
    const [cts = 0, dsr = 0, rng = 0, dcd = 0] = lines
    return { rx, tx, frame, overrun, parity, brk, buf_overrun, cts, dsr, rng, dcd }
  }

  /** Bytes the driver has yet to send (TIOCOUTQ). */
  outQueue(): number {
    return this.#native.outQueue()
  }

  /** True if the shift register is empty too (TIOCSERGETLSR). @throws CallError ENOTTY if the driver cannot tell */
  async isTransmitterEmpty(): Promise<boolean> {
    return ((await this.#native.lineStatus()) & 1) !== 0
  }
}

/** Lists and opens the serial lines of this machine; pass it to SerialPortStream as `binding`. */
export const PlantroomBinding: Interface.BindingInterface<PlantroomPort, PlantroomOpenOptions> = {
  /** Lines known to udev, by serialport's own listing (it runs udevadm). */
  async list(): Promise<Interface.PortInfo[]> {
    // Imported late: it loads serialport's own addon, which nothing else here needs.
    const { SerialPort } = await import('serialport')
    return SerialPort.list()
  },

  /**
   * Opens, locks, configures and reads back.
   * @throws CallError: EBUSY (with `holder`), ENOENT, ENOTTY, ECHANGED (with `field`, `wanted`, `got`), any errno
   */
  async open(options: PlantroomOpenOptions): Promise<PlantroomPort> {
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
    const full = { ...DEFAULTS, ...given } as FullOptions
    check(full)
    try {
      return new PlantroomPort(await addon.open(full.path, nativeOf(full), full.lock, full.lockFolder), full)
    } catch (error) {
      const failed = error as CallError
      if (failed.code === 'EBUSY') failed.holder ??= flockHolder(full.path)
      throw failed
    }
  },
}
