/** The raw protocol: bytes to the line as they are, frames from it cut as the settings say. */
import { bytesOfHex, hexOf } from '#kit/bytes/hex.ts'
import { Fault } from '#kit/fault.ts'
import { bytesOfTransmit, type RawTransmit } from '../wire/raw.ts'
import { type ContentFraming, createCutter } from '../wire/raw-cutter.ts'
import type { Adapter, AdapterContext } from './adapter.ts'
import type { FramePayload, Framer, Line, RawSocketOpener, RawSocketServer, SilenceFramerMaker } from './ports.ts'
import type { RawSettings } from './raw-settings.ts'

/** What the raw adapter needs of the world beside the line. */
export interface RawWorld {
  silenceFramer: SilenceFramerMaker
  openSockets: RawSocketOpener
}

/** @param settings with every default filled in */
export function createRawAdapter(context: AdapterContext, settings: RawSettings, world: RawWorld): Adapter {
  const counts = { rxFrames: 0, txFrames: 0, cutFrames: 0, refusedSends: 0 }
  let line: Line | undefined
  let framer: Framer | undefined
  let sockets: RawSocketServer | undefined
  let opening: Promise<void> = Promise.resolve()
  let waiting = 0

  function seen(direction: 'rx' | 'tx', bytes: Uint8Array, monotonicUs: number, isCut = false): void {
    context.publish('frame', () => payloadOf({ direction, bytes, monotonicUs, isCut }))
  }

  function onFrame(bytes: Uint8Array, atUs: number, isCut: boolean): void {
    counts.rxFrames++
    if (isCut) counts.cutFrames++
    seen('rx', bytes, atUs, isCut)
  }

  function openLine(): Line {
    if (!line) throw new Fault('line_closed', `${context.port} is not open, so nothing can be sent.`)
    return line
  }

  /** Not reported before the driver has all of it: a frame that was not sent is not shown as sent. */
  async function send(bytes: Uint8Array): Promise<void> {
    await openLine().write(bytes)
    counts.txFrames++
    seen('tx', bytes, context.clock.monotonicMs() * 1000)
  }

  async function transmit(body: RawTransmit): Promise<{ sent: number }> {
    const bytes = bytesOfTransmit(body, settings.max_frame_bytes)
    openLine()
    if (waiting >= settings.queue) {
      counts.refusedSends++
      throw new Fault(
        'queue_full',
        `${waiting} sends wait for ${context.port}; settings.queue allows ${settings.queue}.`,
        {
          details: { retryAfterMs: 1000 },
        },
      )
    }
    waiting++
    try {
      await send(bytes)
    } finally {
      waiting--
    }
    return { sent: bytes.length }
  }

  async function openSockets(): Promise<void> {
    if (settings.tcp_port === 0) return
    try {
      sockets = await world.openSockets(
        { port: settings.tcp_port, maxClients: settings.tcp_clients },
        { onBytes: send, pause: () => line?.pause(), resume: () => line?.resume() },
      )
    } catch (error) {
      const fault =
        error instanceof Fault ? error : new Fault('tcp_port_taken', `TCP port ${settings.tcp_port} cannot be opened.`)
      context.publish('error', { code: fault.code, message: fault.message })
    }
  }

  return {
    settings,
    attach(opened) {
      line = opened
      framer = createFramer(settings, world.silenceFramer)
      framer.onFrame(onFrame)
      opened.onBytes((bytes, atUs) => {
        sockets?.broadcast(bytes)
        framer?.feed(bytes, atUs)
      })
      opening = opening.then(openSockets)
    },
    detach() {
      line = undefined
      framer?.close()
      framer = undefined
      opening = opening.then(async () => {
        await sockets?.close()
        sockets = undefined
      })
      return opening
    },
    async act(action, body) {
      if (action === 'tx') return await transmit(body as RawTransmit)
      throw new Fault('wrong_protocol', `${context.port} speaks raw, which has rest/tx and no rest/${action}.`)
    },
    counters: () => ({ ...counts, ...sockets?.counters() }),
  }
}

function createFramer(settings: RawSettings, silenceFramer: SilenceFramerMaker): Framer {
  if (settings.framing === 'silence')
    return silenceFramer({ silenceMs: settings.silence_ms, maxFrameBytes: settings.max_frame_bytes })
  const cutter = createCutter(contentFramingOf(settings), settings.max_frame_bytes)
  let handler: (frame: Uint8Array, atUs: number, cut: boolean) => void = () => {}
  return {
    feed(bytes, atUs) {
      for (const frame of cutter.feed(bytes)) handler(frame.bytes, atUs, frame.isCut)
    },
    onFrame(onFrame) {
      handler = onFrame
    },
    close() {},
  }
}

function contentFramingOf(settings: RawSettings): ContentFraming {
  if (settings.framing === 'length') return { mode: 'length', length: settings.frame_bytes }
  if (settings.framing === 'delimiter') return { mode: 'delimiter', delimiter: bytesOfHex(settings.delimiter_hex) }
  return {
    mode: 'length_field',
    offset: settings.length_offset,
    size: settings.length_size,
    endian: settings.length_endian,
    adjust: settings.length_adjust,
  }
}

function payloadOf(frame: {
  direction: 'rx' | 'tx'
  bytes: Uint8Array
  monotonicUs: number
  isCut: boolean
}): FramePayload {
  return {
    direction: frame.direction,
    monotonicUs: Math.round(frame.monotonicUs),
    hex: hexOf(frame.bytes),
    length: frame.bytes.length,
    decoded: null,
    ...(frame.isCut && {
      decodeError: {
        code: 'frame_cut',
        message: `The frame has no end within ${frame.bytes.length} bytes; it goes on in the next.`,
      },
    }),
  }
}
