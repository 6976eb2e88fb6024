/**
 * Tells requests from replies on the line of another master.
 * @source Modbus over Serial Line V1.02, 2.4.1 and 2.5.1; what two frames on a line reveal about each other is our own
 * reasoning
 */
import { isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type LineRate, wireUs } from '#kit/pure/line.ts'
import { anyReplyLength, exceptionCode, replyFlaw, replyLength, type SentRequest } from './modbus-reply.ts'
import {
  hasGoodCrc,
  MAX_RTU_BYTES,
  MEI_IDENTIFY,
  type ModbusRequest,
  modbusFunctions,
  readModbusRequest,
  requestLength,
} from './modbus-request.ts'

/** The most unanswered requests remembered at once; beyond that the oldest are forgotten. */
const MOST_OWED = 64

/** The timing of the line listened to, and our own units on it. */
interface OverhearRules {
  /** How long after a request its reply may begin, ms. */
  replyMs: number
  /** How long after `replyMs` a late reply may still come, ms. */
  oweMs: number
  /** Our own units: their requests are answered here, so no reply of another device is expected. */
  isOwn(unitId: number): boolean
}

/** A request without a reply so far. `isSure`: it can only have been a request. */
interface Outstanding {
  readonly sent: SentRequest
  readonly endMs: number
  readonly isSure: boolean
}

/** The state that decides how the next bytes are read. Plain and immutable, so that a guess can be taken back. */
interface Overheard {
  /** The latest request, whose reply may come now. */
  readonly out?: Outstanding
  /** Earlier requests without a reply, which may still come. */
  readonly owed: readonly { readonly sent: SentRequest; readonly untilMs: number }[]
  /** The last frame ended a transaction, so a request comes next. */
  readonly isInStep: boolean
}

/** The state before the first byte. */
const heardNothing: Overheard = { owed: [], isInStep: false }

/**
 * One thing heard on the line.
 * - `request` of a master, complete and valid
 * - `reply` to the request before it, proven; an exception is one. `tookMs` is null if both came in one read
 * - `late` fits a request that had timed out; it is never taken as the reply to another
 * - `malformed` a request whose parts contradict each other
 * - `stray` a whole reply that answers no known request; `sent` is the request that was outstanding
 * - `unknown` a whole frame with an unknown function
 * - `noise` bytes that are no frame; `sent` as above
 * - `unanswered` not a frame: the time for a reply is over
 */
export type Heard =
  | { kind: 'request'; frame: Uint8Array; endMs: number; sent: SentRequest }
  | { kind: 'reply'; frame: Uint8Array; endMs: number; sent: SentRequest; tookMs: number | null }
  | { kind: 'late'; frame: Uint8Array; endMs: number; sent: SentRequest }
  | { kind: 'malformed'; frame: Uint8Array; endMs: number }
  | { kind: 'unknown'; frame: Uint8Array; endMs: number }
  | { kind: 'stray' | 'noise'; frame: Uint8Array; endMs: number; sent: SentRequest | undefined }
  | { kind: 'unanswered'; sent: SentRequest; waitedMs: number }

/** A step over one frame: what was heard, and the state after it. */
interface Step {
  length: number
  heard: Heard[]
  next: Overheard
}

/** The bytes from one position on, and when they were read. */
interface Head {
  bytes: Uint8Array
  beginMs: number
  /** When the byte at this offset was read. */
  endMsOf(at: number): number
}

/**
 * What followed the bytes: `talking` not known, `pause` the silence between frames, `quiet` a silence longer than any
 * pause inside a frame.
 */
type Ending = 'talking' | 'pause' | 'quiet'

/**
 * Takes the frame with which the bytes begin.
 * @returns `wait` if more bytes or silence must come first, `junk` if no frame begins like this
 */
function stepOver(head: Head, before: Overheard, rules: OverhearRules, ending: Ending): Step | 'wait' | 'junk' {
  const { heard, next } = afterTime(before, head.beginMs, rules)
  const piece = pieceAt(head.bytes, next, ending)
  if (piece === 'wait' || piece === 'junk') return piece
  const step = taken(piece, head, next, rules)
  return { ...step, heard: [...heard, ...step.heard] }
}

/** Gives up the outstanding request when its time is over. */
function afterTime(before: Overheard, nowMs: number, rules: OverhearRules): { heard: Heard[]; next: Overheard } {
  const { out } = before
  if (!out || nowMs <= out.endMs + rules.replyMs) return { heard: [], next: before }
  return givenUp(before, nowMs, rules)
}

