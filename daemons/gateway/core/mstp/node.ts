/** A node on an MS/TP line: measures silence, sends at its time, and tells what it hears. Runs in a thread of its own. */

import type { Clock, Timer } from '#kit/clock.ts'
import { joinBytes } from '#kit/pure/bytes.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { encodeMstpFrame, FRAME_TYPES, type MstpFrame } from '../../wire/mstp/frame.ts'
import { type MasterEvent, type MasterState, MstpMaster, T_NO_TOKEN_MS } from './master.ts'
import { MstpReceiver, type Received } from './receiver.ts'
import { MstpRequests, type Outgoing, type SendOutcome } from './requests.ts'
import { MstpRing, type RingView } from './ring.ts'
import type { MstpSettings } from './settings.ts'

/** A frame as it was heard or sent, or what was heard in the place of one. */
export interface SeenBytes {
  direction: 'rx' | 'tx'
  bytes: Uint8Array
  /** CLOCK_MONOTONIC, microseconds. */
  atUs: number
  /** Why it is no frame. */
  fault?: { code: string; message: string }
}

interface NodeParts {
  clock: Clock
  baud: number
  settings: MstpSettings
  /** Resolves when the driver has taken the bytes. */
  write(bytes: Uint8Array): Promise<void>
  onSeen(seen: SeenBytes): void
  /** Something that people should see: a lost token, an address twice. */
  onFault(fault: Fault): void
}

/** How the node does, beside its counts. */
export interface NodeView extends RingView {
  /** `listening` in mode listen. */
  state: MasterState | 'listening'
  /** To whom the token is passed; null where nobody is known. */
  nextStation: number | null
  isSoleMaster: boolean
  /** From the last byte of what is answered to the first of the answer: at most 15 ms, Tusage_delay. */
  turnMs: { last: number; max: number } | null
  waiting: number
  fault: { code: string; message: string } | null
}

/** A frame that waits until the line has been silent for Tturnaround. */
interface Waiting {
  bytes: Uint8Array
  /** It answers what was just heard, and after this silence it is worth nothing; infinite of what does not. */
  withinMs: number
  outgoing: Outgoing | undefined
}

/** A byte has a start and a stop bit. @source ANSI/ASHRAE 135-2016, 9.2.3 */
const BITS = 10
/** @source ANSI/ASHRAE 135-2016, 9.5.3 */
const T_TURNAROUND_BITS = 40
/**
 * Silence that ends a frame: 60 bits, but longer than the 16 ms for which USB adapters keep bytes back.
 * @source ANSI/ASHRAE 135-2016, 9.5.3: Tframe_abort, at most 100 ms
 */
const T_FRAME_ABORT = { bits: 60, leastMs: 20 } as const
/**
 * After this the other node has given up: Tusage_timeout of a token and a poll, Treply_delay of a request. What is sent
 * later meets what it sends then.
 * @source ANSI/ASHRAE 135-2016, 9.5.3
 */
const ANSWER_WITHIN_MS: Readonly<Partial<Record<MasterEvent, number>>> = {
  receivedToken: 20,
  receivedPfm: 20,
  reply: 250,
  deferredReply: 250,
}
/** An adapter that hears itself gives back what was sent no later than this after its end. */
const ECHO_MS = 20
/** A ring that breaks again and again is told of once in this time. */
const TELL_LOST_MS = 10_000
/** For so long an address that was heard twice is a fault of the port. */
const DUPLICATE_MS = 60_000
/** So many bytes without one frame are noise, or another baud rate. */
const BABBLE = { bytes: 200, ms: 2000 } as const

