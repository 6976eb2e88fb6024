/** The line in the hands of a hunt: it is set, listened to, and asked; every wait ends early with the hunt. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { ControlledLine, ControlledSettings, LineSettings } from '#kit/line/line.ts'
import { joinBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type LineRate, sendWithin, wireUs } from '#kit/pure/line.ts'
import type { HuntAnswer, HuntQuestion, HuntSetting } from './hunted.ts'

/** The bytes of an answer that are looked at; no frame of a protocol that is asked is longer. */
const MOST_ANSWER_BYTES = 512
/** An answer is over when the line was silent for so many characters, and for the pauses of slow drivers. */
const SILENT_CHARACTERS = 20
const SILENT_MS = 30
/** How long the driver may take beyond the time on the wire to take what is sent, and to send it before a change. */
const SEND_LIMIT_MS = 1000

/** Bytes that the driver counted as wrong; null if it keeps no counts. */
export type WrongBytes = number | null

interface HuntLineParts {
  clock: Clock
  line: ControlledLine
  path: string
  /** What is kept of the settings of the line: flow control is off, as a field bus has none. */
  base: LineSettings
  /** The line was lost. */
  onGone(fault: Fault): void
}

export class HuntLine {
  readonly #parts: HuntLineParts
  #setting: HuntSetting | undefined
  #onBytes: (bytes: Uint8Array) => void = () => {}
  #wait: { timer: Timer; resume: () => void } | undefined
  #isOver = false

  constructor(parts: HuntLineParts) {
    this.#parts = parts
    parts.line.onBytes((bytes) => this.#onBytes(bytes))
    parts.line.onGone((fault) => parts.onGone(fault))
  }

  /** Ends every wait, now and from now on. */
  end(): void {
    this.#isOver = true
    this.#wake()
  }

  /** @returns the fault if the driver refuses the setting. @throws Fault if the line is gone */
  async set(setting: HuntSetting): Promise<Fault | undefined> {
    const { base, line } = this.#parts
    this.#setting = setting
    try {
      await line.update(huntedLine(base, setting), SEND_LIMIT_MS)
      await line.flush('both')
      return undefined
    } catch (error) {
      if (error instanceof Fault && error.code === 'line_refused') return error
      throw error
    }
  }

  /**
   * @param hear gets what comes; it returns whether that is enough
   * @returns the bytes that the driver counted as wrong meanwhile
   */
  async listen(limitMs: number, hear: (bytes: Uint8Array) => boolean): Promise<WrongBytes> {
    const before = this.#wrongBytes()
    this.#onBytes = (bytes) => {
      if (hear(bytes)) this.#wake()
    }
    await this.#waitFor(limitMs)
    this.#onBytes = () => {}
    const after = this.#wrongBytes()
    return before === null || after === null ? null : after - before
  }

  /**
   * Sends a question, and waits until its answer is there, or nothing more comes.
   * @param withinMs how long the answer may take to begin
   * @returns its answer, and how many bytes came that were none
   */
  async ask(question: HuntQuestion, withinMs: number) {
    const { clock } = this.#parts
    let got: Uint8Array = new Uint8Array(0)
    let answer: HuntAnswer | undefined
    const sentMs = clock.monotonicMs() + this.#wireMs(question.frame.length)
    const silentMs = answerSilenceMs(this.#setting ?? this.#parts.base)
    const untilMs = sentMs + withinMs + this.#wireMs(MOST_ANSWER_BYTES)
    const beginMs = sentMs + withinMs
    let dueMs = beginMs
    this.#onBytes = (bytes) => {
      got = joinBytes([got, bytes.subarray(0, MOST_ANSWER_BYTES - got.length)])
      answer = question.answer(withoutEcho(got, question.frame))
      const isEcho = withoutEcho(got, question.frame).length === 0
      // What comes first may be noise of the line as it turns around: the unit keeps the time in which it may begin.
      if (!isEcho) dueMs = Math.min(untilMs, Math.max(beginMs, clock.monotonicMs() + silentMs))
      if (answer) this.#wake()
    }
    await this.#send(question.frame)
    while (!answer && !this.#isOver && clock.monotonicMs() < dueMs) await this.#waitFor(dueMs - clock.monotonicMs())
    // The silence between two frames, so that the next question is not taken for a part of this.
    this.#onBytes = () => {}
    await this.#waitFor(silentMs)
    return { answer, strangeBytes: answer ? 0 : withoutEcho(got, question.frame).length }
  }

  #wireMs(bytes: number): number {
    return wireUs(this.#setting ?? this.#parts.base, bytes) / 1000
  }

  #send(frame: Uint8Array): Promise<void> {
    const { clock, line, path } = this.#parts
    const late = (waitedMs: number) =>
      new Fault('send_timeout', `The driver of ${path} did not take ${frame.length} bytes within ${waitedMs} ms.`)
    const limitMs = SEND_LIMIT_MS + 2 * this.#wireMs(frame.length)
    return sendWithin({ clock, line: { flush: () => line.flush('both') }, limitMs, late }, () => line.write(frame))
  }

  #wrongBytes(): WrongBytes {
    const counts = this.#parts.line.driverCounts()
    return counts && counts.frame + counts.parity + counts.brk
  }

  async #waitFor(limitMs: number): Promise<void> {
    if (this.#isOver || limitMs <= 0) return
    await new Promise<void>((resume) => {
      this.#wait = { timer: this.#parts.clock.after(limitMs, resume), resume }
    })
    this.#wait = undefined
  }

  #wake(): void {
    this.#wait?.timer.cancel()
    this.#wait?.resume()
  }
}

/** The settings of a line as a hunt opens it. */
export function huntedLine(base: LineSettings, setting: HuntSetting): ControlledSettings {
  return { ...base, ...setting, flow: 'none', flow_in: 'none' }
}

/** The silence that ends an answer, and that goes before the next question. */
export function answerSilenceMs(rate: LineRate): number {
  return SILENT_MS + wireUs(rate, SILENT_CHARACTERS) / 1000
}

/** Some converters give back what is sent. */
function withoutEcho(bytes: Uint8Array, sent: Uint8Array): Uint8Array {
  const isEcho = sent.every((byte, at) => at >= bytes.length || bytes[at] === byte)
  return isEcho ? bytes.subarray(sent.length) : bytes
}
