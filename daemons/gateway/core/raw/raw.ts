/** The raw protocol: bytes are sent to the line as they are, and received bytes are cut into frames by the settings. */
import { type Static, Type } from 'typebox'
import type { Line, RawSocketOpener, RawSocketServer } from '#kit/line/line.ts'
import { bytesOfHex } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type ContentFraming, createCutter } from '#kit/pure/frames.ts'
import { createListening, type Listening, sendWithin, wireUs } from '#kit/pure/line.ts'
import type { BackoffLimits } from '#kit/pure/pace.ts'
import { durationText } from '#kit/pure/text.ts'
import { LINK_TYPES } from '../../wire/pcap.ts'
import { bytesOfTransmit, type RawTransmit } from '../../wire/raw.ts'
import type { Adapter, AdapterContext, Protocol } from '../lines/adapter.ts'
import { framePayload, type SeenFrame } from '../lines/events.ts'
import type { FramePayload, Framer, SilenceFramerMaker } from '../lines/ports.ts'

// Settings of the raw protocol.

/** Keys of `settings` for `raw`. The keys of the other ways of framing are kept but not used. */
const rawSettings = Type.Object(
  {
    framing: Type.Enum(['silence', 'delimiter', 'length', 'length_field'], {
      default: 'silence',
      description: 'what ends a frame: silence, a delimiter, a fixed length, or a length field in the frame',
    }),
    silence_ms: Type.Integer({
      default: 20,
      minimum: 1,
      maximum: 10_000,
      description: 'silence: quiet that ends a frame, ms',
    }),
    delimiter_hex: Type.String({
      default: '0A',
      pattern: '^[0-9A-Fa-f]{2}( [0-9A-Fa-f]{2}){0,15}$',
      description: 'delimiter: the bytes that end a frame, 1 to 16 pairs of hex digits separated by spaces',
    }),
    frame_bytes: Type.Integer({ default: 8, minimum: 1, maximum: 8192, description: 'length: bytes of every frame' }),
    length_offset: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 255,
      description: 'length_field: bytes before the field',
    }),
    length_size: Type.Enum([1, 2, 4], { default: 1, description: 'length_field: bytes of the field' }),
    length_endian: Type.Enum(['big', 'little'], {
      default: 'big',
      description: 'length_field: which byte of the field is first',
    }),
    length_adjust: Type.Integer({
      default: 0,
      minimum: -256,
      maximum: 8192,
      description: 'length_field: added to the field to give the length of the whole frame',
    }),
    max_frame_bytes: Type.Integer({
      default: 8192,
      minimum: 1,
      maximum: 8192,
      description: 'a longer frame is handed on in pieces, each marked as cut',
    }),
    queue: Type.Integer({
      default: 64,
      minimum: 1,
      maximum: 1024,
      description: 'sends waiting before the next is refused',
    }),
    send_limit_ms: Type.Integer({
      default: 2000,
      minimum: 100,
      maximum: 600_000,
      description: 'how long the driver may take to take a send beyond twice its time on the wire, ms',
    }),
    tcp_port: Type.Integer({ default: 0, minimum: 0, maximum: 65_535, description: 'raw TCP to the line; 0 is off' }),
    tcp_clients: Type.Integer({ default: 4, minimum: 1, maximum: 64, description: 'TCP clients at once' }),
  },
  { additionalProperties: false },
)

export type RawSettings = Static<typeof rawSettings>

/** What the raw adapter needs beside the line. */
export interface RawWorld {
  silenceFramer: SilenceFramerMaker
  openSockets: RawSocketOpener
  /** The most bytes of `rest/tx` requests queued for one line; key `raw_tcp.queue_bytes`. */
  queueBytes: number
  /** How often a line is read that sends on and on, ms; key `raw_tcp.stream_ms`. */
  streamMs: number
  /** Waits between attempts to open a TCP port that is taken. */
  retry: BackoffLimits
}

declare module '../lines/adapter.ts' {
  interface AdapterActions {
    tx?(body: RawTransmit): Promise<{ sent: number }>
  }
}

export const rawProtocol: Protocol<RawWorld> = {
  settings: rawSettings,
  linkType: LINK_TYPES.raw,
  make: ({ settings }, context, world) => new RawAdapter(context, settings as RawSettings, world),
}

