/** A lasting connection to a device: cuts its data into frames within limits, and matches questions with answers. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createCutter } from '#kit/pure/frames.ts'
import type { Connection, ConnectionEvents, Framing } from '../../core/drivers/driver.ts'
import type { HeardBudget, HeardLimits, Keeper, KeptBytes } from './bounds.ts'
import { SendTurns, type UnsentLimits, type Wire, type WireEvents } from './tcp.ts'

export interface HeardConnectionLimits extends HeardLimits, UnsentLimits {
  /** The longest frame. */
  frameBytes: number
}

/** Logs each kind of message once per device. */
export type SayOnce = (kind: string, sentence: string) => void

interface HeardConnectionParts {
  /** The device's name in messages. */
  name: string
  /** Undefined if each chunk is a frame: datagrams. */
  framing: Framing | undefined
  clock: Clock
  limits: HeardConnectionLimits
  kept: KeptBytes
  budget: HeardBudget
  say: SayOnce
  events: ConnectionEvents
}

/** Bytes cut at once, before checking whether more may be read. */
const PART_BYTES = 512

interface Question {
  isAnswer(frame: Uint8Array): boolean
  resolve(frame: Uint8Array): void
}

/** Lives from connecting until its wire ends. */
export class HeardConnection implements Connection, Keeper {
  readonly #parts: HeardConnectionParts
  readonly #wire: Wire
  readonly #turns: SendTurns
  readonly #framer: Framer
  readonly #name: string
  #question: Question | undefined
  /** Data that was read and waits to be cut. */
  #rest: Uint8Array = new Uint8Array(0)
  #pause: Timer | undefined
  #isClosed = false

  constructor(parts: HeardConnectionParts, openWire: (events: WireEvents) => Wire) {
    this.#parts = parts
    this.#name = parts.name
    this.#turns = new SendTurns(parts.limits, parts.name)
    this.#framer = framerOf(parts, (frame) => this.#hear(frame))
    parts.budget.join(this)
    this.#wire = openWire({ bytes: (chunk) => this.#read(chunk), closed: (reason) => this.#end(reason) })
  }

  send(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    return this.#inTurn(bytes, signal, () => this.#wire.write(bytes))
  }

  ask(question: Uint8Array, isAnswer: (frame: Uint8Array) => boolean, signal: AbortSignal): Promise<Uint8Array> {
    return this.#inTurn(question, signal, async () => {
      const { promise, resolve } = Promise.withResolvers<Uint8Array>()
      this.#question = { isAnswer, resolve }
      await this.#wire.write(question)
      return promise
    })
  }

  /** Closed from our side: nobody is told that it has ended. */
  close(): void {
    this.#stop()
    this.#wire.close()
  }

  give(reason: string): void {
    this.#end(reason)
  }

  /** An abort during a task ends the connection: half of the message may be out, or its answer still to come. */
  #inTurn<Result>(bytes: Uint8Array, signal: AbortSignal, task: () => Promise<Result>): Promise<Result> {
    const result = this.#turns.run(bytes.length, async () => {
      signal.throwIfAborted()
      if (this.#isClosed) throw this.#cutOff()
      const ended = Promise.withResolvers<never>()
      const stopped = () => {
        ended.reject(signal.reason)
        this.#end(`${this.#name} did not answer in time`)
      }
      const gone = () => ended.reject(this.#cutOff())
      signal.addEventListener('abort', stopped, { once: true })
      this.#whenClosed = gone
      try {
        return await Promise.race([task(), ended.promise])
      } finally {
        this.#question = undefined
        this.#whenClosed = () => {}
        signal.removeEventListener('abort', stopped)
        this.#count()
      }
    })
    this.#count()
    return result
  }

  /** Ends the task in progress. */
  #whenClosed = () => {}

  #read(chunk: Uint8Array): void {
    if (this.#isClosed) return
    // Even a small chunk is appended to the buffer: that has a cost too.
    this.#parts.budget.spend(this, 0, 1)
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#cut()
  }

  /** Cuts a little at a time: when a device sends too much, the rest waits, and reading from it pauses. */
  #cut(): void {
    const { budget, framing } = this.#parts
    while (this.#rest.length > 0 && !this.#isClosed && !this.#pause) {
      const pauseMs = budget.pauseMs(this)
      if (pauseMs > 0) {
        this.#hold(pauseMs)
        return
      }
      const size = framing === undefined ? this.#rest.length : PART_BYTES
      const part = this.#rest.subarray(0, size)
      this.#rest = this.#rest.subarray(size)
      budget.spend(this, part.length, this.#framer.feed(part))
    }
    this.#count()
  }

  #hold(pauseMs: number): void {
    const { clock, say } = this.#parts
    const sentence = `${this.#name} sends more than drivers.heard_bytes, or more than its share of drivers.heard_in_all`
    if (!this.#wire.hold(true)) {
      this.#end(sentence)
      return
    }
    say('flood', `${sentence}: it is slowed down`)
    if (this.#framer.loseTime()) say('gap', `${this.#name} was slowed down within a message: it was dropped`)
    // Copied: a part of the socket's buffer would keep all of it in memory.
    this.#rest = this.#rest.slice()
    this.#count()
    this.#pause = clock.after(pauseMs, () => {
      this.#pause = undefined
      this.#cut()
      if (!this.#pause) this.#wire.hold(false)
    })
  }

  #hear(frame: Uint8Array): void {
    // Frames that arrive in one packet with the end of the connection are handled; frames cut after the end are not.
    if (this.#isClosed) return
    try {
      const question = this.#question
      if (question?.isAnswer(frame)) {
        this.#question = undefined
        question.resolve(frame)
      } else if (!this.#parts.events.frame(frame))
        this.#parts.say('stranger', `${this.#name} sent a message that its driver does not know`)
    } catch (error) {
      this.#end(`its driver failed on what ${this.#name} said: ${(error as Error).message}`)
    }
  }

  /** Ends the connection, for whatever reason: the listener is told, and tasks in progress fail. */
  #end(reason: string): void {
    if (this.#isClosed) return
    this.close()
    this.#parts.say('lost', reason)
    this.#parts.events.lost(reason)
  }

  #stop(): void {
    const { budget, kept } = this.#parts
    this.#isClosed = true
    this.#pause?.cancel()
    this.#framer.close()
    this.#rest = new Uint8Array(0)
    budget.leave(this)
    kept.set(this, 0)
    this.#whenClosed()
  }

  #count(): void {
    if (!this.#isClosed) this.#parts.kept.set(this, this.#rest.length + this.#framer.heldBytes() + this.#turns.bytes)
  }

  #cutOff(): Fault {
    return new Fault('device_cut_off', `the connection to ${this.#name} has ended`)
  }
}

