/** A connection to a device that stays: what comes is cut into frames within bounds, questions are matched with answers. */
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

/** What happens once to a device is said once. */
export type SayOnce = (kind: string, sentence: string) => void

interface HeardConnectionParts {
  /** As sentences name the device. */
  name: string
  /** Undefined where each chunk is a frame: datagrams. */
  framing: Framing | undefined
  clock: Clock
  limits: HeardConnectionLimits
  kept: KeptBytes
  budget: HeardBudget
  say: SayOnce
  events: ConnectionEvents
}

/** Cut at once, and then looked whether more may be read. */
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
  /** What is read and waits to be cut. */
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

  /** From here: nobody is told that it has ended. */
  close(): void {
    this.#stop()
    this.#wire.close()
  }

  give(reason: string): void {
    this.#end(reason)
  }

  /** What its signal ends while it is under way ends the connection: half of it may be out, or its answer owed. */
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

  /** Ends what is under way. */
  #whenClosed = () => {}

  #read(chunk: Uint8Array): void {
    if (this.#isClosed) return
    // However little comes, it is put behind what is held: that costs too.
    this.#parts.budget.spend(this, 0, 1)
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#cut()
  }

  /** A little at a time: when a device sends too much, the rest waits, and so does the device. */
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
    // A part of what the socket gave would keep all of it.
    this.#rest = this.#rest.slice()
    this.#count()
    this.#pause = clock.after(pauseMs, () => {
      this.#pause = undefined
      this.#cut()
      if (!this.#pause) this.#wire.hold(false)
    })
  }

  #hear(frame: Uint8Array): void {
    // What comes in the same packet as the end of the connection is heard; what is cut after it is not.
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

  /** Of the driver's own accord or not: who is lost is told, and what is under way fails. */
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

// Frames, as whole ones only: what has no end within the bound is dropped, and so is its tail.

interface Framer {
  /** @returns how many frames ended */
  feed(bytes: Uint8Array): number
  heldBytes(): number
  /** From here on some time passes unseen. @returns whether a message was lost by it */
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
    // Behind a length that cannot be right the next frame may begin; behind a piece comes the rest of it.
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

/** The silence is the device's own: what this program does not read meanwhile, because it is busy or holds it back, is none. */
function silenceFramer(
  clock: Clock,
  silenceMs: number,
  mostBytes: number,
  cut: (frame: Uint8Array, isCut: boolean) => void,
): Framer {
  let held = Buffer.alloc(0)
  let timer: Timer | undefined
  /** Nobody knows where what is coming began. */
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
      // The silence that ends what was dropped is waited for too. When it is over, what has come by then is read first.
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