function givenUp(before: Overheard, nowMs: number, rules: OverhearRules): { heard: Heard[]; next: Overheard } {
  const { out } = before
  if (!out) return { heard: [], next: before }
  const waitedMs = Math.round(Math.min(nowMs - out.endMs, rules.replyMs))
  const owed = before.owed.filter(({ untilMs }) => untilMs > nowMs).slice(1 - MOST_OWED)
  return {
    heard: [{ kind: 'unanswered', sent: out.sent, waitedMs }],
    next: {
      isInStep: false,
      owed: [...owed, { sent: out.sent, untilMs: out.endMs + rules.replyMs + rules.oweMs }],
    },
  }
}

type Piece =
  | { kind: 'reply'; frame: Uint8Array; out: Outstanding }
  | { kind: 'stray' | 'unknown'; frame: Uint8Array }
  | { kind: 'malformed'; frame: Uint8Array }
  | { kind: 'request'; frame: Uint8Array; request: ModbusRequest; isTwoWay: boolean }

/**
 * The order of precedence: the reply to the outstanding request, a request, a reply that nobody asked for. Waits while
 * the bytes may still become something of higher precedence.
 */
function pieceAt(bytes: Uint8Array, { out }: Overheard, ending: Ending): Piece | 'wait' | 'junk' {
  const reply = out ? replyAt(bytes, out.sent) : 'junk'
  const request = requestAt(bytes)
  if (out && typeof reply === 'object') {
    const asRequest = typeof request === 'object' && request.kind === 'request' && isSane(request.request)
    // The same bytes twice, valid as a request and as a reply, and nothing before them tells which is which: the second
    // is not taken as the reply.
    const isEither = !out.isSure && asRequest && request.isTwoWay && request.frame.length === reply.length
    return isEither ? request : { kind: 'reply', frame: reply, out }
  }
  if (reply === 'wait' && ending !== 'quiet') return 'wait'
  const stray = strayAt(bytes)
  if (typeof request === 'object') {
    if (request.kind === 'request' && (isSane(request.request) || typeof stray !== 'object')) return request
    if (typeof stray === 'object') return { kind: 'stray', frame: stray }
    return request
  }
  const isWhole =
    ending === 'quiet' || (ending === 'pause' && (typeof stray !== 'object' || stray.length === bytes.length))
  if (request === 'wait' && !isWhole) return 'wait'
  if (typeof stray === 'object') return { kind: 'stray', frame: stray }
  if (ending !== 'talking' && isUnknownFunction(bytes)) return { kind: 'unknown', frame: bytes }
  return ending !== 'quiet' && (request === 'wait' || stray === 'wait') ? 'wait' : 'junk'
}

function replyAt(bytes: Uint8Array, sent: SentRequest): Uint8Array | 'wait' | 'junk' {
  const need = replyLength(sent, bytes)
  if (need === 'impossible' || (sent.request.fc === 43 && isNoIdentification(bytes))) return 'junk'
  if (need === 'more' || bytes.length < need) return 'wait'
  const frame = bytes.subarray(0, need)
  return replyFlaw(sent, frame) ? 'junk' : frame
}

/**
 * The field "more follows" has only two values, so anything else is no identification. In a request this byte belongs
 * to the checksum.
 */
function isNoIdentification(bytes: Uint8Array): boolean {
  return bytes.length > 5 && bytes[1] === 43 && bytes[5] !== 0 && bytes[5] !== 0xff
}

function requestAt(bytes: Uint8Array): Extract<Piece, { kind: 'request' } | { kind: 'malformed' }> | 'wait' | 'junk' {
  const need = requestLength(bytes)
  if (need === 'impossible' || isReadByAll(bytes) || isOtherMei(bytes)) return 'junk'
  if (need !== 'more' && need > MAX_RTU_BYTES) return 'junk'
  if (need === 'more' || bytes.length < need) return 'wait'
  const frame = bytes.subarray(0, need)
  if (!hasGoodCrc(frame)) return 'junk'
  const request = opened(frame)
  if (!request) return { kind: 'malformed', frame }
  return { kind: 'request', frame, request, isTwoWay: isTwoWay(frame, request) }
}