// Frames, passed on only when complete: a frame beyond the limit is dropped, together with its tail.

interface Framer {
  /** @returns how many frames ended */
  feed(bytes: Uint8Array): number
  heldBytes(): number
  /** Time is about to pass unobserved. @returns whether that lost a message */
  loseTime(): boolean
  close(): void
}

function framerOf(
  { name, framing, clock, limits, say }: HeardConnectionParts,
  hear: (frame: Uint8Array) => void,
): Framer {
  const { frameBytes } = limits
  let isTail = false
  const cut = (frame: Uint8Array, isCut: boolean) => {
    const isWhole = !isCut && !isTail
    // After an invalid length the next frame may begin at once; after a truncated frame comes its rest.
    isTail = isCut && framing?.mode !== 'length_field'
    if (isWhole) hear(frame)
    else say('endless', `${name} sent a message longer than drivers.frame_bytes (${frameBytes}): it was dropped`)
  }
  if (framing === undefined)
    return {
      feed(datagram) {
        cut(datagram, datagram.length > frameBytes)
        isTail = false
        return 1
      },
      heldBytes: () => 0,
      loseTime: () => false,
      close() {},
    }
  if (framing.mode === 'silence') return silenceFramer(clock, framing.silenceMs, frameBytes, cut)
  const cutter = createCutter(framing, frameBytes)
  return {
    feed(bytes) {
      const frames = cutter.feed(bytes)
      for (const { bytes: frame, isCut } of frames) cut(frame, isCut)
      return frames.length
    },
    heldBytes: cutter.heldBytes,
    loseTime: () => false,
    close() {},
  }
}

/**
 * Only silence by the device itself counts, not time in which this program does not read because it is busy or paused.
 */
function silenceFramer(
  clock: Clock,
  silenceMs: number,
  mostBytes: number,
  cut: (frame: Uint8Array, isCut: boolean) => void,
): Framer {
  let held = Buffer.alloc(0)
  let timer: Timer | undefined
  /** The start of the current message is unknown. */
  let isLost = false
  const end = (isCut: boolean) => {
    const frame = held
    const wasLost = isLost
    held = Buffer.alloc(0)
    isLost = false
    if (!wasLost) cut(frame, isCut)
  }
  return {
    feed(bytes) {
      timer?.cancel()
      if (!isLost) held = Buffer.concat([held, bytes])
      const isCut = held.length > mostBytes
      if (isCut) end(true)
      // The silence that ends a dropped message is awaited too. When it is over, data that has arrived is read first.
      timer = clock.after(silenceMs, () => {
        timer = clock.soon(() => end(false))
      })
      return isCut ? 1 : 0
    },
    heldBytes: () => held.length,
    loseTime() {
      timer?.cancel()
      const wasWithin = held.length > 0
      held = Buffer.alloc(0)
      isLost = true
      return wasWithin
    },
    close: () => timer?.cancel(),
  }
}
