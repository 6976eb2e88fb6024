/** Bytes of the line cut into frames: replies, echoes, late answers, noise; and the wait for the one reply. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { type Cut, flawOfJunk, type LocalEcho, nextCut } from '../../wire/modbus-cut.ts'
import {
  type DecodedFrame,
  describeReply,
  describeRequest,
  exceptionCode,
  flawFault,
  isPrefixOf,
  type ReplyFlaw,
  replyFlaw,
  type SentRequest,
} from '../../wire/modbus-reply.ts'
import { wireUs } from '../../wire/modbus-request.ts'
import { decodeErrorOf, framePayload, type SeenFrame, sizeOfModbus } from '../lines/events.ts'
import type { Doubt, ModbusCopies } from './copies.ts'
import { countOfFlaw, type Heard, type ModbusCounts } from './faults.ts'
import type { LateReply, ModbusHolds } from './holds.ts'
import type { ModbusSettings } from './settings.ts'

/** Bytes kept that are no frame yet; four of the longest frames. A line that babbles on loses the oldest, counted. */
const BUFFER_BYTES = 1024

interface ReceiverParts {
  clock: Clock
  counts: ModbusCounts
  holds: ModbusHolds
  copies: ModbusCopies
  units: {
    /** A frame failed its checksum while the unit was asked. */
    damaged(unitId: number): void
    /** The unit said its last answer again. */
    copied(unitId: number): void
    /** The unit said something whole that may be for an earlier request. */
    spoke(unitId: number): void
    /** The unit answered a request that was given up. */
    late(unitId: number, reply: Pick<LateReply, 'frame' | 'tookMs'>): void
  }
  /** `auto`: learned. */
  localEcho: 'auto' | 'present' | 'absent'
  /** The answer to a request of which another was doubted; `isSure`: it is no copy either. */
  onDoubtSettled(sent: SentRequest, frame: Uint8Array, isSure: boolean): void
  publish(event: string, payload: unknown, sizeBytes?: number): void
}

/** A frame equal to the request, and when it was there, by the monotonic clock. */
export interface Twin {
  frame: Uint8Array
  atMs: number
}

/** The bytes of one line. `begin` and `end` enclose each transaction; outside, all that comes is late, stray or noise. */
export class ModbusReceiver {
  readonly #parts: ReceiverParts
  #bytes: Uint8Array = new Uint8Array(0)
  #atUs = 0
  #sent: SentRequest | undefined
  #sentAtMs = 0
  #isFence = false
  #isEchoSeen = false
  #isAmidJunk = false
  #hasHeard = false
  #twin: Twin | undefined
  #heard: Record<string, number> = {}
  #doubt: Doubt = 'sure'
  #echo: LocalEcho
  /** The last answered request of each unit: a frame that answers it again was said twice. */
  readonly #answered = new Map<number, SentRequest>()

  constructor(parts: ReceiverParts) {
    this.#parts = parts
    this.#echo = parts.localEcho === 'auto' ? 'unknown' : parts.localEcho
  }

  /** Bytes that are no frame yet. */
  get pending(): number {
    return this.#bytes.length
  }

  get echo(): LocalEcho {
    return this.#echo
  }

  /** A frame equal to the request, which is the reply or an echo of it. */
  get twin(): Twin | undefined {
    return this.#twin
  }

  /** What the last reply taken is worth. */
  get doubt(): Doubt {
    return this.#doubt
  }

  /** What came since `begin` and was not the reply. */
  get heard(): Heard {
    return this.#heard
  }

