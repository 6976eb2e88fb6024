/** Cuts the bytes of the line into frames: replies, echoes, late replies, stray frames, noise. */
import type { Clock } from '#kit/clock.ts'
import { isPrefixOf } from '#kit/pure/bytes.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { decodeErrorOf, framePayload, type SeenFrame } from '../lines/events.ts'
import type { BusCopies, Doubt } from './copies.ts'
import { type BusCounts, countOfFlaw, type Heard } from './faults.ts'
import type { BusHolds } from './holds.ts'
import type { BusProtocol, BusReply, BusRequest, ReplyFlaw, Sent } from './protocol.ts'
import type { BusUnits } from './units.ts'

// Cuts what comes after a request into frames. The length fields of a frame tell where it ends, not silence: a pty, a
// USB adapter or a terminal server splits and joins bytes as it likes. Silence only decides where bytes that belong to
// no frame stand before one.

/** Whether the line echoes our own bytes, as RS-485 adapters do whose receiver is always on. */
export type LocalEcho = 'unknown' | 'present' | 'absent'

/** The part of a protocol that cuts bytes into frames. */
type Framing<Request extends BusRequest> = Pick<
  BusProtocol<Request, BusReply>,
  'frameLength' | 'isBroadcast' | 'isFrameAlone' | 'isWhole' | 'replyFlaw' | 'replyLength' | 'shortestBytes' | 'unitOf'
>

/** What may arrive now. */
export interface Expecting<Request extends BusRequest> {
  framing: Framing<Request>
  /** The request in flight, if there is one. */
  sent: Sent<Request> | undefined
  /** Unanswered requests to a unit whose replies may still come. */
  owed(unitId: number): readonly Sent<Request>[]
  /** Whether a frame that is valid as the reply may answer an earlier request. It is then a late reply in any case. */
  mayBeOwed(sent: Sent<Request>, frame: Uint8Array): boolean
  echo: LocalEcho
  /** The echo of the request in flight has been seen already. */
  isEchoSeen: boolean
  /** Bytes were skipped that may be part of a damaged frame, which may go on: a reply must be the last to come. */
  isAmidJunk: boolean
}

/**
 * What the bytes begin with.
 * - `reply` answers the request; proven by length, checksum, unit, function, byte count or echoed fields
 * - `twin` is valid as the reply but may be an echo, as it equals the bytes sent and echo is not known for this line
 * - `echo` our own request
 * - `late` answers a request that was given up
 * - `stray` a whole frame with a right checksum that answers nothing; `flaw` says why not the request in flight
 * - `noise` bytes that begin no frame
 */
type CutKind = 'reply' | 'twin' | 'echo' | 'late' | 'stray' | 'noise'

/** A piece: first `skipped` junk bytes, then the frame. For `noise` nothing is skipped, and the frame is the junk. */
interface Cut {
  kind: CutKind
  skipped: Uint8Array
  frame: Uint8Array
  flaw?: ReplyFlaw
  /** A `late` frame with junk before it and bytes behind it: it may be a piece of a longer frame, and proves nothing. */
  isInside?: boolean
}

const noBytes = new Uint8Array(0)

/**
 * Takes the next piece.
 * @param isQuiet the line has been silent so long that no more of these bytes is to come
 * @returns undefined where more bytes or silence must come first
 */
export function nextCut<Request extends BusRequest>(
  bytes: Uint8Array,
  expecting: Expecting<Request>,
  isQuiet: boolean,
): Cut | undefined {
  if (bytes.length === 0) return undefined
  const atHead = headCut(bytes, expecting)
  if (expecting.isAmidJunk && typeof atHead === 'object' && atHead.kind !== 'echo' && atHead.kind !== 'stray')
    return isQuiet ? quietCut(bytes, expecting) : undefined
  if (atHead === 'junk') return noiseCut(bytes, expecting)
  if (atHead !== 'wait') return { ...atHead, skipped: noBytes }
  return isQuiet ? quietCut(bytes, expecting) : undefined
}

type HeadCut = Omit<Cut, 'skipped'> | 'wait' | 'junk'