function opened(frame: Uint8Array): ModbusRequest | undefined {
  try {
    return readModbusRequest(frame)
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** Function 43 with another MEI type than identification, whose length is not known. */
function isOtherMei([, fc, mei]: Uint8Array): boolean {
  return fc === 43 && mei !== undefined && mei !== MEI_IDENTIFY
}

/** Unit 0 is a broadcast: units can carry out a write, but not answer a read. */
function isReadByAll([unitId, fc]: Uint8Array): boolean {
  return unitId === 0 && fc !== undefined && (fc === 23 || modbusFunctions.get(fc)?.isWrite === false)
}

/**
 * Whether the request is also valid as a reply with another meaning: a read of bits whose reply has three data bytes,
 * or function 23. An echoed write does not count, since it means the same.
 */
function isTwoWay(frame: Uint8Array, { fc }: ModbusRequest): boolean {
  const shape = modbusFunctions.get(fc)?.shape
  return (shape === 'readBits' || shape === 'readWriteWords') && strayLength(frame) === frame.length
}

function isSane({ fc, quantity }: ModbusRequest): boolean {
  return quantity >= 1 && quantity <= (modbusFunctions.get(fc)?.maxQuantity ?? 0)
}

function strayAt(bytes: Uint8Array): Uint8Array | 'wait' | 'junk' {
  const need = strayLength(bytes)
  if (need === 'impossible') return 'junk'
  if (need === 'more' || bytes.length < need) return 'wait'
  const frame = bytes.subarray(0, need)
  return hasGoodCrc(frame) ? frame : 'junk'
}

/**
 * The length as of any reply, but stricter: registers come in pairs of bytes, a read returns something, and a coil is
 * on or off.
 */
function strayLength(bytes: Uint8Array): number | 'more' | 'impossible' {
  const [, fc = 0, count, , high = 0, low = 0] = bytes
  if (fc === 5 && (low !== 0 || (high !== 0 && high !== 0xff))) return 'impossible'
  const shape = modbusFunctions.get(fc)?.shape
  const isCounted = shape === 'readBits' || shape === 'readWords' || shape === 'readWriteWords'
  if (isCounted && (count === 0 || (shape !== 'readBits' && (count ?? 0) % 2 === 1))) return 'impossible'
  if (isOtherMei(bytes)) return 'more'
  if (isNoIdentification(bytes)) return 'impossible'
  return anyReplyLength(bytes)
}

function isUnknownFunction(bytes: Uint8Array): boolean {
  const [unitId = 0, fc = 0] = bytes
  const isKnown = modbusFunctions.has(fc & 0x7f) && !isOtherMei(bytes)
  return unitId <= 247 && (fc & 0x7f) !== 0 && !isKnown && bytes.length <= MAX_RTU_BYTES && hasGoodCrc(bytes)
}

function taken(piece: Piece, head: Head, before: Overheard, rules: OverhearRules): Step {
  const frame = piece.frame.slice()
  const { length } = frame
  const endMs = head.endMsOf(length - 1)
  if (piece.kind === 'reply') return { length, ...answered(frame, endMs, before, piece.out) }
  if (piece.kind === 'request') {
    const { heard, next } = givenUp(before, head.beginMs, rules)
    const sent = { frame, request: piece.request }
    const isDone = sent.request.unitId === 0 || rules.isOwn(sent.request.unitId)
    const out = { sent, endMs, isSure: !piece.isTwoWay || before.isInStep }
    return {
      length,
      heard: [...heard, { kind: 'request', frame, endMs, sent }],
      next: { owed: next.owed, isInStep: isDone, ...(!isDone && { out }) },
    }
  }
  if (piece.kind === 'stray') return { length, ...strayed(frame, endMs, before) }
  // Only a master sends this, or a unit that answers it: either way the request before gets no reply any more.
  const { heard, next } = givenUp(before, head.beginMs, rules)
  return { length, heard: [...heard, { kind: piece.kind, frame, endMs }], next: { ...next, isInStep: false } }
}

/**
 * A reply that also fits a request which timed out shortly before may belong to that one, so it is not taken for
 * either. A reply that fits none of those shows that no older reply of its unit is to come, as a unit answers in order.
 * An exception shows nothing.
 */
function answered(frame: Uint8Array, endMs: number, { owed }: Overheard, out: Outstanding): Omit<Step, 'length'> {
  const fitting = owed.filter((one) => one.untilMs > endMs && !replyFlaw(one.sent, frame))
  const rival = fitting.find((one) => !isSameBytes(one.sent.frame, out.sent.frame))
  if (rival) return { heard: [{ kind: 'late', frame, endMs, sent: rival.sent }], next: { owed, isInStep: true } }
  const isSettled = fitting.length === 0 && exceptionCode(frame) === null
  const left = isSettled ? owed.filter(({ sent }) => sent.request.unitId !== frame[0]) : owed
  const next = { owed: left, isInStep: true }
  const tookMs = endMs > out.endMs ? Math.round((endMs - out.endMs) * 1000) / 1000 : null
  return { heard: [{ kind: 'reply', frame, endMs, sent: out.sent, tookMs }], next }
}

/** If the unit owed a single reply, this was it. If it owed several, which one came is unknown. */
function strayed(frame: Uint8Array, endMs: number, heardBefore: Overheard): Omit<Step, 'length'> {
  const unitId = frame[0] ?? 0
  const before = { ...heardBefore, isInStep: false }
  const fitting = before.owed.find((one) => one.untilMs > endMs && !replyFlaw(one.sent, frame))
  if (!fitting) return { heard: [{ kind: 'stray', frame, endMs, sent: before.out?.sent }], next: before }
  const ofUnit = before.owed.filter((one) => one.sent.request.unitId === unitId)
  const owed = ofUnit.length === 1 ? before.owed.filter((one) => one !== fitting) : before.owed
  return { heard: [{ kind: 'late', frame, endMs, sent: fitting.sent }], next: { ...before, owed } }
}

// Cuts everything on a line into frames, and tells which reply belongs to which request: for a listener, and for a
// slave among other units. The length ends a frame; silence decides only where nothing fits.

/** The rules of the line and its rate. `gapMs`: the silence between frames. */
export interface TapRules extends OverhearRules, LineRate {
  gapMs: number
}

/**
 * One read: where its bytes end in the held bytes, when it came, and whether the silence between frames preceded it.
 */
interface Mark {
  end: number
  atMs: number
  isAfterGap: boolean
}

/**
 * The bytes of one line, in order. All times are milliseconds of one clock.
 *
 * After junk, nothing that could be part of a damaged frame is trusted, because a gateway may carry whole frames as
 * data. Such a part is followed by the rest of its frame. So what comes after junk is trusted only if frame follows
 * frame up to a silence, or for longer than the longest frame. Then all of it is reported at once, so waiting loses
 * nothing.
 */
export class ModbusTap {
  readonly #rules: TapRules
  #bytes: Uint8Array = new Uint8Array(0)
  #marks: Mark[] = []
  #state: Overheard = heardNothing
  /** The first position after junk that may still begin a frame; 0 if the bytes do not begin with junk. */
  #scanAt = 0

  constructor(rules: TapRules) {
    this.#rules = rules
  }

  /** The bytes that are not taken yet. */
  get pending(): Uint8Array {
    return this.#bytes
  }

  /** The line was opened anew: forgets everything heard before. */
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

  /** Silence has followed the last byte. `pause`: as between frames; `quiet`: longer than any inside a frame. */
  silence(ending: 'pause' | 'quiet'): Heard[] {
    return this.#take(ending)
  }

  /** Time has passed: a request whose reply has not begun in time is given up. */
  pass(nowMs: number): Heard[] {
    const isAnswerBegun = this.#bytes.length > 0 && this.#atMsOf(0) <= this.#dueMs
    if (isAnswerBegun) return []
    const { heard, next } = afterTime(this.#state, nowMs, this.#rules)
    this.#state = next
    return heard
  }

  /** When the reply to the outstanding request must have begun; Infinity if none is outstanding. */
  get #dueMs(): number {
    const { out } = this.#state
    return out ? out.endMs + this.#rules.replyMs : Number.POSITIVE_INFINITY
  }

  /** Milliseconds until `pass` has something to do; undefined if no request is outstanding. */
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
      // Endless noise is reported as it comes. Its last byte is kept, so that what follows still counts as after junk.
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

  /** @returns where frames begin again; the end of all bytes after silence; undefined if more must come first */
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

  /** Finds whole frames between two silences, as the standard frames them, or right after a glitch. */
  #framedAt(): number | undefined {
    if (isGlitch(this.#bytes[0]) && this.#chainAt(1, 'quiet') === 'holds') return 1
    return this.#marks.map(({ end }) => end).find((begin) => begin > 0 && this.#chainAt(begin, 'pause') === 'holds')
  }

  /** Whether frame follows frame from here on; `open` until enough of them have come, or silence. */
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

  /** A glitch says nothing about the frames beside it; any other noise may have been a damaged frame. */
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

  /** The last mark is kept even without bytes, because the gap to the next read is measured from it. */
  #cutOff(length: number): Uint8Array {
    const head = this.#bytes.slice(0, length)
    this.#bytes = this.#bytes.slice(length)
    const marks = this.#marks.map((mark) => ({ ...mark, end: mark.end - length }))
    this.#marks = marks.filter(({ end }, at) => end > 0 || at === marks.length - 1)
    return head
  }
}

/** Bytes that a transmitter leaves when it is switched on or off: no frame begins with one, and they damage none. */
export function isGlitch(byte: number | undefined): boolean {
  return byte === 0 || (byte ?? 0) > 247
}
