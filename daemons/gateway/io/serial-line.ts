/** Serial lines of the machine as core/ports.ts wants them: SerialPortStream over the binding of native/serial. */
import { SerialPortStream } from '@serialport/stream'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import {
  type CallError,
  type IcounterCounts,
  PlantroomBinding,
  type PlantroomOpenOptions,
  type PlantroomPort,
} from '#native/serial/index.ts'
import type { DriverCounts, Line, LineOpener, LineSettings } from '../core/ports.ts'
import { lineFaultOf } from './line-faults.ts'
import { requireTerminal } from './terminal-class.ts'

type SerialStream = SerialPortStream<typeof PlantroomBinding>

/** @returns what opens lines by device path; symbolic links such as those below /dev/serial/by-id are followed */
export function createSerialOpener({ log }: { log: Log }): LineOpener {
  return {
    async open(path, settings) {
      await requireTerminal(path)
      const stream = new SerialPortStream({ binding: PlantroomBinding, autoOpen: false, ...optionsOf(path, settings) })
      const port = await opened(stream)
      log.info('line opened', { path, baud: settings.baud, unsupported: port.unsupported.join(',') })
      return lineOver(stream, port, path)
    },
  }
}

function optionsOf(path: string, line: LineSettings): PlantroomOpenOptions {
  const rs485 = line.rs485
  return {
    path,
    baudRate: line.baud,
    dataBits: line.data_bits,
    parity: line.parity,
    stopBits: line.stop_bits,
    rtscts: line.flow === 'rtscts',
    xon: line.flow === 'xonxoff',
    xoff: line.flow === 'xonxoff',
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

function opened(stream: SerialStream): Promise<PlantroomPort> {
  return new Promise((resolve, reject) => {
    stream.open((error) => {
      if (error) reject(lineFaultOf(error as CallError, stream.path))
      else if (stream.port) resolve(stream.port)
    })
  })
}

/** The line over an open port. A lost device closes the port by itself; `close` may be called any number of times. */
function lineOver(stream: SerialStream, port: PlantroomPort, path: string): Line {
  let onBytes: ((bytes: Uint8Array, atUs: number) => void) | undefined
  let onGone: ((fault: Fault) => void) | undefined
  let gone: Fault | undefined
  let isToldGone = false
  let isDropping = false
  let lastWrite: Promise<unknown> = Promise.resolve()
  const atOpen = countsOf(port)

  function tellGone(): void {
    if (gone === undefined || onGone === undefined || isToldGone) return
    isToldGone = true
    onGone(gone)
  }

  function lose(error: Error): void {
    if (gone !== undefined || !port.isOpen) return
    gone = new Fault('line_gone', `${path} is gone: the device was unplugged or its driver hung up.`, { cause: error })
    // The descriptors go at once: the device node is freed only when nobody has it open.
    port.close().then(tellGone, tellGone)
  }

  // A failed write also comes as an `error` event of the stream; its writer is told by the write itself.
  stream.on('error', () => undefined)
  port.channel.onLost(lose)

  function requireOpen(): void {
    if (!port.isOpen) throw new Fault('line_closed', `${path} is closed, so nothing can be sent.`, { cause: gone })
  }

  return {
    unsupported: port.unsupported,
    async write(bytes) {
      requireOpen()
      const written = writeOf(stream, bytes)
      lastWrite = written.catch(() => undefined)
      await written.catch((error: CallError) => {
        if (error.code === 'EIO' || error.code === 'ENXIO' || error.code === 'ENODEV') lose(error)
        throw writeFaultOf(error, path)
      })
    },
    async drain() {
      requireOpen()
      await lastWrite
      await told(port.drain(), path)
    },
    async flush() {
      requireOpen()
      isDropping = true
      try {
        await told(port.flush(), path)
        // What the poll handed up before the driver's queue was emptied waits in the stream when that is paused.
        while (stream.read() !== null);
      } finally {
        isDropping = false
      }
    },
    onBytes(handler) {
      const isFirst = onBytes === undefined
      onBytes = handler
      if (isFirst) {
        stream.on('data', (bytes: Buffer) => {
          if (!isDropping && port.isOpen) onBytes?.(bytes, port.lastReadAtUs)
        })
      }
    },
    onGone(handler) {
      onGone = handler
      if (gone !== undefined) void port.close().then(tellGone, tellGone)
    },
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    driverCounts: () => (port.isOpen ? since(atOpen, countsOf(port)) : null),
    close: () => port.close(),
  }
}

function writeOf(stream: SerialStream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, undefined, (error) => (error ? reject(error) : resolve()))
  })
}

async function told(call: Promise<void>, path: string): Promise<void> {
  await call.catch((error: CallError) => {
    throw writeFaultOf(error, path)
  })
}

function writeFaultOf(error: CallError, path: string): Fault {
  if (error.canceled === true || error.code === 'ERR_STREAM_DESTROYED')
    return new Fault('line_closed', `${path} was closed before everything was sent.`, { cause: error })
  return new Fault('line_write_failed', `Sending to ${path} failed: ${error.syscall} says ${error.code}.`, {
    cause: error,
    details: { ioctl: error.syscall, errno: error.errno },
  })
}

/** A device that was unplugged a moment ago answers EIO before its loss is told: nothing is known of it, and that is no fault. */
function countsOf(port: PlantroomPort): IcounterCounts | null {
  try {
    return port.counts()
  } catch {
    return null
  }
}

/** Counts since the line was opened; the driver's are 32 bits wide and wrap. */
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