const COUNTED: Readonly<Partial<Record<MasterEvent, keyof ReturnType<typeof nodeCounts>>>> = {
  receivedToken: 'tokensReceived',
  sendToken: 'tokensPassed',
  resetMaintenancePfm: 'tokensPassed',
  doneWithPfm: 'tokensPassed',
  receivedReplyToPfm: 'tokensPassed',
  retrySendToken: 'tokensRetried',
  findNewSuccessor: 'successorsLost',
  lostToken: 'tokensLost',
  generateToken: 'tokensMade',
  receivedUnexpectedFrame: 'tokensDropped',
  deferredReply: 'repliesDeferred',
  receivedPfm: 'pollsAnswered',
}

function nodeCounts() {
  return {
    ...{ rxBytes: 0, txBytes: 0, rxFrames: 0, txFrames: 0, noiseBytes: 0 },
    ...{ crcErrors: 0, headerCrcErrors: 0, dataCrcErrors: 0, shortFrames: 0, malformedFrames: 0 },
    ...{ tokensReceived: 0, tokensPassed: 0, tokensRetried: 0, tokensLost: 0, tokensMade: 0, tokensDropped: 0 },
    ...{ successorsLost: 0, pollsAnswered: 0, repliesDeferred: 0, duplicateMacs: 0, echoes: 0 },
    ...{ staleFrames: 0, lateTurns: 0, sendsGivenUp: 0, sendFailures: 0 },
  }
}

const COUNT_OF_FAULT: Readonly<Record<string, keyof ReturnType<typeof nodeCounts>>> = {
  mstp_header_crc: 'headerCrcErrors',
  mstp_data_crc: 'dataCrcErrors',
  mstp_short: 'shortFrames',
}

export class MstpNode {
  readonly #parts: NodeParts
  readonly #receiver: MstpReceiver
  readonly #master: MstpMaster<Outgoing> | undefined
  readonly #requests: MstpRequests
  readonly #ring: MstpRing
  readonly #counts = nodeCounts()
  readonly #turnaroundMs: number
  readonly #frameAbortMs: number
  readonly #mac: number | undefined
  /** End of the last octet on the line, ours too. */
  #lastOctetMs: number
  #timer: Timer | undefined
  #waiting: Waiting[] = []
  /** What was sent last, which an adapter may give back; `at` octets of it have come. */
  #echo: { bytes: Uint8Array; at: number } | undefined
  #turnMs: { last: number; max: number } | null = null
  #answerWithinMs = Number.POSITIVE_INFINITY
  /** The frame is the reply that was waited for. */
  #isTaken = false
  #isLost = false
  #lostToldMs: number | undefined
  /** Bytes since the last whole frame, and since when. */
  #babble: { bytes: number; sinceMs: number } | undefined
  #ended: Fault | undefined

