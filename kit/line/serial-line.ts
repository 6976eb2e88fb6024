/** Opens serial lines through serialport and our addon. */
import { readlink, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { SerialPortStream } from '@serialport/stream'
import { type CallError, type IcounterCounts, PlantroomBinding, type PlantroomPort } from '#native/serial/index.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Log } from '../log.ts'
import { Fault } from '../pure/fault.ts'
import type {
  ControlledLine,
  ControlledSettings,
  DriverCounts,
  Line,
  LineSettings,
  ModemLines,
  PromptLine,
  Purge,
  RelaySocket,
  SteeredSocket,
  SteeredSocketHandlers,
  TransmitterState,
} from './line.ts'
import { LineControl, lineFaultOf, optionsOf } from './line-control.ts'
import { DEFAULT_QUEUE, LineQueue, type LineQueueLimits, type LineSender, type SenderHandlers } from './line-queue.ts'

// Tells a serial line from other files before it is opened: opening alone can start a watchdog or rewind a tape.

/**
 * Resolves if the path leads to a character device of the kernel's tty class that is not a console.
 * @returns whether it is a pty, which has no wire
 * @throws Fault `line_absent`, `line_not_tty`
 * @source Linux, Documentation/admin-guide/devices.txt
 */
export async function requireTerminal(path: string): Promise<{ isPty: boolean }> {
  const status = await stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
      throw new Fault('line_absent', `${path} is not there; it may be unplugged.`, { cause: error })
    throw new Fault('line_not_tty', `${path} cannot be looked at: ${error.code}.`, { cause: error })
  })
  if (!status.isCharacterDevice()) throw new Fault('line_not_tty', `${path} is no character device.`)
  const major = Number(((status.rdev >> 8n) & 0xfffn) | ((status.rdev >> 32n) & 0xfffff000n))
  const minor = Number((status.rdev & 0xffn) | ((status.rdev >> 12n) & 0xffffff00n))
  // Device ends of ptys, which are not in sysfs.
  if (major >= 136 && major <= 143) return { isPty: true }
  // Virtual consoles, and /dev/tty, /dev/console, /dev/ptmx.
  if (major === 5 || (major === 4 && minor < 64)) throw new Fault('line_not_tty', `${path} is a console.`)
  const subsystem = await readlink(`/sys/dev/char/${major}:${minor}/subsystem`).catch(() => '')
  if (basename(subsystem) !== 'tty')
    throw new Fault('line_not_tty', `${path} is not a serial line: device ${major}:${minor} is not of class tty.`)
  return { isPty: false }
}

type SerialStream = SerialPortStream<typeof PlantroomBinding>

/** Opens plain and controlled lines: a LineOpener and a ControlledLineOpener in one. */
interface SerialOpener {
  /**
   * @throws Fault `line_absent` (no such device), `line_busy` (locked by another), `line_refused` (ioctl, errno in
   * details)
   */
  open(
    path: string,
    settings: LineSettings & Partial<Pick<ControlledSettings, 'flow_in'>>,
  ): Promise<Line & ControlledLine>
}

interface SerialOpenerParts {
  log: Pick<Log, 'info'>
  clock?: Clock
  /** Limits of each line's write queue. */
  queue?: LineQueueLimits
}

/** @returns an opener of lines by device path; symbolic links such as those below /dev/serial/by-id are followed */
export function createSerialOpener({
  log,
  clock = systemClock,
  queue = DEFAULT_QUEUE,
}: SerialOpenerParts): SerialOpener {
  return {
    async open(path, settings) {
      const { isPty } = await requireTerminal(path)
      const stream = new SerialPortStream({ binding: PlantroomBinding, autoOpen: false, ...optionsOf(path, settings) })
      const port = await opened(stream)
      log.info('line opened', { path, baud: settings.baud, unsupported: port.unsupported.join(',') })
      return new SerialLine(stream, port, { path, isPty, settings, clock, queue })
    },
  }
}

function opened(stream: SerialStream): Promise<PlantroomPort> {
  return new Promise((resolve, reject) => {
    stream.open((error) => {
      if (error) reject(lineFaultOf(error as CallError, stream.path))
      else if (stream.port) resolve(stream.port)
    })
  })
}

interface SerialLineFacts {
  path: string
  isPty: boolean
  settings: LineSettings
  clock: Clock
  queue: LineQueueLimits
}

/** Top speed of the line; a byte has a start bit and its parity beside data and stop bits. */
function bytesPerSecond({ baud, data_bits, parity, stop_bits }: LineSettings): number {
  return baud / (1 + data_bits + (parity === 'none' ? 0 : 1) + stop_bits)
}

