/**
 * What stands next on a line where others speak: a request, the reply to it, something else. Requests and replies go
 * over the same wires, so the same bytes may be either; what is outstanding decides.
 */
import { Fault } from '#kit/fault.ts'
import { hasGoodCrc, MAX_RTU_BYTES } from './modbus-crc.ts'
import { MEI_IDENTIFY, modbusFunctions } from './modbus-functions.ts'
import { anyReplyLength, exceptionCode, replyFlaw, replyLength, type SentRequest } from './modbus-reply.ts'
import { type ModbusRequest, openRequest, requestLength } from './modbus-request.ts'

/** Requests without a reply that are remembered at once; the oldest goes first. */
const MOST_OWED = 64

/** How long things last on the line listened to. */
export interface OverhearRules {
  /** How long after a request its reply may begin, ms. */
  replyMs: number
  /** How long after that a late reply may still come, ms. */
  oweMs: number
  /** Units of our own: their requests are answered here, and no reply is waited for. */
  isOwn(unitId: number): boolean
}

/** A request without a reply so far. `isSure`: it can have been nothing but a request. */
interface Outstanding {
  readonly sent: SentRequest
  readonly endMs: number
  readonly isSure: boolean
}

/** What was heard so far, as far as it decides what comes next. Plain and never changed: a guess can be given up. */
export interface Overheard {
  /** The request that may be answered now. */
  readonly out?: Outstanding
  /** Requests without a reply, whose replies may still come. */
  readonly owed: readonly { readonly sent: SentRequest; readonly untilMs: number }[]
  /** The last thing heard ended a transaction: what comes next is a request. */
  readonly isInStep: boolean
}

/** Nothing was heard yet. */
export const heardNothing: Overheard = { owed: [], isInStep: false }

/**
 * One thing heard.
 * - `request` of a master, whole and right
 * - `reply` to the request before it, proven; an exception is one. `tookMs` is null where both came in one read
 * - `late` fits a request that was given up: never the answer to another
 * - `malformed` a request whose parts contradict each other
 * - `stray` a whole reply that answers nothing known; `sent` is the request that was out
 * - `unknown` a whole frame of a function not known here
 * - `noise` bytes that are no frame; `sent` as before
 * - `unanswered` no frame, but the end of waiting for one
 */
export type Heard =
  | { kind: 'request'; frame: Uint8Array; endMs: number; sent: SentRequest }
  | { kind: 'reply'; frame: Uint8Array; endMs: number; sent: SentRequest; tookMs: number | null }
  | { kind: 'late'; frame: Uint8Array; endMs: number; sent: SentRequest }
  | { kind: 'malformed'; frame: Uint8Array; endMs: number }
  | { kind: 'unknown'; frame: Uint8Array; endMs: number }
  | { kind: 'stray' | 'noise'; frame: Uint8Array; endMs: number; sent: SentRequest | undefined }
  | { kind: 'unanswered'; sent: SentRequest; waitedMs: number }

/** A step over one frame: what it was, what ended with it, and what is known behind it. */
export interface Step {
  length: number
  heard: Heard[]
  next: Overheard
}

/** Bytes at the head, and when they were read. */
export interface Head {
  bytes: Uint8Array
  beginMs: number
  /** When the byte at this place, counted from the head, was read. */
  endMsOf(at: number): number
}

/**
 * How the line was behind the bytes: `talking` nothing is known, `pause` the silence between frames has passed,
 * `quiet` longer than any pause inside a frame.
 */
export type Ending = 'talking' | 'pause' | 'quiet'

/**
 * Takes the frame that the bytes begin with.
 * @returns `wait` where more bytes or silence must come first, `junk` where no frame begins so
 */
export function stepOver(head: Head, before: Overheard, rules: OverhearRules, ending: Ending): Step | 'wait' | 'junk' {
  const { heard, next } = afterTime(before, head.beginMs, rules)
  const piece = pieceAt(head.bytes, next, ending)
  if (piece === 'wait' || piece === 'junk') return piece
  const step = taken(piece, head, next, rules)
  return { ...step, heard: [...heard, ...step.heard] }
}