  constructor(parts: NodeParts) {
    const { baud, clock, settings } = parts
    this.#parts = parts
    this.#mac = settings.mode === 'node' ? settings.mac : undefined
    this.#turnaroundMs = (T_TURNAROUND_BITS * 1000) / baud
    this.#frameAbortMs = Math.max(T_FRAME_ABORT.leastMs, (T_FRAME_ABORT.bits * 1000) / baud)
    this.#receiver = new MstpReceiver(this.#mac)
    this.#ring = new MstpRing(clock, this.#mac, settings.node_gone_ms)
    this.#requests = new MstpRequests(clock, {
      ...{ queue: settings.queue, deadlineMs: settings.request_deadline_ms, postponedMs: settings.postponed_ms },
      ...{ lateLimitMs: settings.late_reply_ms, replyTimeoutMs: settings.reply_timeout_ms },
    })
    this.#lastOctetMs = clock.monotonicMs()
    this.#master = settings.mode === 'node' ? this.#newMaster(settings) : undefined
    this.#arm()
  }

  /** @throws Fault `queue_full`, `mstp_reply_owed`, and why the line ended */
  send(frame: MstpFrame): { outcome: Promise<SendOutcome>; withdraw(): void } {
    if (this.#ended) throw this.#ended
    return this.#requests.add(frame)
  }

  counters(): Record<string, number> {
    return { ...this.#counts, ...this.#requests.counts }
  }

  view(): NodeView {
    const fault = this.#fault()
    return {
      ...this.#ring.view(),
      state: this.#master?.state ?? 'listening',
      nextStation: this.#master?.nextStation ?? null,
      isSoleMaster: this.#master?.isSoleMaster ?? false,
      turnMs: this.#turnMs,
      waiting: this.#requests.waiting,
      fault: fault ? { code: fault.code, message: fault.message } : null,
    }
  }

  /** The line is closed or lost. */
  end(fault: Fault): void {
    this.#ended = fault
    this.#timer?.cancel()
    this.#requests.end(fault)
  }

  /** @param atUs when the bytes were read */
  feed(bytes: Uint8Array, atUs: number): void {
    if (this.#ended) return
    this.#counts.rxBytes += bytes.length
    this.#lastOctetMs = atUs / 1000
    const octets = this.#withoutEcho(bytes)
    if (octets.length > 0) this.#heard(octets, atUs)
    this.#arm()
  }

  #heard(octets: Uint8Array, atUs: number): void {
    const isPadding = octets.every((octet) => octet === 0xff)
    // Somebody else speaks: what was to be sent now would meet it.
    if (!isPadding) this.#giveUp()
    this.#isLost = false
    this.#noteBabble(octets.length)
    this.#master?.octets(octets.length)
    const found = this.#receiver.feed(octets)
    const frames = found.filter(({ kind }) => kind !== 'noise')
    const isOpen = this.#receiver.isWithin
    for (const one of found) this.#received(one, { atUs, isFresh: one === frames.at(-1) && !isOpen })
    this.#master?.inUse()
  }

  /** @param isFresh nothing followed it in the same read: by then others may have gone on without us */
  #received(one: Received, { atUs, isFresh }: { atUs: number; isFresh: boolean }): void {
    const { bytes } = one
    if (one.kind === 'frame') {
      this.#counts.rxFrames++
      this.#babble = undefined
      this.#parts.onSeen({ direction: 'rx', bytes, atUs })
      this.#noteDuplicate(one.frame)
      this.#ring.frame(one.frame)
      if (one.isForUs && !isFresh) this.#counts.staleFrames++
      this.#isTaken = false
      this.#master?.frame(one.frame, one.isForUs && isFresh)
      if (!this.#isTaken) this.#requests.indication(one.frame)
      this.#answerWithinMs = Number.POSITIVE_INFINITY
      return
    }
    const { code, message } = one.fault
    if (one.kind === 'noise') this.#counts.noiseBytes += bytes.length
    else {
      this.#counts[COUNT_OF_FAULT[code] ?? 'malformedFrames']++
      if (code.endsWith('_crc')) this.#counts.crcErrors++
      this.#master?.invalidFrame()
    }
    this.#parts.onSeen({ direction: 'rx', bytes, atUs, fault: { code, message } })
  }

  // Time: the silence on the line.

  #silentMs(): number {
    return this.#parts.clock.monotonicMs() - this.#lastOctetMs
  }

  #arm(): void {
    this.#timer?.cancel()
    if (this.#ended) return
    const { clock } = this.#parts
    const silentMs = this.#silentMs()
    const dueMs = this.#dueMs(silentMs)
    if (!Number.isFinite(dueMs)) return
    // Node runs timers before it reads: after a stall the line was perhaps not silent.
    this.#timer = clock.after(Math.max(0, dueMs - silentMs), () => {
      this.#timer = clock.soon(() => this.#onSilence())
    })
  }

  #dueMs(silentMs: number): number {
    if (this.#waiting.length > 0) return this.#turnaroundMs
    const isWithin = this.#receiver.isWithin || (this.#echo?.at ?? 0) > 0
    const abortMs = isWithin ? this.#frameAbortMs : Number.POSITIVE_INFINITY
    return Math.min(abortMs, this.#master?.dueMs(silentMs) ?? (this.#isLost ? Number.POSITIVE_INFINITY : T_NO_TOKEN_MS))
  }

  #onSilence(): void {
    const silentMs = this.#silentMs()
    if (this.#waiting.length > 0) this.#sendWaiting()
    else {
      if (silentMs >= this.#frameAbortMs) this.#abortFrame()
      this.#master?.silence(silentMs)
      if (!this.#master && silentMs >= T_NO_TOKEN_MS) this.#listenerLost()
    }
    this.#arm()
  }

  #abortFrame(): void {
    const atUs = this.#lastOctetMs * 1000
    const held = this.#echo?.bytes.subarray(0, this.#echo.at)
    this.#echo = undefined
    const found = [...(held ? this.#receiver.feed(held) : []), ...this.#receiver.timeout()]
    for (const one of found) this.#received(one, { atUs, isFresh: false })
  }

  #listenerLost(): void {
    if (this.#isLost) return
    this.#isLost = true
    if (this.#counts.rxFrames > 0) this.#tokenLost()
  }

  #tokenLost(): void {
    if (!this.#master) this.#counts.tokensLost++
    this.#ring.lost()
    const nowMs = this.#parts.clock.monotonicMs()
    if (this.#lostToldMs !== undefined && nowMs - this.#lostToldMs < TELL_LOST_MS) return
    this.#lostToldMs = nowMs
    const sentence = `Nobody spoke for ${T_NO_TOKEN_MS} ms: the token is lost. A node makes a new one.`
    this.#parts.onFault(new Fault('mstp_token_lost', sentence))
  }

  // Sending.

  #newMaster(settings: MstpSettings): MstpMaster<Outgoing> {
    const requests = this.#requests
    return new MstpMaster<Outgoing>(
      {
        ...{ mac: settings.mac, maxMaster: settings.max_master, maxInfoFrames: settings.max_info_frames },
        ...{ replyTimeoutMs: settings.reply_timeout_ms, usageTimeoutMs: settings.usage_timeout_ms },
      },
      {
        send: (frame) => this.#queue(frame, undefined),
        sendNext: () => {
          const outgoing = requests.next()
          if (!outgoing) return undefined
          this.#queue(outgoing.frame, outgoing)
          return { outgoing, frame: outgoing.frame }
        },
        onReply: (outgoing, frame) => {
          this.#isTaken = requests.replied(outgoing, frame)
        },
        onPostponed: (outgoing) => requests.postpone(outgoing),
        onNoReply: (outgoing, why) => requests.noReply(outgoing, why),
        onTransition: (event) => this.#transition(event),
      },
    )
  }

  #transition(event: MasterEvent): void {
    const name = COUNTED[event]
    // A node that has just begun has lost nothing.
    const isStart = event === 'lostToken' && this.#counts.rxFrames === 0
    if (name && !isStart) this.#counts[name]++
    this.#answerWithinMs = ANSWER_WITHIN_MS[event] ?? this.#answerWithinMs
    if (event === 'lostToken' && !isStart) this.#tokenLost()
  }

  #queue(frame: MstpFrame, outgoing: Outgoing | undefined): void {
    this.#waiting.push({ bytes: encodeMstpFrame(frame), withinMs: this.#answerWithinMs, outgoing })
    if (this.#waiting.length === 1) this.#sendWaiting()
  }

  #sendWaiting() {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const silentMs = this.#silentMs()
      if (silentMs < this.#turnaroundMs) return
      if (silentMs >= first.withinMs) {
        this.#counts.lateTurns++
        return this.#giveUp()
      }
      this.#waiting.shift()
      if (Number.isFinite(first.withinMs)) this.#noteTurn(silentMs)
      // What follows in the same turn waits for the end of this one.
      for (const next of this.#waiting) next.withinMs = Number.POSITIVE_INFINITY
      this.#write(first)
    }
  }

  #write({ bytes, outgoing }: Waiting): void {
    const { baud, clock, onSeen, write } = this.#parts
    const nowMs = clock.monotonicMs()
    this.#expectEcho(bytes)
    this.#lastOctetMs = nowMs + (bytes.length * BITS * 1000) / baud
    this.#counts.txFrames++
    this.#counts.txBytes += bytes.length
    if (outgoing) this.#requests.sent(outgoing)
    const frameOfOurs = { frameType: bytes[2] ?? 0, destination: bytes[3] ?? 0, source: bytes[4] ?? 0, data: bytes }
    this.#ring.frame(frameOfOurs)
    onSeen({ direction: 'tx', bytes, atUs: nowMs * 1000 })
    write(bytes).catch((error: unknown) => {
      this.#counts.sendFailures++
      if (outgoing) this.#requests.fail(outgoing, faultOf(error, 'line_write_failed', 'The driver took no bytes.'))
    })
  }

  /** What waited is not sent now: another node speaks, or the moment is over. */
  #giveUp(): void {
    if (this.#waiting.length === 0) return
    this.#master?.giveUpTurn()
    for (const { outgoing } of this.#waiting.splice(0).reverse()) {
      this.#counts.sendsGivenUp++
      if (outgoing) this.#requests.putBack(outgoing)
    }
  }

  #noteTurn(silentMs: number): void {
    const last = Math.round(silentMs * 1000) / 1000
    this.#turnMs = { last, max: Math.max(last, this.#turnMs?.max ?? 0) }
  }

  // What is wrong with the line.

  #expectEcho(bytes: Uint8Array): void {
    const before =
      this.#echo && this.#silentMs() < ECHO_MS ? this.#echo.bytes.subarray(this.#echo.at) : new Uint8Array(0)
    this.#echo = { bytes: joinBytes([before, bytes]), at: 0 }
  }

  /** Adapters that hear themselves give back what was sent, before anything else comes. */
  #withoutEcho(bytes: Uint8Array): Uint8Array {
    const echo = this.#echo
    if (!echo) return bytes
    const { at } = echo
    let same = 0
    while (same < bytes.length && at + same < echo.bytes.length && bytes[same] === echo.bytes[at + same]) same++
    if (at + same === echo.bytes.length) {
      this.#echo = undefined
      this.#counts.echoes++
      return bytes.subarray(same)
    }
    if (same === bytes.length) {
      echo.at += same
      return bytes.subarray(same)
    }
    this.#echo = undefined
    const whole = new Uint8Array(at + bytes.length)
    whole.set(echo.bytes.subarray(0, at))
    whole.set(bytes, at)
    return whole
  }

  #noteDuplicate({ frameType, source }: MstpFrame): void {
    if (source !== this.#mac || frameType === FRAME_TYPES.REPLY_POSTPONED) return
    this.#counts.duplicateMacs++
    if (this.#ring.duplicateAgoMs() >= DUPLICATE_MS) this.#parts.onFault(duplicateFault(source))
    this.#ring.duplicate()
  }

  #noteBabble(bytes: number): void {
    this.#babble ??= { bytes: 0, sinceMs: this.#parts.clock.monotonicMs() }
    this.#babble.bytes += bytes
  }

  #fault(): Fault | undefined {
    if (this.#mac !== undefined && this.#ring.duplicateAgoMs() < DUPLICATE_MS) return duplicateFault(this.#mac)
    const babble = this.#babble
    const forMs = babble ? this.#parts.clock.monotonicMs() - babble.sinceMs : 0
    if (!babble || babble.bytes < BABBLE.bytes || forMs < BABBLE.ms || this.#silentMs() > forMs / 2) return undefined
    const sentence = `${babble.bytes} bytes came in ${Math.round(forMs / 1000)} s and not one frame: a node does not stop sending, or the baud rate is another.`
    return new Fault('mstp_no_frames', sentence)
  }
}

function duplicateFault(mac: number): Fault {
  return new Fault(
    'mstp_duplicate_mac',
    `Another node has address ${mac} too. Give this port another mac, or that node.`,
  )
}