/** The raw protocol on one line. `settings` have every default filled in. */
export class RawAdapter implements Adapter {
  readonly actions = { tx: (body: RawTransmit) => this.#transmit(body) }
  readonly #settings: RawSettings
  readonly #context: AdapterContext
  readonly #world: RawWorld
  readonly #counts = { rxFrames: 0, txFrames: 0, cutFrames: 0, refusedSends: 0, sendTimeouts: 0 }
  #line: Line | undefined
  #framer: Framer | undefined
  #sockets: RawSocketServer | undefined
  /** The TCP port; undefined if none is set. */
  readonly #listening: Listening | undefined
  /**
   * Number of `rest/tx` sends that the driver has not taken yet, their bytes, and the bytes of all sends it has not.
   */
  #waiting = 0
  #waitingBytes = 0
  #heldBytes = 0
  /** When the line will have sent what the driver took, judged by its speed: no driver reports all that it holds. */
  #sentByMs = 0

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
      // Bytes that come while the port is closing are counted, but complete no frame any more.
      if (framer === this.#framer) framer.feed(bytes, atUs)
    })
    line.readEvery?.(streamMsOf(this.#settings, this.#world.streamMs))
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

  whyNoAction(action: string): string {
    return `${this.#context.port} speaks raw, which has rest/tx and no rest/${action}.`
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
    const { port } = this.#context
    const { queueBytes } = this.#world
    if (this.#waiting >= queue)
      throw this.#refused(`${this.#waiting} sends wait for ${port}; settings.queue allows ${queue}.`)
    if (this.#waiting > 0 && this.#waitingBytes + bytes.length > queueBytes)
      throw this.#refused(
        `${this.#waitingBytes} bytes wait for ${port}; with these it would be more than raw_tcp.queue_bytes, ${queueBytes}.`,
      )
    this.#waiting++
    this.#waitingBytes += bytes.length
    try {
      await this.#sendInTime(line, bytes)
    } finally {
      this.#waiting--
      this.#waitingBytes -= bytes.length
    }
    return { sent: bytes.length }
  }

  #refused(sentence: string): Fault {
    this.#counts.refusedSends++
    return new Fault('queue_full', sentence, { details: { retryAfterMs: 1000 } })
  }

  /**
   * Allows the time for everything queued before it, in the driver too, and no longer. A line that takes nothing (flow
   * control, a far end that hangs) must not send it later, when nobody expects it: all that is queued is discarded, and
   * every caller is told.
   */
  #sendInTime(line: Line, bytes: Uint8Array): Promise<void> {
    const { clock, lineSettings, port } = this.#context
    const wireMs = wireUs(lineSettings, this.#heldBytes + bytes.length) / 1000
    const inDriverMs = Math.max(0, this.#sentByMs - clock.monotonicMs())
    const limitMs = Math.round(2 * wireMs + inDriverMs + this.#settings.send_limit_ms)
    const late = (waitedMs: number) => {
      this.#counts.sendTimeouts++
      const sentence = `The driver of ${port} did not take ${bytes.length} bytes within ${durationText(waitedMs)}; flow control may hold the line. What waited was thrown away.`
      return new Fault('send_timeout', sentence, { details: { waitedMs } })
    }
    const written = async () => {
      await line.write(bytes)
      return bytes.length
    }
    return sendWithin({ clock, line, limitMs, late }, async () => void (await this.#send(bytes, 0, written)))
  }

  /**
   * Reports the frame only once the driver has all of it, so that a frame that was not sent is not shown as sent.
   * @param write hands the driver the rest, which it has not taken yet. @returns the result of `write`
   */
  async #send(bytes: Uint8Array, taken: number, write: (rest: Uint8Array) => Promise<number>): Promise<number> {
    const heldBytes = bytes.length - taken
    this.#heldBytes += heldBytes
    try {
      const written = await write(bytes.subarray(taken))
      const sent = taken + written === bytes.length ? bytes : bytes.subarray(0, taken + written)
      if (sent.length > 0) this.#sent(sent, this.#context.clock.monotonicMs() * 1000)
      return written
    } finally {
      this.#heldBytes -= heldBytes
    }
  }

  #sent(bytes: Uint8Array, atUs: number): void {
    this.#counts.txFrames++
    const { clock, lineSettings } = this.#context
    this.#sentByMs = Math.max(this.#sentByMs, clock.monotonicMs()) + wireUs(lineSettings, bytes.length) / 1000
    const payload = () => payloadOf({ direction: 'tx', frame: bytes, atUs })
    this.#context.publish('frame', payload, bytes.length)
  }

  #openLine(): Line {
    if (!this.#line) throw this.#context.whyNotOpen()
    return this.#line
  }

  async #openSockets(): Promise<{ close(): Promise<void> }> {
    const { tcp_port: port, tcp_clients: maxClients } = this.#settings
    const sockets = await this.#world.openSockets(
      { port, maxClients },
      {
        onPassed: (bytes, atUs) => this.#sent(bytes, atUs),
        onBytes: (bytes, taken, sender) => this.#send(bytes, taken, (rest) => sender.write(rest)),
        sender: (address, handlers) => this.#openLine().sender(address, handlers),
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

/** Where silence tells frames apart, what is read late must not blur it: an eighth of the silence at most. */
function streamMsOf({ framing, silence_ms: silenceMs }: RawSettings, mostMs: number): number {
  return framing === 'silence' ? Math.min(mostMs, Math.floor(silenceMs / 8)) : mostMs
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

/** A piece of a longer frame is reported as a cut frame. */
function payloadOf(seen: SeenFrame, isCut = false): FramePayload {
  if (!isCut) return framePayload(seen, { decoded: null })
  const message = `The frame has no end within ${seen.frame.length} bytes; it goes on in the next.`
  return framePayload(seen, { decoded: null, decodeError: { code: 'frame_cut', message } })
}
