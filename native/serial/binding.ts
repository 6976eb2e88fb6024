/** An open serial line: a serialport binding with features that serialport's own lacks, and its stream of bytes. */

import { addon, type CallError, callError, EVENT, type NativePort } from './addon.ts'
import type * as Interface from './bindings-interface.cjs'
import { flockHolder } from './holder.ts'
import { check, DEFAULTS, type FullOptions, nativeOf, type PlantroomOpenOptions } from './options.ts'
import { type PassedSocket, type PassedSocketHandlers, Passing } from './passing.ts'
import { Relays } from './relays.ts'
import { Silence } from './silence.ts'

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

// The byte stream of one open terminal: reads on request, ordered writes, one report of its loss.

/** Most bytes per event. The kernel has at most 4 KiB ready per terminal read, and we read in a loop. */
const SLAB_BYTES = 65_536

interface PendingWrite {
  bytes: Uint8Array
  at: number
  resolve(): void
  reject(error: Error): void
}

interface PendingRead {
  target: Uint8Array
  resolve(bytesRead: number): void
  reject(error: Error): void
}

/**
 * Owns a native port. Bytes are read only on request: by `read` (one piece each) or by `listen` (a stream of pieces
 * until paused), never both. `lastReadAtUs` is CLOCK_MONOTONIC of the last piece.
 */
export class Channel {
  readonly native: NativePort
  isOpen = true
  lastReadAtUs = 0
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
  #listener: ((bytes: Buffer, atUs: number) => void) | undefined
  #isPaused = false
  #rests = 0
  #read: PendingRead | undefined
  #writes: PendingWrite[] = []
  #isBlocked = false
  #lost: CallError | undefined
  #onLost: ((error: CallError) => void) | undefined
  #closing: Promise<void> | undefined
  #passing: Passing | undefined
  #holds = 0
  #relays: Relays | undefined
  /** What waits for a silence of the line. */
  readonly silence: Silence

