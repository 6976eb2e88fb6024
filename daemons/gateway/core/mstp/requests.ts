/** Frames that callers ask to be sent: they wait for the token, and for the reply, now or when the other node has it. */
import type { Clock, Timer } from '#kit/clock.ts'
import { isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { expectsReply, FRAME_TYPES, frameTypeName, isReply, type MstpFrame } from '../../wire/mstp/frame.ts'
import { isAnswer, npduOf } from '../../wire/mstp/npdu.ts'

export interface RequestLimits {
  /** Frames that wait for the token, or for their reply. */
  queue: number
  /** How long one waits for the token. */
  deadlineMs: number
  /** How long a reply that was postponed is waited for. */
  postponedMs: number
  /** How long a reply that did not come may still come. */
  lateLimitMs: number
  /** How long a reply is waited for with the token, for the sentence. */
  replyTimeoutMs: number
}

/** What came of a frame. */
export interface SendOutcome {
  /** How long it waited for the token. */
  waitedMs: number
  /** Null if none is expected. */
  reply: MstpFrame | null
  /** From the frame to its reply. */
  tookMs: number | null
  isPostponed: boolean
}

/** One frame under way. */
export interface Outgoing {
  readonly frame: MstpFrame
  readonly invokeId: number | undefined
  /** Behind a router: who asked, to whom the answer goes. */
  readonly asker: string | undefined
  readonly askedMs: number
  readonly settle: PromiseWithResolvers<SendOutcome>
  sentMs: number
  isPostponed: boolean
  isOver: boolean
  timer: Timer | undefined
}

/** A reply that may still come, though nobody waits for it. */
interface Owed {
  asked: Asked
  untilMs: number
}

/** What an answer is known by. */
type Asked = Pick<Outgoing, 'frame' | 'invokeId' | 'asker'>

/** Replies that may still come: more are not remembered. */
const MOST_OWED = 1024

export class MstpRequests {
  readonly #clock: Clock
  readonly #limits: RequestLimits
  readonly #queue: Outgoing[] = []
  /** Taken for the token: about to be sent, or sent with the reply still to come. */
  readonly #open = new Set<Outgoing>()
  /** The oldest first. */
  readonly #owed = new Map<string, Owed>()
  readonly counts = { requests: 0, replies: 0, timeouts: 0, badReplies: 0, postponed: 0, lateReplies: 0 }

  constructor(clock: Clock, limits: RequestLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  get waiting(): number {
    return this.#queue.length
  }

  /**
   * Puts a frame into the queue.
   * @returns its outcome, and `withdraw` for a caller who leaves
   * @throws Fault `queue_full`, `mstp_reply_owed`
   */
  add(frame: MstpFrame): { outcome: Promise<SendOutcome>; withdraw(): void } {
    const { queue } = this.#limits
    if (this.#queue.length + this.#open.size >= queue)
      throw new Fault('queue_full', `${queue} frames wait for the token or for their reply already.`, {
        details: { retryAfterMs: 1000 },
      })
    const { from: asker, invokeId } = npduOf(frame) ?? {}
    this.#refuseMistakable({ frame, invokeId, asker })
    const outgoing: Outgoing = {
      frame,
      invokeId,
      asker,
      askedMs: this.#clock.monotonicMs(),
      settle: Promise.withResolvers<SendOutcome>(),
      sentMs: 0,
      isPostponed: false,
      isOver: false,
      timer: undefined,
    }
    this.#awaitTurn(outgoing)
    this.#queue.push(outgoing)
    return { outcome: outgoing.settle.promise, withdraw: () => this.#withdraw(outgoing) }
  }

  /** The next one for the token: those asked here come before those of a router, of which there may be very many. */
  next(): Outgoing | undefined {
    const first = this.#queue.findIndex(({ asker }) => asker === undefined)
    const [outgoing] = this.#queue.splice(Math.max(0, first), 1)
    if (!outgoing) return undefined
    outgoing.timer?.cancel()
    this.#open.add(outgoing)
    return outgoing
  }

  /** It was not sent, as its moment had passed: it is the next one again. */
  putBack(outgoing: Outgoing): void {
    if (outgoing.isOver) return
    this.#open.delete(outgoing)
    this.#awaitTurn(outgoing)
    this.#queue.unshift(outgoing)
  }

  #awaitTurn(outgoing: Outgoing): void {
    const { deadlineMs } = this.#limits
    const waitedMs = this.#clock.monotonicMs() - outgoing.askedMs
    outgoing.timer = this.#clock.after(deadlineMs - waitedMs, () => this.fail(outgoing, noToken(deadlineMs)))
  }

  /** The driver has taken it. */
  sent(outgoing: Outgoing): void {
    outgoing.sentMs = this.#clock.monotonicMs()
    this.counts.requests++
    // Who asked may have left while it waited for its turnaround: its answer comes all the same.
    if (outgoing.isOver) this.#owe(outgoing)
    else if (!expectsReply(outgoing.frame)) this.#done(outgoing, null)
  }

  /** @returns whether it is the answer; if not, that is still waited for */
  replied(outgoing: Outgoing, frame: MstpFrame): boolean {
    if (outgoing.isOver) return false
    if (isAnswerTo(outgoing, frame)) {
      this.#done(outgoing, frame)
      return true
    }
    this.#awaitLonger(outgoing)
    return false
  }

  postpone(outgoing: Outgoing): void {
    if (outgoing.isOver) return
    this.counts.postponed++
    this.#awaitLonger(outgoing)
  }

  /** A frame that is for us: perhaps a reply that was postponed. */
  indication(frame: MstpFrame) {
    if (!isReply(frame)) return
    for (const outgoing of this.#open)
      if (outgoing.isPostponed && isAnswerTo(outgoing, frame)) return this.#done(outgoing, frame)
    for (const [key, { asked }] of this.#owed)
      if (isAnswerTo(asked, frame)) {
        this.#owed.delete(key)
        this.counts.lateReplies++
        return
      }
  }

  noReply(outgoing: Outgoing, why: 'timeout' | 'damaged' | 'unexpected'): void {
    if (outgoing.isOver) return
    this.fail(outgoing, noReplyFault(outgoing.frame, why, this.#limits.replyTimeoutMs))
  }

  /** It was not sent, or nothing came of it. */
  fail(outgoing: Outgoing, fault: Fault): void {
    if (outgoing.isOver) return
    if (outgoing.sentMs > 0) this.counts[fault.code === 'mstp_timeout' ? 'timeouts' : 'badReplies']++
    this.#owe(outgoing)
    this.#end(outgoing)
    outgoing.settle.reject(fault)
  }

  /** The line is closed or lost. */
  end(fault: Fault): void {
    for (const outgoing of [...this.#queue, ...this.#open]) this.fail(outgoing, fault)
  }

  #withdraw(outgoing: Outgoing): void {
    this.fail(outgoing, new Fault('mstp_withdrawn', 'Who asked left before the reply came.'))
  }

  #awaitLonger(outgoing: Outgoing): void {
    const { postponedMs } = this.#limits
    outgoing.isPostponed = true
    outgoing.timer = this.#clock.after(postponedMs, () => {
      const sentence = `Node ${outgoing.frame.destination} postponed its reply and did not send it within ${durationText(postponedMs)}.`
      this.fail(outgoing, new Fault('mstp_timeout', sentence, { details: { waitedMs: postponedMs } }))
    })
  }

  #done(outgoing: Outgoing, reply: MstpFrame | null): void {
    const nowMs = this.#clock.monotonicMs()
    this.#end(outgoing)
    if (reply) this.counts.replies++
    outgoing.settle.resolve({
      waitedMs: outgoing.sentMs - outgoing.askedMs,
      reply,
      tookMs: reply && nowMs - outgoing.sentMs,
      isPostponed: outgoing.isPostponed,
    })
  }

  #end(outgoing: Outgoing): void {
    outgoing.isOver = true
    outgoing.timer?.cancel()
    this.#open.delete(outgoing)
    const at = this.#queue.indexOf(outgoing)
    if (at >= 0) this.#queue.splice(at, 1)
  }

  // Nodes do not number their frames; a BACnet request has a number, which its answer repeats. So a request that could
  // be answered by what another one is owed is refused.

  #refuseMistakable(asked: Asked): void {
    const { frame, invokeId } = asked
    if (!expectsReply(frame)) return
    const key = keyOf(asked)
    const nowMs = this.#clock.monotonicMs()
    const owed = this.#owed.get(key)
    const open = [...this.#queue, ...this.#open].find((other) => expectsReply(other.frame) && keyOf(other) === key)
    const untilMs = owed ? owed.untilMs : nowMs + this.#limits.lateLimitMs
    const data = open?.frame.data ?? (owed && nowMs < owed.untilMs ? owed.asked.frame.data : undefined)
    // Asked again in the same words, a late answer is as good.
    if (data === undefined || isSameBytes(data, frame.data)) return
    const what =
      invokeId === undefined
        ? 'a request that has no invoke id either'
        : `the request before with invoke id ${invokeId}`
    const remedy = invokeId === undefined ? 'wait' : 'use another invoke id, or wait'
    const retryAfterMs = Math.max(1, Math.round(untilMs - nowMs))
    const sentence = `Node ${frame.destination} may still answer ${what}, and its answer could be taken for this one: ${remedy}.`
    throw new Fault('mstp_reply_owed', sentence, { details: { retryAfterMs } })
  }

  #owe({ asker, frame, invokeId, sentMs }: Outgoing): void {
    if (sentMs === 0 || !expectsReply(frame)) return
    const nowMs = this.#clock.monotonicMs()
    for (const [key, { untilMs }] of this.#owed) {
      if (untilMs > nowMs && this.#owed.size < MOST_OWED) break
      this.#owed.delete(key)
    }
    const key = keyOf({ frame, invokeId, asker })
    this.#owed.delete(key)
    this.#owed.set(key, { asked: { frame, invokeId, asker }, untilMs: nowMs + this.#limits.lateLimitMs })
  }
}

function keyOf({ asker, frame: { destination, source }, invokeId }: Asked): string {
  return `${destination} ${source} ${asker ?? ''} ${invokeId ?? '-'}`
}

/** Whether a frame answers a request: from whom, to whom, of its kind, and with its invoke id if it has one. */
function isAnswerTo({ asker, frame: asked, invokeId }: Asked, frame: MstpFrame): boolean {
  if (frame.source !== asked.destination || frame.destination !== asked.source) return false
  const isTest = asked.frameType === FRAME_TYPES.TEST_REQUEST
  if (isTest !== (frame.frameType === FRAME_TYPES.TEST_RESPONSE) || !isReply(frame)) return false
  if (invokeId === undefined) return true
  const said = npduOf(frame)
  return said !== undefined && isAnswer(said) && said.invokeId === invokeId && said.to === asker
}

function noToken(deadlineMs: number): Fault {
  const sentence = `The node had no token within ${durationText(deadlineMs)}, so the frame was not sent: the ring is being built, or broken.`
  return new Fault('mstp_no_token', sentence, { details: { waitedMs: deadlineMs } })
}

function noReplyFault({ destination, frameType }: MstpFrame, why: string, waitedMs: number): Fault {
  const name = frameTypeName(frameType)
  if (why === 'timeout')
    return new Fault('mstp_timeout', `Node ${destination} did not answer ${name} within ${waitedMs} ms.`, {
      details: { destination, waitedMs },
    })
  if (why === 'damaged')
    return new Fault('mstp_bad_reply', `What node ${destination} answered to ${name} was damaged.`, {
      details: { destination },
    })
  return new Fault(
    'mstp_token_dropped',
    `Another node spoke while node ${destination} was to answer ${name}: there may be two tokens. This node let go of its own.`,
    { details: { destination } },
  )
}