/** What the bytes begin with: a whole frame, the beginning of one, or neither. */
function headCut<Request extends BusRequest>(bytes: Uint8Array, expecting: Expecting<Request>): HeadCut {
  const { framing } = expecting
  const own = expecting.sent ? ownCut(bytes, expecting.sent, expecting) : 'junk'
  if (typeof own === 'object') return own
  let mayGrow = own === 'wait'
  for (const owed of expecting.owed(framing.unitOf(bytes))) {
    const need = framing.replyLength(owed, bytes)
    if (typeof need === 'number' && bytes.length >= need) {
      const frame = bytes.subarray(0, need)
      if (!framing.replyFlaw(owed, frame)) return { kind: 'late', frame }
    }
    if (need !== 'impossible') mayGrow = true
  }
  // While the bytes may still become our reply or echo, they are not taken for a shorter stray frame.
  const stray = strayAt(bytes, expecting)
  if (stray && own !== 'wait') return stray
  return mayGrow || framing.frameLength(bytes) !== 'impossible' ? 'wait' : 'junk'
}

/** The reply to, or the echo of, the request in flight. */
function ownCut<Request extends BusRequest>(
  bytes: Uint8Array,
  sent: Sent<Request>,
  expecting: Expecting<Request>,
): HeadCut {
  const { framing } = expecting
  const need = framing.replyLength(sent, bytes)
  // Where the line is known to have no echo, only bytes that cannot be a reply are still checked for one.
  const mayEcho = !expecting.isEchoSeen && (expecting.echo !== 'absent' || need === 'impossible')
  const isEcho = mayEcho && isPrefixOf(sent.frame, bytes)
  const isPartOfEcho = mayEcho && bytes.length < sent.frame.length && isPrefixOf(bytes, sent.frame)
  // The echo is checked first: with a zero behind it, which a transmitter switching off can leave, it also has a right
  // checksum as a longer reply.
  if (isEcho) return { kind: isTwin(sent, expecting) ? 'twin' : 'echo', frame: bytes.subarray(0, sent.frame.length) }
  if (typeof need === 'number' && bytes.length >= need) {
    const frame = bytes.subarray(0, need)
    if (!framing.replyFlaw(sent, frame) && !isPartOfEcho)
      return { kind: expecting.mayBeOwed(sent, frame) ? 'late' : 'reply', frame }
  }
  return isPartOfEcho || need === 'more' || (typeof need === 'number' && bytes.length < need) ? 'wait' : 'junk'
}

/** Whether the request is valid as its own reply, on a line of which it is not known whether it has an echo. */
function isTwin<Request extends BusRequest>(sent: Sent<Request>, { echo, framing }: Expecting<Request>): boolean {
  return echo === 'unknown' && !framing.isBroadcast(sent.request) && !framing.replyFlaw(sent, sent.frame)
}

/** A whole frame with a right checksum that nobody asked for. */
function strayAt<Request extends BusRequest>(
  bytes: Uint8Array,
  { framing, sent }: Expecting<Request>,
): Omit<Cut, 'skipped'> | undefined {
  const need = framing.frameLength(bytes)
  if (typeof need !== 'number' || bytes.length < need) return undefined
  const frame = bytes.subarray(0, need)
  return framing.isWhole(frame) ? { kind: 'stray', frame, flaw: sent && framing.replyFlaw(sent, frame) } : undefined
}

/** The bytes before the first that may begin a frame. */
function noiseCut<Request extends BusRequest>(bytes: Uint8Array, expecting: Expecting<Request>): Cut {
  let end = 1
  while (end < bytes.length && headCut(bytes.subarray(end), expecting) === 'junk') end++
  return { kind: 'noise', skipped: noBytes, frame: bytes.subarray(0, end) }
}

/**
 * After silence: finds the first whole frame behind bytes that are none. A reply, or a late one, is accepted there only
 * if it is the last thing that came, not inside a longer frame (as where a gateway carries frames and a bit has flipped).
 */
function quietCut<Request extends BusRequest>(bytes: Uint8Array, expecting: Expecting<Request>): Cut | undefined {
  for (let at = 0; at + expecting.framing.shortestBytes <= bytes.length; at++) {
    const rest = bytes.subarray(at)
    const found = quietAt(rest, expecting)
    if (!found) continue
    const isInside = (at > 0 || expecting.isAmidJunk) && found.frame.length < rest.length
    return { ...found, isInside, skipped: bytes.subarray(0, at) }
  }
  return undefined
}