/**
 * The line over an open port. Writes go through the stream; reads come straight from the binding, as reading through
 * the stream costs four objects and a turn of the queue for each piece (docs/decisions/raw-lines.md). A lost device
 * closes the port by itself; `close` may be called any number of times.
 */
class SerialLine implements Line, ControlledLine {
  readonly unsupported: readonly string[]
  readonly #stream: SerialStream
  readonly #port: PlantroomPort
  readonly #path: string
  readonly #isPty: boolean
  readonly #control: LineControl
  readonly #atOpen: IcounterCounts | null
  #onGone: ((fault: Fault) => void) | undefined
  #gone: Fault | undefined
  #isToldGone = false
  /** Closed by its user. The stream also closes the port when a write to a lost device fails. */
  #isClosed = false
  /** Number of flushes; a write started before a flush was dropped by it. */
  #flushes = 0
  readonly #queue: LineQueue
  readonly prompt: PromptLine = {
    send: (bytes) => this.#sendNow(bytes),
    readAfter: (delayMs, run) => this.#port.channel.silence.readAfter(delayMs, run),
    sendAfter: (delayMs, bytes, end) => {
      const { silence } = this.#port.channel
      return this.#queue.isIdle ? silence.sendAfter(delayMs, bytes, end) : silence.readAfter(delayMs, end.run)
    },
    isWired: () => !this.#isPty,
    relayTo: (socketFd) => this.#relayTo(socketFd),
    endRelay: () => this.#port.channel.relays.end(),
  }

