/**
 * Cuts all that is said on a line into frames, and tells which reply belongs to which request: for who listens, and for
 * a unit among others. Lengths end a frame; silence only decides where nothing fits.
 */
import { MAX_RTU_BYTES } from './modbus-crc.ts'
import {
  afterTime,
  type Ending,
  type Heard,
  heardNothing,
  type Overheard,
  type OverhearRules,
  type Step,
  stepOver,
} from './modbus-overheard.ts'
import { type LineRate, wireUs } from './modbus-timing.ts'

/** Rules of the line, and its rate. `gapMs`: silence between frames. */
export interface TapRules extends OverhearRules, LineRate {
  gapMs: number
}

/** A read: where its bytes end in what is held, when it came, and whether the silence of a frame was before it. */
interface Mark {
  end: number
  atMs: number
  isAfterGap: boolean
}

/**
 * The bytes of one line, in order. All times are of one clock, milliseconds.
 *
 * Behind junk nothing is believed that could be part of a damaged frame: a gateway may carry whole frames as data. Such
 * a part is followed by the rest of its frame. So what stands behind junk holds when frame follows frame up to silence,
 * or beyond the end of the longest frame; then all of it is told at once, and nothing was lost by waiting.
 */
export class ModbusTap {
  readonly #rules: TapRules
  #bytes: Uint8Array = new Uint8Array(0)
  #marks: Mark[] = []
  #state: Overheard = heardNothing
  /** The first place behind junk that is not refuted; 0 where the head is no junk. */
  #scanAt = 0

  constructor(rules: TapRules) {
    this.#rules = rules
  }

  /** Bytes that are no frame yet. */
  get pending(): Uint8Array {
    return this.#bytes
  }

  /** The line was opened anew: what was heard before is void. */
  reset(): void {
    this.#bytes = new Uint8Array(0)
    this.#marks = []
    this.#state = heardNothing
    this.#scanAt = 0
  }