function quietAt<Request extends BusRequest>(
  rest: Uint8Array,
  expecting: Expecting<Request>,
): Omit<Cut, 'skipped'> | undefined {
  const { framing, sent } = expecting
  if (sent) {
    const mayEcho = !expecting.isEchoSeen && expecting.echo !== 'absent'
    if (mayEcho && isPrefixOf(sent.frame, rest))
      return { kind: isTwin(sent, expecting) ? 'twin' : 'echo', frame: rest.subarray(0, sent.frame.length) }
    if (!framing.isBroadcast(sent.request) && !framing.replyFlaw(sent, rest)) {
      if (!mayEcho || !isPrefixOf(rest, sent.frame))
        return { kind: expecting.mayBeOwed(sent, rest) ? 'late' : 'reply', frame: rest }
      // The beginning of an echo is valid as the reply: accepted only once the line is known to have no echo.
      if (expecting.echo === 'unknown') return { kind: 'twin', frame: rest }
    }
  }
  for (const one of expecting.owed(framing.unitOf(rest))) {
    const need = framing.replyLength(one, rest)
    if (typeof need !== 'number' || rest.length < need) continue
    const frame = rest.subarray(0, need)
    if (!framing.replyFlaw(one, frame)) return { kind: 'late', frame }
  }
  const stray = strayAt(rest, expecting)
  // A frame that is valid as the reply but is not the last thing that came stays junk: see quietCut.
  if (stray) return stray.flaw || !sent ? stray : undefined
  return framing.isFrameAlone(rest)
    ? { kind: 'stray', frame: rest, flaw: sent && framing.replyFlaw(sent, rest) }
    : undefined
}

/** Bytes without a frame are kept up to this many of the longest frames. Beyond, the oldest are dropped and counted. */
const FRAMES_KEPT = 4

interface ReceiverParts<Request extends BusRequest, Reply extends BusReply> {
  clock: Clock
  counts: BusCounts
  protocol: BusProtocol<Request, Reply>
  holds: BusHolds<Request, Reply>
  copies: BusCopies<Request, Reply>
  units: Pick<BusUnits<Request, Reply>, 'copied' | 'damaged' | 'late' | 'spoke'>
  /** `auto`: learned from the traffic. */
  localEcho: 'auto' | 'present' | 'absent'
  /** Another reply came to a request whose reply was doubted; `isSure`: this one is certainly no copy. */
  onDoubtSettled(sent: Sent<Request>, reply: Reply, isSure: boolean): void
  publish(event: string, payload: unknown, sizeBytes?: number): void
}

/** A frame that may be the reply or an echo, and when it came, by the monotonic clock. */
export interface Twin {
  frame: Uint8Array
  atMs: number
}

/** The bytes of one line. From `begin` on the reply is expected; outside a transaction all is late, stray or noise. */
export class BusReceiver<Request extends BusRequest, Reply extends BusReply> {
  readonly #parts: ReceiverParts<Request, Reply>
  #bytes: Uint8Array = new Uint8Array(0)
  #atUs = 0
  #sent: Sent<Request> | undefined
  #sentAtMs = 0
  #isFence = false
  #isEchoSeen = false
  #isAmidJunk = false
  #hasHeard = false
  #twin: Twin | undefined
  #heard: Record<string, number> = {}
  #doubt: Doubt = 'sure'
  #echo: LocalEcho
  /** The last answered request of each unit: a frame that answers it again is a copy. */
  readonly #answered = new Map<number, Sent<Request>>()

  constructor(parts: ReceiverParts<Request, Reply>) {
    this.#parts = parts
    this.#echo = parts.localEcho === 'auto' ? 'unknown' : parts.localEcho
  }

  /** How many bytes are there that are no whole frame yet. */
  get pending(): number {
    return this.#bytes.length
  }

  get echo(): LocalEcho {
    return this.#echo
  }

  /** The frame that is either the reply or an echo of the request. */
  get twin(): Twin | undefined {
    return this.#twin
  }

  /** How far the last reply taken can be trusted. */
  get doubt(): Doubt {
    return this.#doubt
  }

  /** Whether the line is known to have no echo, and no bytes are there that may begin a frame. */
  get isClear(): boolean {
    return this.#echo === 'absent' && this.#bytes.length === 0
  }

  /** Whether anything came since `begin`. */
  get hasHeard(): boolean {
    return this.#hasHeard
  }

  /** What came since `begin` other than the reply. */
  get heard(): Heard {
    return this.#heard
  }

