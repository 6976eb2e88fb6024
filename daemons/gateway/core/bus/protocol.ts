/**
 * What a protocol gives the bus. The bus then adds the queue, time-outs, fences against late replies, a circuit breaker
 * for each unit, and polling. A protocol is a value of `BusProtocol`: pure functions, no state, no clock.
 *
 * `Request` is the content of one request, `Reply` the content of one proven reply. The bus reads no field of either
 * beyond those named here.
 */
import type { ExpectedFrame } from '#kit/line/line.ts'
import type { Fault } from '#kit/pure/fault.ts'

/** What every request has: the unit it is for. */
export interface BusRequest {
  readonly unitId: number
}

/** A request with the bytes that are sent. */
export interface Sent<Request extends BusRequest> {
  readonly frame: Uint8Array
  readonly request: Request
}

/** A proven reply. It is decoded at most once, when somebody asks for what it says. */
export interface BusReply {
  readonly frame: Uint8Array
  /** The unit refused. Asked of each reply, so it costs no decoding. */
  readonly isRefusal: boolean
  /** The fault that the caller gets where the unit refused; null where the unit did what was asked. */
  readonly refusal: Fault | null
}

/**
 * The length of the whole frame, bytes; `more`: it takes more bytes to tell; `impossible`: no such frame begins like
 * this.
 */
export type Need = number | 'more' | 'impossible'

/** Why a frame is not the reply to a request. */
export type ReplyFlaw = 'crc' | 'wrong_unit' | 'wrong_function' | 'short' | 'long' | 'mismatch' | 'malformed'

/** Why a request failed, in any protocol. */
export type BusFaultKind = 'noReply' | 'badReply' | 'unitSilent' | 'expired' | 'withdrawn' | 'lineBusy' | 'sendTimeout'

/** What a received frame was. The protocol adds its content. */
export type FrameRole = 'reply' | 'late' | 'stray'

/** A request that may still be answered. */
export interface Outstanding<Request extends BusRequest> extends Sent<Request> {
  /** A refusal may still come. False: only values may, as the refusal seen may have been for another request. */
  readonly mayRefuse: boolean
  readonly isFence: boolean
}

/** How requests are built, and what can be told from a request alone. */
interface Requests<Request extends BusRequest> {
  /** Builds the frame of a request. @throws Fault where the request has no frame */
  seal(request: Request): Sent<Request>
  /** The whole request, where only its frame and what `withoutValues` leaves were kept. */
  reopen(kept: Sent<Request>): Request
  /** The request without what its frame contains as well: hundreds are kept, and values are large. */
  withoutValues(request: Request): Request
  /** Whether it is a broadcast, to which no unit replies. */
  isBroadcast(request: Request): boolean
  isWrite(request: Request): boolean
  /** Whether repeating it has no further effect. */
  isRepeatable(request: Request): boolean
  /** Its name in sentences for users, such as "Read Coils". */
  nameOf(request: Request): string
  /** What the `details` of a fault tell about it. */
  detailsOf(request: Request): Readonly<Record<string, unknown>> & { readonly unitId: number }
  /** The `decoded` part of a `frame` event. */
  describeRequest(request: Request, role: 'request' | 'echo'): object
}

/** How bytes become the reply to a request: a match, another's frame, or a damaged one. */
interface Replies<Request extends BusRequest, Reply extends BusReply> {
  /** Bytes of the longest frame, either way. */
  readonly longestBytes: number
  /** Bytes of the shortest frame, either way. */
  readonly shortestBytes: number
  /** The unit that sent the frame. */
  unitOf(frame: Uint8Array): number
  /** The length of the right reply, if it begins with these bytes. */
  replyLength(sent: Sent<Request>, head: Uint8Array): Need
  /** The length of a frame of any unit that begins with these bytes; `more` if only silence ends it. */
  frameLength(head: Uint8Array): Need
  /** Whether its checksum, or whatever else proves a frame, is right. */
  isWhole(frame: Uint8Array): boolean
  /** Whether these bytes, between two silences, are a whole frame of a unit, known or not. */
  isFrameAlone(bytes: Uint8Array): boolean
  /** Why this frame is not the reply to that request; undefined where it is the reply (a refusal is a reply). */
  replyFlaw(sent: Sent<Request>, frame: Uint8Array): ReplyFlaw | undefined
  /** What is wrong with bytes that formed no frame, as a reply to the request; undefined for plain noise. */
  junkFlaw(bytes: Uint8Array, sent: Sent<Request> | undefined): ReplyFlaw | undefined
  /** The fault that the `frame` event shows for a flaw. */
  flawFault(flaw: ReplyFlaw, sent: Sent<Request> | undefined, frame: Uint8Array): Fault
  isRefusal(frame: Uint8Array): boolean
  /** A refusal by the unit itself, which has read the request. It replies in order, so nothing older is to come. */
  isOwnRefusal(frame: Uint8Array): boolean
  /** Decodes a proven reply. */
  openReply(sent: Sent<Request>, frame: Uint8Array): Reply
  /** The `decoded` part of a `frame` event. */
  describeReply(reply: Reply, role: FrameRole): object
  /** The same for a stray frame: a whole one that answers nothing. */
  describeStray(frame: Uint8Array): object
  /** The memory that the kept event of a frame takes, bytes. */
  heldBytesOf(frame: Uint8Array): number
}

/** How to tell the expected reply from replies that come late or twice. */
interface Doubts<Request extends BusRequest, Reply extends BusReply> {
  /** Whether some frame, other than a refusal, would be valid as the reply to both. */
  isMistakable(one: Sent<Request>, other: Sent<Request>): boolean
  /**
   * Whether a reply to one is as good for the other, as where a unit repeats its last telegram when it is asked for it
   * again; left out: never.
   */
  isRepeat?(one: Sent<Request>, other: Sent<Request>): boolean
  /** Whether it is a read that changes nothing. Once a unit has answered it, it can be sent again as a fence. */
  isFence(request: Request): boolean
  /**
   * Chooses a fence to send before a request whose reply could be confused with one the unit still owes. Never a write.
   * @param known reads that the unit has answered, the latest first
   * @returns undefined where the reply to every candidate could be confused with one that is owed
   */
  fenceFor(
    asked: Sent<Request>,
    owed: readonly Outstanding<Request>[],
    known: readonly Sent<Request>[],
  ): Sent<Request> | undefined
  /** A read of the place that the request is about. Its echo and reply differ, so it shows whether the line echoes. */
  echoCheck(sent: Sent<Request>): Sent<Request>
  /**
   * What the reply to a request is sure to look like, a refusal apart; left out, or undefined: that cannot be said, or its
   * checksum is not that of Modbus.
   */
  expectedReply?(sent: Sent<Request>): ExpectedFrame | undefined
  /** The reply to a write, known in advance; undefined where the reply carries values of the unit. */
  knownReply(sent: Sent<Request>): Uint8Array | undefined
  /** Whether a reply contradicts a write made in the meantime. @param write a write to this unit, or a broadcast */
  denies(reply: Reply, sent: Sent<Request>, write: Request): boolean
}

/** One request-and-reply protocol on a shared line. */
export interface BusProtocol<Request extends BusRequest, Reply extends BusReply>
  extends Requests<Request>,
    Replies<Request, Reply>,
    Doubts<Request, Reply> {
  /** Makes the fault of this kind, with the protocol's own code. */
  fault(kind: BusFaultKind, sentence: string, options?: ConstructorParameters<typeof Fault>[2]): Fault
}