  /** The line was opened anew, perhaps with another adapter behind the same name: what was learned of it is void. */
  forgetLine(): void {
    this.#bytes = new Uint8Array(0)
    this.#parts.copies.forget()
    this.#answered.clear()
    if (this.#parts.localEcho === 'auto') this.#echo = 'unknown'
  }

  begin(sent: SentRequest, isFence = false): void {
    this.#sent = sent
    this.#isFence = isFence
    this.#isEchoSeen = false
    this.#isAmidJunk = false
    this.#hasHeard = false
    this.#twin = undefined
    this.#heard = {}
  }

  /** The last bit of the request is out: answers are timed from here. */
  markSent(atMs: number): void {
    this.#sentAtMs = atMs
  }

  feed(bytes: Uint8Array, atUs: number): void {
    const joined = new Uint8Array(this.#bytes.length + bytes.length)
    joined.set(this.#bytes)
    joined.set(bytes, this.#bytes.length)
    this.#bytes = joined
    this.#atUs = atUs
    this.#hasHeard = true
    if (joined.length <= BUFFER_BYTES) return
    this.#junk(this.#cutOff(joined.length - BUFFER_BYTES / 2))
    this.#isAmidJunk = true
  }

  /**
   * Takes whole frames from what has arrived.
   * @param isQuiet silence followed the last byte
   * @returns the proven reply (an exception is one); what came behind it stays for the next call
   */
  take(isQuiet: boolean): Uint8Array | undefined {
    for (let cut = this.#next(isQuiet); cut; cut = this.#next(isQuiet)) {
      this.#cutOff(cut.skipped.length + cut.frame.length)
      if (cut.skipped.length > 0) {
        this.#junk(cut.skipped)
        this.#isAmidJunk = true
      }
      if (cut.kind === 'reply') return this.#reply(cut.frame)
      this.#aside(cut)
    }
    return undefined
  }

  /** Gives up bytes that came to no frame. */
  discard(): void {
    if (this.#bytes.length > 0) this.#junk(this.#cutOff(this.#bytes.length))
  }

  /** The transaction is over without a reply. @param isSent the request went out, so an echo would have been heard */
  endWithout(isSent: boolean): void {
    this.discard()
    if (isSent && !this.#hasHeard) this.#learn('absent')
    this.#sent = undefined
  }

  /** A twin turned out to be the reply, or an echo. */
  settleTwin(sent: SentRequest, twin: Uint8Array, isReply: boolean): void {
    this.#publish(twin, isReply ? describeReply(twin, 'reply', sent) : describeRequest(sent.request, 'echo'))
    if (isReply) this.#answer(sent, twin)
    else this.#parts.counts.echoes++
  }

  #next(isQuiet: boolean): Cut | undefined {
    const expecting = {
      sent: this.#sent,
      owed: (unitId: number) => this.#parts.holds.owed(unitId),
      mayBeOwed: (sent: SentRequest, frame: Uint8Array) => this.#parts.holds.mayBeOwed(sent, frame),
      echo: this.#echo,
      isEchoSeen: this.#isEchoSeen,
      isAmidJunk: this.#isAmidJunk,
    }
    return nextCut(this.#bytes, expecting, isQuiet)
  }

  #cutOff(length: number): Uint8Array {
    const head = this.#bytes.slice(0, length)
    this.#bytes = this.#bytes.slice(length)
    return head
  }

  #reply(frame: Uint8Array): Uint8Array {
    const sent = this.#sent as SentRequest
    if (this.#twin) {
      // What came first was the echo: a unit says a thing once.
      this.settleTwin(sent, this.#twin.frame, false)
      this.#learn('present')
    } else if (!this.#isEchoSeen && Object.keys(this.#heard).length === 0 && !isPrefixOf(frame, sent.frame)) {
      this.#learn('absent')
    }
    const tookMs = Math.round((this.#parts.clock.monotonicMs() - this.#sentAtMs) * 1000) / 1000
    this.#publish(frame, { ...describeReply(frame, 'reply', sent), tookMs })
    this.#doubt = this.#parts.copies.doubt(sent, frame)
    if (this.#doubt === 'sure') this.#answer(sent, frame)
    else this.#parts.copies.heard(sent, frame)
    this.#sent = undefined
    return frame
  }

  #answer(sent: SentRequest, reply: Uint8Array): void {
    const { copies, holds } = this.#parts
    this.#answered.set(sent.request.unitId, sent)
    copies.note(sent, reply)
    holds.answered(sent, reply, this.#isFence)
  }

  #aside(cut: Cut): void {
    switch (cut.kind) {
      case 'echo':
        this.#ownEcho(cut.frame)
        return
      case 'twin':
        this.#twin = { frame: cut.frame, atMs: this.#parts.clock.monotonicMs() }
        this.#isEchoSeen = true
        return
      case 'late':
      case 'stray':
        this.#stray(cut.frame, cut.flaw)
        return
      default:
        this.#junk(cut.frame)
    }
  }

  #ownEcho(frame: Uint8Array): void {
    const sent = this.#sent as SentRequest
    this.#isEchoSeen = true
    this.#parts.counts.echoes++
    if (sent.request.unitId === 0 || replyFlaw(sent, frame)) this.#learn('present')
    this.#publish(frame, describeRequest(sent.request, 'echo'))
  }

  #late(frame: Uint8Array): boolean {
    const { copies, holds, onDoubtSettled, units } = this.#parts
    const unitId = frame[0] ?? 0
    const owed = holds.owed(unitId).find((one) => !replyFlaw(one, frame))
    if (!owed) return false
    units.spoke(unitId)
    if (copies.isRecent(frame)) {
      // A copy of what was said, or the answer that is owed: it settles nothing.
      this.#count('strayFrames')
      this.#publish(frame, describeReply(frame, 'late', owed))
      onDoubtSettled(owed, frame, false)
      return true
    }
    const late = holds.late(frame, this.#sent?.request.unitId === unitId)
    if (!late) return false
    copies.note(late.sent, frame)
    this.#publish(frame, describeReply(frame, late.was === 'doubted' ? 'reply' : 'late', late.sent))
    if (late.was === 'doubted') onDoubtSettled(late.sent, frame, true)
    else this.#count('lateReplies')
    if (late.was === 'missed') units.late(unitId, late)
    return true
  }

  #stray(frame: Uint8Array, flaw: ReplyFlaw | undefined): void {
    const { copies, holds } = this.#parts
    const unitId = frame[0] ?? 0
    if (this.#late(frame)) return
    const last = this.#answered.get(unitId)
    if (copies.isRecent(frame)) {
      this.#twice(unitId)
    } else if (last && !replyFlaw(last, frame)) {
      holds.suspect(last)
      // Two answers to one question: one of them was a copy, or is for another master.
      if (exceptionCode(frame) === null) this.#twice(unitId)
    }
    this.#count(flaw ? countOfFlaw[flaw] : 'strayFrames')
    const fault = flaw && flawFault(flaw, this.#sent, frame)
    this.#publish(frame, describeReply(frame, 'stray'), fault)
  }

  #twice(unitId: number): void {
    this.#parts.counts.copies++
    this.#parts.copies.doubled(unitId)
    this.#parts.units.copied(unitId)
  }

  #junk(bytes: Uint8Array): void {
    const flaw = flawOfJunk(bytes, this.#sent)
    if (!flaw) this.#count('noiseBytes', bytes.length)
    else this.#count(countOfFlaw[flaw])
    if (flaw === 'crc' && this.#sent) this.#parts.units.damaged(this.#sent.request.unitId)
    this.#publish(bytes, flaw ? null : { kind: 'noise' }, flaw && flawFault(flaw, this.#sent, bytes))
  }

  #count(name: keyof ModbusCounts, by = 1): void {
    this.#parts.counts[name] += by
    this.#heard[name] = (this.#heard[name] ?? 0) + by
  }

  #learn(echo: 'present' | 'absent'): void {
    if (this.#parts.localEcho !== 'auto') return
    // Once seen, an echo is reckoned with until the line is opened anew: noise may have covered one.
    if (this.#echo !== 'present') this.#echo = echo
  }

  #publish(frame: Uint8Array, decoded: DecodedFrame | null, fault?: Fault): void {
    this.#parts.counts.rxFrames++
    const seen: SeenFrame = { direction: 'rx', frame, atUs: this.#atUs }
    this.#parts.publish('frame', () => framePayload(seen, { decoded, ...decodeErrorOf(fault) }), sizeOfModbus(frame))
  }
}

// The wait for one reply: from the end of a request to its proven answer, or to the moment none can be hoped for.

interface ReplyWaitParts {
  clock: Clock
  settings: ModbusSettings
  baud: number
  receiver: ModbusReceiver
  /** The answer, proven; an exception is one. */
  onReply(reply: Uint8Array): void
  /** The time is over. */
  onNone(): void
}

export interface ReplyWait {
  /** More bytes have been fed to the receiver. */
  look(): void
  cancel(): void
}

/** Longest reply, for the time it takes on the wire. */
const LONGEST_BYTES = 256

/** @param sentAtMs when the last bit of the request is out; may lie ahead by its time on the wire */
export function waitForReply(parts: ReplyWaitParts, sentAtMs: number): ReplyWait {
  const { clock, settings, receiver } = parts
  const limitMs =
    sentAtMs + settings.response_timeout_ms + settings.reply_limit_ms + wireUs(parts, LONGEST_BYTES) / 1000
  let lastByteMs = sentAtMs
  let quietTimer: Timer | undefined
  let timer = clock.after(sentAtMs - clock.monotonicMs() + settings.response_timeout_ms, lastLook)

  function cancel(): void {
    timer.cancel()
    quietTimer?.cancel()
  }

  function take(isQuiet: boolean): boolean {
    quietTimer?.cancel()
    const reply = receiver.take(isQuiet)
    if (!reply) return false
    cancel()
    parts.onReply(reply)
    return true
  }

  /**
   * Input is read once more before a reply is called missing: after a stall of this process its timers run before its
   * input is read, and the reply may lie in the driver.
   */
  function lastLook(): void {
    timer = clock.soon(onDeadline)
  }

  /**
   * Bytes that are no frame yet are waited on, up to the limit: an answer that has begun may go on, and one behind
   * noise is not believed before silence has followed it.
   */
  function onDeadline(): void {
    const silentAtMs = lastByteMs + settings.byte_gap_ms
    const untilMs = receiver.pending > 0 ? Math.min(silentAtMs, limitMs) : 0
    if (untilMs > clock.monotonicMs()) {
      timer = clock.after(untilMs - clock.monotonicMs(), lastLook)
      return
    }
    if (take(clock.monotonicMs() >= silentAtMs)) return
    cancel()
    parts.onNone()
  }

  return {
    cancel,
    look() {
      lastByteMs = clock.monotonicMs()
      if (take(false) || receiver.pending === 0) return
      quietTimer = clock.after(settings.byte_gap_ms, () => void take(true))
    },
  }
}