  constructor(stream: SerialStream, port: PlantroomPort, at: SerialLineFacts) {
    this.unsupported = port.unsupported
    this.#stream = stream
    this.#port = port
    this.#path = at.path
    this.#isPty = at.isPty
    this.#control = new LineControl({ port, ...at })
    this.#atOpen = countsOf(port)
    const { channel } = port
    this.#queue = new LineQueue({
      clock: at.clock,
      limits: at.queue,
      write: (bytes) => this.#writeNow(bytes),
      onBusy(isBusy) {
        if (!isBusy) return channel.releaseSockets()
        channel.tellPassed()
        channel.holdSockets()
      },
      onMostRead: (most) => channel.limitReads(most),
    })
    this.#queue.setSpeed(bytesPerSecond(at.settings))
    // A failed write also emits `error` on the stream; its caller learns it from the write itself.
    stream.on('error', () => undefined)
    channel.onLost((error) => this.#lose(error))
  }

  write(bytes: Uint8Array): Promise<void> {
    if (!this.#port.isOpen) return Promise.reject(this.#closed())
    return this.#queue.write(bytes)
  }

  sender(address: string, handlers: SenderHandlers): LineSender {
    return this.#queue.join(address, handlers)
  }

  async drain(): Promise<void> {
    this.#requireOpen()
    await this.#queue.settled()
    // A pty has nothing to drain; asking costs a thread of the pool (docs/decisions/modbus-tcp.md).
    if (!this.#isPty) await told(this.#port.drain(), this.#path)
  }

  async flush(what: Purge = 'both'): Promise<void> {
    this.#requireOpen()
    const { channel } = this.#port
    channel.tellPassed()
    channel.holdSockets()
    if (what !== 'received') {
      this.#flushes++
      this.#queue.drop(() => this.#thrownAway())
    }
    try {
      await channel.rest(() => told(this.#port.flush(what), this.#path))
    } finally {
      channel.releaseSockets()
    }
  }

  onBytes(handler: (bytes: Uint8Array, atUs: number) => void): void {
    this.#port.channel.listen((bytes, atUs) => {
      if (this.#port.isOpen) handler(bytes, atUs)
    })
  }

  pass(socketFd: number, tellMs: number, handlers: SteeredSocketHandlers): SteeredSocket {
    this.#requireOpen()
    return this.#port.channel.joinSocket(socketFd, tellMs, handlers)
  }

  settle(): void {
    if (this.#port.isOpen) this.#port.channel.tellPassed()
  }

  onGone(handler: (fault: Fault) => void): void {
    this.#onGone = handler
    if (this.#gone !== undefined) void this.#port.close().then(this.#tellGone, this.#tellGone)
  }

  pause(): void {
    this.#port.channel.pause()
  }

  resume(): void {
    this.#port.channel.resume()
  }

  readEvery(ms: number): void {
    this.#port.channel.readEvery(ms)
  }

  driverCounts(): DriverCounts | null {
    return this.#port.isOpen ? since(this.#atOpen, countsOf(this.#port)) : null
  }

  async update(settings: ControlledSettings, drainMs: number): Promise<void> {
    this.#requireOpen()
    await this.#control.update(settings, drainMs, this.#queue.settled())
    this.#queue.setSpeed(bytesPerSecond(settings))
  }

  async modemLines(): Promise<ModemLines | null> {
    this.#requireOpen()
    return this.#control.modemLines()
  }

  async setModemLines(lines: { dtr?: boolean; rts?: boolean }): Promise<void> {
    this.#requireOpen()
    await this.#control.setModemLines(lines)
  }

  async modemChange(): Promise<boolean> {
    return this.#port.isOpen && this.#control.modemChange()
  }

  async setBreak(isOn: boolean): Promise<void> {
    this.#requireOpen()
    await this.#control.setBreak(isOn)
  }

  async transmitter(): Promise<TransmitterState> {
    this.#requireOpen()
    return this.#control.transmitter()
  }

  close(): Promise<void> {
    this.#isClosed = true
    return this.#port.close()
  }

  #sendNow(bytes: Uint8Array): number {
    const { channel } = this.#port
    if (!this.#isPty || !this.#port.isOpen) return 0
    channel.tellPassed()
    if (!this.#queue.isIdle) return 0
    try {
      return channel.writeAtOnce(bytes)
    } catch {
      return 0 // the same write meets it again, and reports it
    }
  }

  /** A client that has just left has no descriptor any more; its replies take the usual way, which says so. */
  #relayTo(socketFd: number): RelaySocket | undefined {
    try {
      return this.#port.isOpen ? this.#port.channel.relays.join(socketFd) : undefined
    } catch {
      return undefined
    }
  }

  #writeNow(bytes: Uint8Array): Promise<void> {
    if (!this.#port.isOpen) return Promise.reject(this.#closed())
    const flushes = this.#flushes
    return new Promise((resolve, reject) => {
      this.#stream.write(bytes, undefined, (error) => {
        if (error) reject(this.#refused(error as CallError))
        // The stream would accept no write after a failed one, so the binding ends dropped writes as if written.
        else if (flushes !== this.#flushes) reject(this.#thrownAway())
        else resolve()
      })
    })
  }

  #tellGone = (): void => {
    if (this.#gone === undefined || this.#onGone === undefined || this.#isToldGone) return
    this.#isToldGone = true
    this.#onGone(this.#gone)
  }

  #lose(cause: Error): void {
    if (this.#gone !== undefined || this.#isClosed) return
    const sentence = `${this.#path} is gone: the device was unplugged or its driver hung up.`
    this.#gone = new Fault('line_gone', sentence, { cause })
    // Close the descriptors at once: the device node is freed only when nobody has it open.
    this.#port.close().then(this.#tellGone, this.#tellGone)
  }

  #closed(): Fault {
    return new Fault('line_closed', `${this.#path} is closed, so nothing can be sent.`, { cause: this.#gone })
  }

  #thrownAway(): Fault {
    return new Fault(
      'line_write_failed',
      `What waited to be sent to ${this.#path} was thrown away before the driver took it.`,
    )
  }

  #requireOpen(): void {
    if (!this.#port.isOpen) throw this.#closed()
  }

  #refused(error: CallError): Fault {
    if (error.code === 'EIO' || error.code === 'ENXIO' || error.code === 'ENODEV') this.#lose(error)
    return writeFaultOf(error, this.#path)
  }
}

async function told(call: Promise<void>, path: string): Promise<void> {
  await call.catch((error: CallError) => {
    throw writeFaultOf(error, path)
  })
}

function writeFaultOf(error: CallError, path: string): Fault {
  if (error.canceled === true || error.code === 'ERR_STREAM_DESTROYED')
    return new Fault('line_closed', `${path} was closed before everything was sent.`, {
      cause: error,
      details: { mayBeOut: true },
    })
  return new Fault('line_write_failed', `Sending to ${path} failed: ${error.syscall} says ${error.code}.`, {
    cause: error,
    details: { ioctl: error.syscall, errno: error.errno },
  })
}

/**
 * A device unplugged a moment ago answers EIO before its loss is reported: then nothing is known, which is no fault.
 */
function countsOf(port: PlantroomPort): IcounterCounts | null {
  try {
    return port.counts()
  } catch {
    return null
  }
}

/** Counts since the line was opened; the driver's counters are 32 bits wide and wrap. */
function since(atOpen: IcounterCounts | null, now: IcounterCounts | null): DriverCounts | null {
  if (atOpen === null || now === null) return null
  const count = (name: keyof DriverCounts) => (now[name] - atOpen[name]) >>> 0
  return {
    rx: count('rx'),
    tx: count('tx'),
    frame: count('frame'),
    overrun: count('overrun'),
    parity: count('parity'),
    brk: count('brk'),
    buf_overrun: count('buf_overrun'),
  }
}