  /** @param atMs when the last of these bytes was read */
  feed(bytes: Uint8Array, atMs: number): Heard[] {
    if (bytes.length === 0) return []
    const before = this.#marks.at(-1)
    const gapMs = atMs - (before?.atMs ?? Number.NEGATIVE_INFINITY) - wireUs(this.#rules, bytes.length) / 1000
    const joined = new Uint8Array(this.#bytes.length + bytes.length)
    joined.set(this.#bytes)
    joined.set(bytes, this.#bytes.length)
    this.#bytes = joined
    this.#marks.push({ end: joined.length, atMs, isAfterGap: gapMs >= this.#rules.gapMs })
    return this.#take('talking')
  }

  /** Silence followed the last byte: of `pause` as between frames, of `quiet` longer than any inside a frame. */
  silence(ending: 'pause' | 'quiet'): Heard[] {
    return this.#take(ending)
  }

  /** Time went by: a request whose reply did not begin in time is given up. */
  pass(nowMs: number): Heard[] {
    const isAnswerBegun = this.#bytes.length > 0 && this.#atMsOf(0) <= this.#dueMs
    if (isAnswerBegun) return []
    const { heard, next } = afterTime(this.#state, nowMs, this.#rules)
    this.#state = next
    return heard
  }

  /** When the reply to the request that is out must have begun; Infinity where none is out. */
  get #dueMs(): number {
    const { out } = this.#state
    return out ? out.endMs + this.#rules.replyMs : Number.POSITIVE_INFINITY
  }

  /** Milliseconds until `pass` has something to do; undefined where no request is out. */
  dueInMs(nowMs: number): number | undefined {
    return this.#state.out ? this.#dueMs - nowMs : undefined
  }

  #take(ending: Ending): Heard[] {
    const heard: Heard[] = []
    while (this.#bytes.length > 0) {
      const step = this.#scanAt === 0 ? this.#stepAt(0, this.#state, ending) : 'junk'
      if (typeof step === 'object') {
        this.#state = step.next
        this.#cutOff(step.length)
        heard.push(...step.heard)
        continue
      }
      const end = this.#junkEnd(step, ending)
      if (end === undefined) break
      heard.push(this.#noise(end))
      this.#scanAt = 0
    }
    if (this.#scanAt > MAX_RTU_BYTES) {
      // Noise without end is told as it comes; its last byte stays, as what follows stands behind junk.
      heard.push(this.#noise(this.#scanAt - 1))
      this.#scanAt = 1
    }
    return heard
  }

  #stepAt(at: number, state: Overheard, ending: Ending): Step | 'wait' | 'junk' {
    const bytes = at === 0 ? this.#bytes : this.#bytes.subarray(at)
    const head = { bytes, beginMs: this.#atMsOf(at), endMsOf: (place: number) => this.#atMsOf(at + place) }
    return stepOver(head, state, this.#rules, ending)
  }

  /** @returns where frames begin again; the end of all bytes after silence; undefined where more must come first */
  #junkEnd(step: 'wait' | 'junk', ending: Ending): number | undefined {
    const framed = ending === 'pause' ? this.#framedAt() : undefined
    if (framed !== undefined) return framed
    if (this.#scanAt === 0) {
      if (step === 'wait' && this.#bytes.length <= MAX_RTU_BYTES) return undefined
      const glitches = this.#bytes.findIndex((byte) => !isGlitch(byte))
      if (glitches !== 0) return glitches < 0 ? this.#bytes.length : glitches
      this.#scanAt = 1
    }
    for (; this.#scanAt < this.#bytes.length; this.#scanAt++) {
      const chain = this.#chainAt(this.#scanAt, ending)
      if (chain === 'holds') return this.#scanAt
      if (chain === 'open') return undefined
    }
    return ending === 'quiet' || this.#bytes.length > MAX_RTU_BYTES ? this.#bytes.length : undefined
  }

  /** Where whole frames stand between two silences, as the standard frames them, or behind a glitch alone. */
  #framedAt(): number | undefined {
    if (isGlitch(this.#bytes[0]) && this.#chainAt(1, 'quiet') === 'holds') return 1
    return this.#marks.map(({ end }) => end).find((begin) => begin > 0 && this.#chainAt(begin, 'pause') === 'holds')
  }

  /** Whether frame follows frame from here on: `open` until enough of them came, or silence. */
  #chainAt(from: number, ending: Ending): 'holds' | 'open' | 'broken' {
    let at = from
    let state = this.#state
    if (from >= this.#bytes.length) return 'open'
    while (at < this.#bytes.length) {
      const step = this.#stepAt(at, state, ending)
      if (typeof step === 'object') {
        state = step.next
        at += step.length
        if (at - from >= MAX_RTU_BYTES) return 'holds'
      } else if (step === 'junk' && at > from && isGlitch(this.#bytes[at])) at++
      else if (step === 'wait') return this.#bytes.length - at > MAX_RTU_BYTES ? 'broken' : 'open'
      else return 'broken'
    }
    const isFramed = ending === 'quiet' || (ending === 'pause' && this.#isAfterGap(from))
    return isFramed ? 'holds' : 'open'
  }

  /** A glitch says nothing of the frames beside it; anything else may have been one. */
  #noise(length: number): Heard {
    const endMs = this.#atMsOf(length - 1)
    const sent = this.#state.out?.sent
    const frame = this.#cutOff(length)
    if (!frame.every(isGlitch)) this.#state = { ...this.#state, isInStep: false }
    return { kind: 'noise', frame, endMs, sent }
  }

  #atMsOf(at: number): number {
    return (this.#marks.find(({ end }) => at < end) ?? this.#marks.at(-1))?.atMs ?? 0
  }

  #isAfterGap(at: number): boolean {
    const index = this.#marks.findIndex(({ end }) => at < end)
    const begin = index > 0 ? (this.#marks[index - 1]?.end ?? 0) : 0
    return begin === at && this.#marks[index]?.isAfterGap === true
  }

  /** The last mark is kept when all its bytes are gone: the next read is held against it. */
  #cutOff(length: number): Uint8Array {
    const head = this.#bytes.slice(0, length)
    this.#bytes = this.#bytes.slice(length)
    const marks = this.#marks.map((mark) => ({ ...mark, end: mark.end - length }))
    this.#marks = marks.filter(({ end }, at) => end > 0 || at === marks.length - 1)
    return head
  }
}

/** Bytes that turning transmitters leave: no frame begins so, and none is damaged by them. */
export function isGlitch(byte: number | undefined): boolean {
  return byte === 0 || (byte ?? 0) > 247
}
