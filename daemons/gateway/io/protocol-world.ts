/** What the protocols need from outside: sockets, the silence framer, the Modbus codec. */
import { InterByteTimeoutParser } from '@serialport/parser-inter-byte-timeout'
import type { Clock } from '#kit/clock.ts'
import { type DefinitionLibrary, digestOf } from '#kit/device/load.ts'
import { createRawSocketOpener, type RawSocketLimits } from '#kit/line/raw-sockets.ts'
import type { Log } from '#kit/log.ts'
import type { ShareOf } from '#kit/net/address.ts'
import type { BackoffLimits } from '#kit/pure/pace.ts'
import { createBusDebts } from '../core/bus/transactions.ts'
import type { Framer, SilenceFramerMaker } from '../core/lines/ports.ts'
import type { LineTcpLimits } from '../core/lines/tcp.ts'
import type { ModbusLimits } from '../core/modbus/settings.ts'
import type { TemplateLibrary } from '../core/points/definition.ts'
import type { ProtocolWorld } from '../core/protocols.ts'
import { openBacnetIp } from './bacnet-ip.ts'
import { createLineTcpOpener } from './line-tcp-server.ts'
import { createModbusSerialCodec } from './modbus-serial-codec.ts'
import { createMstpOpener } from './mstp-lines.ts'

// Ends a frame when the line is silent; serialport's inter-byte-timeout parser keeps the time.

/** Written to the parser instead of the received bytes, because the parser only keeps the time. */
const MARKER = Buffer.of(0)

/**
 * The part of the silence during which the parser is not told of further bytes; a frame's end may be noticed so much
 * later.
 */
const SLACK = 1 / 4

/**
 * Beyond so many the chunks of a frame are joined: a chunk may be one byte, and needs a hundred bytes more of memory.
 */
const MOST_CHUNKS = 64

/**
 * The parser copies every byte on its own and sets a timer at every write (measured: docs/decisions/raw-lines.md). So
 * it is only given a marker now and then, and tells when the line may have been silent. The chunks are kept here, at
 * most `maxFrameBytes` of them, and their timestamps decide what belongs to a frame: bytes that were read late but are
 * far apart are two frames, however late the parser's timer is.
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
    // More bytes came meanwhile. Deferred, because the parser forgets what it is given before this handler returns.
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
  /** The most bytes of `rest/tx` requests queued for one line. */
  queueBytes: number
  /** How often a raw line is read that sends on and on, ms. */
  streamMs: number
  modbusTcp: LineTcpLimits
  /** The bounds of what finds out about Modbus units. */
  modbusLimits: ModbusLimits
  /** The devices that Modbus units are compared with. */
  templates: TemplateLibrary
  dnp3Tcp: LineTcpLimits & { frames_per_s: number }
  /** Frames of one MS/TP line that may be on their way from its thread. */
  mstpTransitFrames: number
  /** Of the thread of MS/TP; 0: none. */
  mstpRealtimePriority: number
  /** Checks that a path may be a port: what opens lines by itself asks it. @throws Fault `port_not_allowed` */
  checkPath(path: string): void
  /** The device definitions of this machine. */
  definitions: DefinitionLibrary
  /** How TCP clients are grouped and counted by address. */
  shareOf: ShareOf
  /** Waits between attempts to open a TCP port that is taken. */
  retry: BackoffLimits
  /** The version of this program, which our own slave units report as their revision. */
  version: string
}

export function createProtocolWorld({
  clock,
  log,
  rawTcp,
  queueBytes,
  streamMs,
  modbusTcp,
  modbusLimits,
  templates,
  dnp3Tcp,
  mstpTransitFrames,
  mstpRealtimePriority,
  checkPath,
  definitions,
  shareOf,
  retry,
  version,
}: ProtocolWorldParts): ProtocolWorld {
  return {
    silenceFramer: createSilenceFramer,
    queueBytes,
    streamMs,
    openSockets: createRawSocketOpener({ limits: rawTcp, shareOf, clock, log }),
    openModbusTcp: createLineTcpOpener({ name: 'modbus tcp', limits: modbusTcp, shareOf, clock, log }),
    openDnp3Tcp: createLineTcpOpener({ name: 'dnp3 tcp', limits: dnp3Tcp, shareOf, clock, log }),
    dnp3FramesPerS: dnp3Tcp.frames_per_s,
    openBacnetIp,
    openMstp: createMstpOpener({
      ...{ log, checkPath },
      ...{ transitFrames: mstpTransitFrames, realtimePriority: mstpRealtimePriority },
    }),
    retry,
    modbusCodec: createModbusSerialCodec(),
    modbusDebts: createBusDebts(clock),
    mbusDebts: createBusDebts(clock),
    modbusIdentity: ['Plantroom', 'gateway', version],
    modbusLimits,
    modbusTemplates: () => templates.list(),
    definitionOf: (name) => definitions.get(name),
    digest: digestOf,
  }
}
