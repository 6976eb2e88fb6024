/** What protocols need of the world: lines, sockets, the clock of silences. */
import { InterByteTimeoutParser } from '@serialport/parser-inter-byte-timeout'
import type { Clock } from '#kit/clock.ts'
import { createRawSocketOpener, type RawSocketLimits } from '#kit/line/raw-sockets.ts'
import type { Log } from '#kit/log.ts'
import type { ShareOf } from '#kit/net/address.ts'
import type { BackoffLimits } from '#kit/pure/pace.ts'
import { createBusDebts } from '../core/bus/transactions.ts'
import type { Framer, SilenceFramerMaker } from '../core/lines/ports.ts'
import type { ModbusTcpLimits } from '../core/modbus/tcp.ts'
import type { ProtocolWorld } from '../core/protocols.ts'
import { createModbusSerialCodec } from './modbus-serial-codec.ts'
import { createModbusTcpOpener } from './modbus-tcp-server.ts'

// Ends a frame by quiet on the line, with serialport's inter-byte-timeout parser keeping the time.

/** Stands for whatever came; the parser only keeps the time. */
const MARKER = Buffer.of(0)

/** Part of the silence in which further bytes are not told to the parser; an end is seen up to that much later. */
const SLACK = 1 / 4

/** Chunks of a frame may be single bytes, and each takes a hundred beside its own. */
const MOST_CHUNKS = 64

/**
 * The parser copies every byte on its own and sets a timer at every write (measured:
 * docs/decisions/raw-lines.md). So it is given a marker now and then and says when quiet may have come; the
 * chunks stay whole here, at most `maxFrameBytes` of them, and their own stamps decide what belongs to a frame: bytes
 * that were read late but far apart are two frames, however late the parser's timer is.
 */
export const createSilenceFramer: SilenceFramerMaker = ({ silenceMs, maxFrameBytes, settle }): Framer => {
  const parser = new InterByteTimeoutParser({
    interval: Math.ceil(silenceMs * (1 + SLACK)),
    maxBufferSize: maxFrameBytes,
  })
  const silenceUs = silenceMs * 1000
  let chunks: Uint8Array[] = []
  let heldBytes = 0
  let lastAtUs = 0
  let remindedAtUs = Number.NEGATIVE_INFINITY
  let isEnding = false
  let handler: (frame: Uint8Array, atUs: number, cut: boolean) => void = () => {}

  function emit(isCut: boolean): void {
    if (heldBytes === 0) return
    const frame = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, heldBytes)
    chunks = []
    heldBytes = 0
    handler(frame, lastAtUs, isCut)
  }

  parser.on('data', () => {
    const knownAtUs = lastAtUs
    isEnding = true
    settle()
    isEnding = false
    remindedAtUs = Number.NEGATIVE_INFINITY
    if (lastAtUs === knownAtUs) emit(false)
    // More came meanwhile. The parser forgets what it is given before this handler returns.
    else queueMicrotask(() => remind(lastAtUs))
  })

  function hold(bytes: Uint8Array): void {
    chunks.push(bytes)
    heldBytes += bytes.length
    if (chunks.length >= MOST_CHUNKS) chunks = [Buffer.concat(chunks, heldBytes)]
    if (heldBytes >= maxFrameBytes) emit(true)
  }

  function remind(atUs: number): void {
    if (isEnding || heldBytes === 0 || atUs - remindedAtUs < silenceUs * SLACK) return
    remindedAtUs = atUs
    parser.write(MARKER)
  }

  return {
    feed(bytes, atUs) {
      if (atUs - lastAtUs >= silenceUs) emit(false)
      lastAtUs = atUs
      for (let at = 0; at < bytes.length; ) {
        const end = at + Math.min(bytes.length - at, maxFrameBytes - heldBytes)
        hold(bytes.subarray(at, end))
        at = end
      }
      remind(atUs)
    },
    onFrame(onFrame) {
      handler = onFrame
    },
    close() {
      emit(false)
      handler = () => {}
      parser.end()
    },
  }
}

interface ProtocolWorldParts {
  clock: Clock
  log: Log
  rawTcp: RawSocketLimits
  /** Bytes of `rest/tx` that wait for one line. */
  queueBytes: number
  modbusTcp: ModbusTcpLimits
  /** What TCP clients are counted by. */
  shareOf: ShareOf
  /** Waits between tries to open a TCP port that is taken. */
  retry: BackoffLimits
  /** Of this program; what a unit of ours answers as its revision. */
  version: string
}

export function createProtocolWorld({
  clock,
  log,
  rawTcp,
  queueBytes,
  modbusTcp,
  shareOf,
  retry,
  version,
}: ProtocolWorldParts): ProtocolWorld {
  return {
    silenceFramer: createSilenceFramer,
    queueBytes,
    openSockets: createRawSocketOpener({ limits: rawTcp, shareOf, clock, log }),
    openModbusTcp: createModbusTcpOpener({ limits: modbusTcp, shareOf, clock, log }),
    retry,
    modbusCodec: createModbusSerialCodec(),
    modbusDebts: createBusDebts(clock),
    modbusIdentity: ['Plantroom', 'gateway', version],
  }
}
