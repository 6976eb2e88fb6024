/** The raw protocol: bytes to the line as they are, frames from it cut as the settings say. */

import type { BackoffLimits } from '#kit/backoff.ts'
import { bytesOfHex } from '#kit/bytes/hex.ts'
import { Fault } from '#kit/fault.ts'
import type { Line } from '#kit/line/line.ts'
import type { RawSocketOpener, RawSocketServer } from '#kit/line/raw-line.ts'
import { createListening, type Listening } from '#kit/line/tcp-listening.ts'
import { wireUs } from '../wire/modbus-timing.ts'
import { bytesOfTransmit, type RawTransmit } from '../wire/raw.ts'
import { type ContentFraming, createCutter } from '../wire/raw-cutter.ts'
import type { Adapter, AdapterContext } from './adapter.ts'
import { framePayload, type SeenFrame } from './frame-payload.ts'
import type { FramePayload, Framer, SilenceFramerMaker } from './ports.ts'
import type { RawSettings } from './raw-settings.ts'
import { sendWithin } from './send-within.ts'

/** What the raw adapter needs of the world beside the line. */
export interface RawWorld {
  silenceFramer: SilenceFramerMaker
  openSockets: RawSocketOpener
  /** Waits between tries to open a TCP port that is taken. */
  retry: BackoffLimits
}

/** Raw on one line; `settings` have every default filled in. */
export class RawAdapter implements Adapter {
  readonly #settings: RawSettings
  readonly #context: AdapterContext
  readonly #world: RawWorld
  readonly #counts = { rxFrames: 0, txFrames: 0, cutFrames: 0, refusedSends: 0, sendTimeouts: 0 }
  #line: Line | undefined
  #framer: Framer | undefined
  #sockets: RawSocketServer | undefined
  /** The TCP port; undefined where there is none. */
  readonly #listening: Listening | undefined
  /** Sends of `rest/tx` that the driver has not taken, and the bytes of all that it has not. */
  #waiting = 0
  #heldBytes = 0