/** Gives up the request that is out when its time is over. */
export function afterTime(before: Overheard, nowMs: number, rules: OverhearRules): { heard: Heard[]; next: Overheard } {
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
 * What outstanding asks for comes first; then a request; then a reply that nobody asked for. What may still grow into
 * something that goes before is waited for.
 */
function pieceAt(bytes: Uint8Array, { out }: Overheard, ending: Ending): Piece | 'wait' | 'junk' {
  const reply = out ? replyAt(bytes, out.sent) : 'junk'
  const request = requestAt(bytes)
  if (out && typeof reply === 'object') {
    const asRequest = typeof request === 'object' && request.kind === 'request' && isSane(request.request)
    // Twice a frame that is valid both ways, and nothing before to tell which was which: the second is not believed.
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

/** More follows, or it does not: nothing else stands there. A request's checksum does. */
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
    return openRequest(frame)
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** Function 43 with another type of MEI than identification: no length is known of it. */
function isOtherMei([, fc, mei]: Uint8Array): boolean {
  return fc === 43 && mei !== undefined && mei !== MEI_IDENTIFY
}

/** Unit 0 stands for all: they can write, and not answer a read. */
function isReadByAll([unitId, fc]: Uint8Array): boolean {
  return unitId === 0 && fc !== undefined && (fc === 23 || modbusFunctions.get(fc)?.isWrite === false)
}

/** Valid as a reply too, of another meaning: coils whose reply has three bytes, and 23. Echoed writes mean the same. */
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

/** As any reply, but that registers come in pairs of bytes, a read gives something, and a coil is on or off. */
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
  // Whoever speaks like that is a master, or answers one: either way the request before gets no more answer.
  const { heard, next } = givenUp(before, head.beginMs, rules)
  return { length, heard: [...heard, { kind: piece.kind, frame, endMs }], next: { ...next, isInStep: false } }
}

/**
 * A reply that would also do for a request given up shortly before may be that one's: it is believed for neither. One that
 * would do for none shows that nothing older of its unit is to come, as a unit answers in order; an exception does not.
 */
function answered(frame: Uint8Array, endMs: number, { owed }: Overheard, out: Outstanding): Omit<Step, 'length'> {
  const fitting = owed.filter((one) => one.untilMs > endMs && !replyFlaw(one.sent, frame))
  const rival = fitting.find((one) => !isSame(one.sent, out.sent))
  if (rival) return { heard: [{ kind: 'late', frame, endMs, sent: rival.sent }], next: { owed, isInStep: true } }
  const isSettled = fitting.length === 0 && exceptionCode(frame) === null
  const left = isSettled ? owed.filter(({ sent }) => sent.request.unitId !== frame[0]) : owed
  const next = { owed: left, isInStep: true }
  const tookMs = endMs > out.endMs ? Math.round((endMs - out.endMs) * 1000) / 1000 : null
  return { heard: [{ kind: 'reply', frame, endMs, sent: out.sent, tookMs }], next }
}

/** A unit that owed one answer has given it; where it owed more, which one it was is not known. */
function strayed(frame: Uint8Array, endMs: number, heardBefore: Overheard): Omit<Step, 'length'> {
  const unitId = frame[0] ?? 0
  const before = { ...heardBefore, isInStep: false }
  const fitting = before.owed.find((one) => one.untilMs > endMs && !replyFlaw(one.sent, frame))
  if (!fitting) return { heard: [{ kind: 'stray', frame, endMs, sent: before.out?.sent }], next: before }
  const ofUnit = before.owed.filter((one) => one.sent.request.unitId === unitId)
  const owed = ofUnit.length === 1 ? before.owed.filter((one) => one !== fitting) : before.owed
  return { heard: [{ kind: 'late', frame, endMs, sent: fitting.sent }], next: { ...before, owed } }
}

function isSame(one: SentRequest, other: SentRequest): boolean {
  return one.frame.length === other.frame.length && one.frame.every((byte, at) => byte === other.frame[at])
}
