/**
 * What a protocol gives the bus, so that its requests get turns, timeouts, fences against late answers, a breaker for each
 * unit, and polling. A protocol is a value of `BusProtocol`: pure functions, no state, no clock.
 *
 * `Request` is what one request asks, `Reply` what one proven answer says; the bus looks into neither beyond what is
 * named here.
 */
import type { Fault } from '#kit/pure/fault.ts'

/** What every request says: whom it asks. */
export interface BusRequest {
  readonly unitId: number
}

/** A request with the bytes that go out. */
export interface Sent<Request extends BusRequest> {
  readonly frame: Uint8Array
  readonly request: Request
}

/** A proven answer, decoded once, when it was proven. */
export interface BusReply {
  readonly frame: Uint8Array
  /** What whoever asked is told where the unit refused; null where it did as it was asked. */
  readonly refusal: Fault | null
}

/** Bytes a frame needs in all, or that more bytes must come to know, or that these bytes begin no such frame. */
export type Need = number | 'more' | 'impossible'

/** Why a frame is not the answer to a request. */
export type ReplyFlaw = 'crc' | 'wrong_unit' | 'wrong_function' | 'short' | 'long' | 'mismatch' | 'malformed'

/** Why a request came to nothing, whatever the protocol. */
export type BusFaultKind = 'noReply' | 'badReply' | 'unitSilent' | 'expired' | 'withdrawn' | 'lineBusy' | 'sendTimeout'

/** What a frame of the line was, in words; the protocol adds what it says. */
export type FrameRole = 'reply' | 'late' | 'stray'

/** A request that may still be answered. */
export interface Outstanding<Request extends BusRequest> extends Sent<Request> {
  /** Its refusal may still come; where not, its values may: a refusal is not always the answer to what was asked. */
  readonly mayRefuse: boolean
  readonly isFence: boolean
}

/** How requests are made, and what can be known of one without asking. */
interface Requests<Request extends BusRequest> {
  /** The request as it goes out. @throws Fault where it has no frame */
  seal(request: Request): Sent<Request>
  /** What a frame of ours asks: of one that was kept by `withoutValues`. */
  reopen(frame: Uint8Array): Request
  /** The request without what its frame says already: hundreds are kept, and values are large. */
  withoutValues(request: Request): Request
  /** Nobody answers it. */
  isBroadcast(request: Request): boolean
  isWrite(request: Request): boolean
  /** Sent anew, it does nothing that the first did not. */
  isRepeatable(request: Request): boolean
  /** Units on the line: the words that a sentence for a user has of it, such as "Read Coils". */
  nameOf(request: Request): string
  /** What `details` of a fault say of it. */
  detailsOf(request: Request): Readonly<Record<string, unknown>> & { readonly unitId: number }
  /** What `decoded` of a `frame` event says. */
  describeRequest(request: Request, role: 'request' | 'echo'): object
}

/** How bytes become the answer to a request: match, not mine, broken. */
interface Replies<Request extends BusRequest, Reply extends BusReply> {
  /** Bytes of the longest frame, either way. */
  readonly longestBytes: number
  /** Who a frame is of. */
  unitOf(frame: Uint8Array): number
  /** How long the right answer is that begins with these bytes. */
  replyLength(sent: Sent<Request>, head: Uint8Array): Need
  /** How long anybody's frame is that begins with these bytes; `more` where only silence ends it. */
  frameLength(head: Uint8Array): Need
  /** Whether its checksum is right, or whatever proves a frame. */
  isWhole(frame: Uint8Array): boolean
  /** Whether these bytes, between two silences, are a whole frame of a unit, known or not. */
  isFrameAlone(bytes: Uint8Array): boolean
  /** What makes this frame not the answer to that request; undefined where it is (a refusal is an answer). */
  replyFlaw(sent: Sent<Request>, frame: Uint8Array): ReplyFlaw | undefined
  /** What bytes that came to nothing were, as an answer to the request; undefined for plain noise. */
  junkFlaw(bytes: Uint8Array, sent: Sent<Request> | undefined): ReplyFlaw | undefined
  /** What a flaw means, for the `frame` event. */
  flawFault(flaw: ReplyFlaw, sent: Sent<Request> | undefined, frame: Uint8Array): Fault
  isRefusal(frame: Uint8Array): boolean
  /** A refusal by the unit itself, which has read the request: it answers in order, so nothing older is to come. */
  isOwnRefusal(frame: Uint8Array): boolean
  /** Decodes a proven answer. */
  openReply(sent: Sent<Request>, frame: Uint8Array): Reply
  /** What `decoded` of a `frame` event says. */
  describeReply(reply: Reply, role: FrameRole): object
  /** The same of a whole frame that answers nothing. */
  describeStray(frame: Uint8Array): object
  /** What keeping the event of a frame holds, bytes. */
  heldBytesOf(frame: Uint8Array): number
}

/** How answers that come late or twice are told from the one that is waited for. */
interface Doubts<Request extends BusRequest, Reply extends BusReply> {
  /** Whether some frame, a refusal apart, would do as the answer to either. */
  isMistakable(one: Sent<Request>, other: Sent<Request>): boolean
  /** A read that changes nothing: known to be answered, it may be asked again as a fence. */
  isFence(request: Request): boolean
  /**
   * Chooses the read that clears what a unit owes, on behalf of a request that could be mistaken for it. Never a write.
   * @param known reads that the unit has answered, the latest first
   * @returns undefined where each could be taken for something owed
   */
  fenceFor(
    asked: Sent<Request>,
    owed: readonly Outstanding<Request>[],
    known: readonly Sent<Request>[],
  ): Sent<Request> | undefined
  /** A read whose echo and answer differ, of the place that the request is about: it shows whether the line has an echo. */
  echoCheck(sent: Sent<Request>): Sent<Request>
  /** The answer to a write, known before it comes; undefined where an answer carries values of the unit. */
  knownReply(sent: Sent<Request>): Uint8Array | undefined
  /** Whether an answer denies what was written meanwhile. @param write of this unit, or a broadcast */
  denies(reply: Reply, sent: Sent<Request>, write: Request): boolean
}

/** One protocol of requests and answers on a shared line. */
export interface BusProtocol<Request extends BusRequest, Reply extends BusReply>
  extends Requests<Request>,
    Replies<Request, Reply>,
    Doubts<Request, Reply> {
  /** The fault of this kind, with the protocol's own code. */
  fault(kind: BusFaultKind, sentence: string, options?: ConstructorParameters<typeof Fault>[2]): Fault
}