  constructor(context: AdapterContext, settings: RawSettings, world: RawWorld) {
    this.#context = context
    this.#settings = settings
    this.#world = world
    if (settings.tcp_port !== 0)
      this.#listening = createListening({
        clock: context.clock,
        retry: world.retry,
        onFault: ({ code, message }) => context.publish('error', { code, message }),
        open: () => this.#openSockets(),
      })
  }

  attach(line: Line): void {
    const framer = createFramer(this.#settings, this.#world.silenceFramer, () => line.settle())
    framer.onFrame((bytes, atUs, isCut) => this.#received(bytes, atUs, isCut))
    this.#line = line
    this.#framer = framer
    line.onBytes((bytes, atUs) => {
      this.#sockets?.broadcast(bytes)
      // What comes while the port closes is counted, but ends no frame any more.
      if (framer === this.#framer) framer.feed(bytes, atUs)
    })
    this.#listening?.start()
  }

  async detach(): Promise<void> {
    this.#line?.settle()
    this.#line = undefined
    this.#framer?.close()
    this.#framer = undefined
    await this.#listening?.stop()
  }

  fault(): Fault | undefined {
    return this.#listening?.fault
  }

  async act(action: string, body: unknown): Promise<unknown> {
    if (action === 'tx') return await this.#transmit(body as RawTransmit)
    throw new Fault('wrong_protocol', `${this.#context.port} speaks raw, which has rest/tx and no rest/${action}.`)
  }

  counters(): Record<string, number> {
    return { ...this.#counts, ...this.#sockets?.counters() }
  }

  #received(bytes: Uint8Array, atUs: number, isCut: boolean): void {
    this.#counts.rxFrames++
    if (isCut) this.#counts.cutFrames++
    const payload = () => payloadOf({ direction: 'rx', frame: bytes, atUs }, isCut)
    this.#context.publish('frame', payload, bytes.length)
  }

  async #transmit(body: RawTransmit): Promise<{ sent: number }> {
    const { max_frame_bytes: maxBytes, queue } = this.#settings
    const bytes = bytesOfTransmit(body, maxBytes)
    const line = this.#openLine()
    if (this.#waiting >= queue) {
      this.#counts.refusedSends++
      const sentence = `${this.#waiting} sends wait for ${this.#context.port}; settings.queue allows ${queue}.`
      throw new Fault('queue_full', sentence, { details: { retryAfterMs: 1000 } })
    }
    this.#waiting++
    try {
      await this.#sendInTime(line, bytes)
    } finally {
      this.#waiting--
    }
    return { sent: bytes.length }
  }

  /**
   * A line that takes nothing (flow control, a far end that hangs) must not send it later, when nobody expects it: what
   * waits is thrown away, and everyone who waits is told.
   */
  #sendInTime(line: Line, bytes: Uint8Array): Promise<void> {
    const { clock, lineSettings, port } = this.#context
    const wireMs = wireUs(lineSettings, this.#heldBytes + bytes.length) / 1000
    const limitMs = Math.round(2 * wireMs + this.#settings.send_limit_ms)
    const late = () => {
      this.#counts.sendTimeouts++
      const sentence = `The driver of ${port} did not take ${bytes.length} bytes within ${limitMs} ms; flow control may hold the line. What waited was thrown away.`
      return new Fault('send_timeout', sentence, { details: { waitedMs: limitMs } })
    }
    return sendWithin({ clock, line, limitMs, late }, () => this.#send(line, bytes))
  }

  /** Not reported before the driver has all of it: a frame that was not sent is not shown as sent. */
  #send(line: Line, bytes: Uint8Array, taken = 0): Promise<void> {
    const heldBytes = bytes.length - taken
    this.#heldBytes += heldBytes
    return line.write(bytes.subarray(taken)).then(
      () => {
        this.#heldBytes -= heldBytes
        this.#sent(bytes, this.#context.clock.monotonicMs() * 1000)
      },
      (fault) => {
        this.#heldBytes -= heldBytes
        throw fault
      },
    )
  }

  #sent(bytes: Uint8Array, atUs: number): void {
    this.#counts.txFrames++
    const payload = () => payloadOf({ direction: 'tx', frame: bytes, atUs })
    this.#context.publish('frame', payload, bytes.length)
  }

  #openLine(): Line {
    if (!this.#line) throw new Fault('line_closed', `${this.#context.port} is not open, so nothing can be sent.`)
    return this.#line
  }

  async #openSockets(): Promise<{ close(): Promise<void> }> {
    const { tcp_port: port, tcp_clients: maxClients } = this.#settings
    const sockets = await this.#world.openSockets(
      { port, maxClients },
      {
        onPassed: (bytes, atUs) => this.#sent(bytes, atUs),
        onBytes: (bytes, taken) => this.#send(this.#openLine(), bytes, taken),
        pass: (socketFd, tellMs, handlers) => this.#openLine().pass(socketFd, tellMs, handlers),
        settle: () => this.#line?.settle(),
        pause: () => this.#line?.pause(),
        resume: () => this.#line?.resume(),
      },
    )
    this.#sockets = sockets
    return {
      close: async () => {
        await sockets.close()
        this.#sockets = undefined
      },
    }
  }
}

function createFramer(settings: RawSettings, silenceFramer: SilenceFramerMaker, settle: () => void): Framer {
  if (settings.framing === 'silence')
    return silenceFramer({ silenceMs: settings.silence_ms, maxFrameBytes: settings.max_frame_bytes, settle })
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

/** A frame of which only a piece is here is told as such. */
function payloadOf(seen: SeenFrame, isCut = false): FramePayload {
  if (!isCut) return framePayload(seen, { decoded: null })
  const message = `The frame has no end within ${seen.frame.length} bytes; it goes on in the next.`
  return framePayload(seen, { decoded: null, decodeError: { code: 'frame_cut', message } })
}