  /** The line was opened anew, perhaps with another adapter of the same name: discards all that was learned of it. */
  forgetLine(): void {
    this.#bytes = new Uint8Array(0)
    this.#parts.copies.forget()
    this.#answered.clear()
    if (this.#parts.localEcho === 'auto') this.#echo = 'unknown'
  }

  begin(sent: Sent<Request>, isFence = false): void {
    this.#sent = sent
    this.#isFence = isFence
    this.#isEchoSeen = false
    this.#isAmidJunk = false
    this.#hasHeard = false
    this.#twin = undefined
    this.#heard = {}
  }

  /** The last bit of the request is out: replies are timed from here. */
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
    const mostBytes = FRAMES_KEPT * this.#parts.protocol.longestBytes
    if (joined.length <= mostBytes) return
    this.#junk(this.#cutOff(joined.length - mostBytes / 2))
    this.#isAmidJunk = true
  }

  /**
   * Takes whole frames from what has arrived.
   * @param isQuiet silence followed the last byte
   * @returns the proven reply (a refusal is one); bytes behind it stay for the next call
   */
  take(isQuiet: boolean): Reply | undefined {
    for (let cut = this.#next(isQuiet); cut; cut = this.#next(isQuiet)) {
      this.#bytes = this.#bytes.slice(cut.skipped.length + cut.frame.length)
      if (cut.skipped.length > 0) {
        this.#junk(cut.skipped)
        this.#isAmidJunk = true
      }
      if (cut.kind === 'reply') return this.#reply(cut.frame)
      this.#aside(cut)
    }
    return undefined
  }