  constructor(native: NativePort) {
    this.native = native
    this.silence = new Silence({
      native,
      isOpen: () => this.isOpen,
      isClear: () => this.#isClear,
      tellPassed: () => this.tellPassed(),
    })
    native.begin(this.#slab, (event, value, atUs, relayed) => this.#onEvent(event, value, atUs, relayed))
  }

  /** One handler; runs once when the device is lost, or at once if it already is. */
  onLost(handler: (error: CallError) => void): void {
    this.#onLost = handler
    if (this.#lost !== undefined) handler(this.#lost)
  }

  /** Resolves to the number of bytes (1..target's length) put into `target`. @throws CallError, `canceled` on close */
  read(target: Uint8Array): Promise<number> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost)
    if (!this.isOpen) return Promise.reject(this.#canceled('read'))
    return new Promise((resolve, reject) => {
      this.#read = { target, resolve, reject }
      this.native.want(target.length)
    })
  }

  /** Passes every piece to the handler, which owns it. */
  listen(handler: (bytes: Buffer, atUs: number) => void): void {
    this.#listener = handler
    this.resume()
  }

  pause(): void {
    this.#isPaused = true
    if (this.isOpen) this.native.want(0)
  }

  resume(): void {
    this.#isPaused = false
    this.#wantMore()
  }

  /** Runs something while nothing is read, whether paused or not. */
  async rest(during: () => Promise<void>): Promise<void> {
    this.#rests++
    if (this.isOpen) this.native.want(0)
    try {
      await during()
    } finally {
      this.#rests--
      this.#wantMore()
    }
  }

  /** Resolves once the driver has taken all bytes; `bytes` must not change until then. Writes keep their order. */
  write(bytes: Uint8Array): Promise<void> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost)
    if (!this.isOpen) return Promise.reject(this.#canceled('write'))
    let taken = 0
    try {
      taken = this.writeAtOnce(bytes)
    } catch (error) {
      return Promise.reject(error)
    }
    if (taken === bytes.length) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#writes.push({ bytes, at: taken, resolve, reject })
      if (!this.#isBlocked) this.native.awaitWritable()
    })
  }

  /** @returns how many bytes the driver took: none where others wait before them. @throws CallError */
  writeAtOnce(bytes: Uint8Array): number {
    return this.#isClear ? this.native.write(bytes, 0) : 0
  }

  get #isClear(): boolean {
    return this.#lost === undefined && this.isOpen && this.#writes.length === 0 && !this.#isBlocked
  }

  /**
   * While the line sends on and on, it is read every so many milliseconds instead of at every few bytes; 0 turns that
   * off. What comes after a pause, and what comes first after a write, is read at once all the same.
   */
  readEvery(ms: number): void {
    if (this.isOpen) this.native.readEvery(ms)
  }

  /** Queues writes until `unblockWrites`. */
  blockWrites(): void {
    this.#isBlocked = true
    if (this.isOpen) this.native.dropSend()
  }

  unblockWrites(): void {
    this.#isBlocked = false
    if (this.isOpen && this.#writes.length > 0) this.native.awaitWritable()
  }

  /**
   * Passes bytes between the line and a socket before JavaScript sees them. Works only while there is a listener.
   * @param tellMs how long reports may wait; the first socket's value applies to all. @throws CallError
   */
  joinSocket(socketFd: number, tellMs: number, handlers: PassedSocketHandlers): PassedSocket {
    const { native } = this
    const onLineBytes = (bytes: Buffer, atUs: number) => this.#onPassed(bytes, atUs)
    this.#passing ??= new Passing({
      native,
      slab: this.#slab,
      tellMs,
      isHeld: this.#holds > 0,
      line: this,
      onLineBytes,
    })
    return this.#passing.join(socketFd, handlers)
  }

  /** @param most bytes of one read from a socket, at least 1 */
  limitReads(most: number): void {
    this.native.limitReads(most)
  }

  /** Holds back sockets' bytes, so that writes from here go first, until each hold has had its release. */
  holdSockets(): void {
    if (this.#holds++ === 0 && this.#passing) this.native.holdPassing(true)
  }

  releaseSockets(): void {
    if (--this.#holds === 0 && this.#passing) this.native.holdPassing(false)
  }

  /** Reports now what has passed and was not reported yet. */
  tellPassed(): void {
    this.#passing?.tell()
  }

  /** What is relayed between the line and sockets. */
  get relays(): Relays {
    this.#relays ??= new Relays({ native: this.native, slab: this.#slab, isOpen: () => this.isOpen })
    return this.#relays
  }

  /** Ends queued writes as if written: their bytes are dropped with the driver's. */
  dropWrites(): void {
    for (const write of this.#writes.splice(0)) write.resolve()
  }

  /** Everything pending fails with `canceled`. A second call returns the first one's promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #close(): Promise<void> {
    this.tellPassed()
    this.isOpen = false
    const closed = this.native.close()
    this.#failPending((call) => this.#canceled(call))
    return closed
  }

  #canceled(call: string): CallError {
    return callError(`${call} on ${this.native.path} ended: the port was closed`, {
      code: 'ECANCELED',
      errno: 125,
      syscall: call,
      canceled: true,
    })
  }

  #failPending(errorOf: (call: string) => CallError): void {
    const read = this.#read
    this.#read = undefined
    read?.reject(errorOf('read'))
    for (const write of this.#writes.splice(0)) write.reject(errorOf('write'))
  }

  #onEvent(event: number, value: number, atUs: number, relayed: number): void {
    if (event === EVENT.bytes) {
      if (relayed > 0) this.#relays?.passed(relayed)
      this.#onBytes(value, atUs)
    } else if (event === EVENT.passed) this.tellPassed()
    else if (event === EVENT.writable) this.#onWritable()
    else if (event === EVENT.awake) this.silence.awake()
    else if (event === EVENT.sent) this.silence.sent(value)
    else if (event === EVENT.asked) this.#relays?.asked(atUs, value, relayed)
    else this.#onHangup(value)
  }

  #onBytes(length: number, atUs: number): void {
    this.lastReadAtUs = atUs
    const read = this.#read
    if (read !== undefined) {
      this.#read = undefined
      read.target.set(this.#slab.subarray(0, length))
      read.resolve(length)
      return
    }
    this.#listener?.(Buffer.from(this.#slab.subarray(0, length)), atUs)
    this.#wantMore()
  }

  #onPassed(bytes: Buffer, atUs: number): void {
    this.lastReadAtUs = atUs
    this.#listener?.(bytes, atUs)
  }

  #wantMore(): void {
    const isWanted = !this.#isPaused && this.#rests === 0 && this.#listener !== undefined
    if (isWanted && this.isOpen && this.#lost === undefined) this.native.want(SLAB_BYTES)
  }

  #onWritable(): void {
    if (this.#isBlocked) return
    for (let write = this.#writes[0]; write !== undefined; write = this.#writes[0]) {
      try {
        write.at += this.native.write(write.bytes, write.at)
      } catch (error) {
        this.#writes.shift()
        write.reject(error as Error)
        continue
      }
      if (write.at < write.bytes.length) {
        this.native.awaitWritable()
        return
      }
      this.#writes.shift()
      write.resolve()
    }
  }

  #onHangup(errno: number): void {
    const code = errno === 0 ? 'HANGUP' : 'EIO'
    const why = errno === 0 ? 'hung up' : `failed with errno ${errno}`
    const error = callError(`${this.native.path} is gone: read ${why}`, { code, errno, syscall: 'read' })
    this.#lost = error
    this.#failPending(() => error)
    this.#onLost?.(error)
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