  /** Discards bytes that became no frame, as junk. */
  discard(): void {
    if (this.#bytes.length > 0) this.#junk(this.#cutOff(this.#bytes.length))
  }

  /** The transaction is over without a reply. @param isSent the request went out, so an echo would have been heard */
  endWithout(isSent: boolean): void {
    this.discard()
    if (isSent && !this.#hasHeard) this.#learn('absent')
    this.#sent = undefined
  }

  /** A twin turned out to be the reply. */
  replyOfTwin(sent: Sent<Request>, { frame }: Twin): Reply {
    const { protocol } = this.#parts
    const reply = protocol.openReply(sent, frame)
    this.#publish(frame, () => protocol.describeReply(reply, 'reply'))
    this.#answer(sent, reply)
    return reply
  }

  /** This frame, perhaps a twin, turned out to be an echo. */
  echoed(sent: Sent<Request>, { frame }: Pick<Twin, 'frame'>): void {
    this.#publish(frame, () => this.#parts.protocol.describeRequest(sent.request, 'echo'))
    this.#parts.counts.echoes++
  }

  #next(isQuiet: boolean): Cut | undefined {
    if (this.#bytes.length === 0) return undefined
    const expecting = {
      framing: this.#parts.protocol,
      sent: this.#sent,
      owed: (unitId: number) => this.#parts.holds.owed(unitId),
      mayBeOwed: (sent: Sent<Request>, frame: Uint8Array) => this.#parts.holds.mayBeOwed(sent, frame),
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

  #reply(frame: Uint8Array): Reply {
    const { clock, copies, protocol } = this.#parts
    const sent = this.#sent as Sent<Request>
    const reply = protocol.openReply(sent, frame)
    if (this.#twin) {
      // The first frame was the echo: a unit replies only once.
      this.echoed(sent, this.#twin)
      this.#learn('present')
    } else if (this.#echo === 'unknown' && !this.#isEchoSeen && Object.keys(this.#heard).length === 0) {
      if (!isPrefixOf(frame, sent.frame)) this.#learn('absent')
    }
    const tookMs = Math.round((clock.monotonicMs() - this.#sentAtMs) * 1000) / 1000
    this.#publish(frame, () => ({ ...protocol.describeReply(reply, 'reply'), tookMs }))
    this.#doubt = copies.doubt(sent, reply)
    if (this.#doubt === 'sure') this.#answer(sent, reply)
    else copies.heard(sent, frame)
    this.#sent = undefined
    return reply
  }

  #answer(sent: Sent<Request>, reply: Reply): void {
    const { copies, holds } = this.#parts
    this.#answered.set(sent.request.unitId, sent)
    copies.note(sent, reply)
    holds.answered(sent, reply, this.#isFence)
  }

  #aside(cut: Cut): void {
    if (cut.kind === 'echo') this.#ownEcho(cut)
    else if (cut.kind === 'twin') {
      this.#twin = { frame: cut.frame, atMs: this.#parts.clock.monotonicMs() }
      this.#isEchoSeen = true
    } else if (cut.kind === 'noise') this.#junk(cut.frame)
    else this.#stray(cut)
  }

  #ownEcho(cut: Cut): void {
    const { protocol } = this.#parts
    const sent = this.#sent as Sent<Request>
    this.#isEchoSeen = true
    if (protocol.isBroadcast(sent.request) || protocol.replyFlaw(sent, cut.frame)) this.#learn('present')
    this.echoed(sent, cut)
  }

  #late({ frame, isInside }: Cut): boolean {
    const { copies, holds, onDoubtSettled, protocol, units } = this.#parts
    const unitId = protocol.unitOf(frame)
    const owed = holds.owed(unitId).find((one) => !protocol.replyFlaw(one, frame))
    if (!owed) return false
    units.spoke(unitId)
    const isRecent = copies.isRecent(frame)
    if (isInside || isRecent) {
      // It may be a copy of a recent reply or the owed reply, or neither, so it settles nothing.
      const reply = protocol.openReply(owed, frame)
      this.#count('strayFrames')
      this.#publish(frame, () => protocol.describeReply(reply, 'late'))
      if (isRecent) onDoubtSettled(owed, reply, false)
      return true
    }
    const late = holds.late(frame, this.#sent?.request.unitId === unitId)
    if (!late) return false
    const { reply, was } = late
    copies.note(late.sent, reply)
    this.#publish(frame, () => protocol.describeReply(reply, was === 'doubted' ? 'reply' : 'late'))
    if (was === 'doubted') onDoubtSettled(late.sent, reply, true)
    else this.#count('lateReplies')
    if (was === 'missed') units.late(unitId, late)
    return true
  }

  #stray(cut: Cut): void {
    const { copies, holds, protocol } = this.#parts
    const { flaw, frame } = cut
    const unitId = protocol.unitOf(frame)
    if (this.#late(cut)) return
    const last = this.#answered.get(unitId)
    if (copies.isRecent(frame)) {
      this.#twice(unitId)
    } else if (last && !protocol.replyFlaw(last, frame)) {
      holds.suspect(last)
      // Two replies to one request: one of them was a copy, or is for another master.
      if (!protocol.isRefusal(frame)) this.#twice(unitId)
    }
    this.#count(flaw ? countOfFlaw[flaw] : 'strayFrames')
    const fault = flaw && protocol.flawFault(flaw, this.#sent, frame)
    this.#publish(frame, () => protocol.describeStray(frame), fault)
  }

  #twice(unitId: number): void {
    this.#parts.counts.copies++
    this.#parts.copies.doubled(unitId)
    this.#parts.units.copied(unitId)
  }

  #junk(bytes: Uint8Array): void {
    const { protocol, units } = this.#parts
    const sent = this.#sent
    const flaw = protocol.junkFlaw(bytes, sent)
    this.#count(flaw ? countOfFlaw[flaw] : 'noiseBytes', flaw ? 1 : bytes.length)
    if (flaw === 'crc' && sent) units.damaged(sent.request.unitId)
    this.#publish(bytes, () => (flaw ? null : { kind: 'noise' }), flaw && protocol.flawFault(flaw, sent, bytes))
  }

  #count(name: keyof BusCounts, by = 1): void {
    this.#parts.counts[name] += by
    this.#heard[name] = (this.#heard[name] ?? 0) + by
  }

  #learn(echo: 'present' | 'absent'): void {
    if (this.#parts.localEcho !== 'auto') return
    // Once seen, an echo is expected until the line is opened anew: where one is missing, noise may have hidden it.
    if (this.#echo !== 'present') this.#echo = echo
  }

  #publish(frame: Uint8Array, decoded: () => object | null, fault?: Fault): void {
    const { counts, protocol, publish } = this.#parts
    counts.rxFrames++
    const seen: SeenFrame = { direction: 'rx', frame, atUs: this.#atUs }
    const payload = () => framePayload(seen, { decoded: decoded(), ...decodeErrorOf(fault) })
    publish('frame', payload, protocol.heldBytesOf(frame))
  }
}
