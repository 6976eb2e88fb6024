/** One line on which we are the master: one request at a time, from the silence before it to its outcome. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Line, RelaySocket } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import { BusCopies } from './copies.ts'
import { type BusCounts, type BusFaults, createBusFaults } from './faults.ts'
import { BusHolds } from './holds.ts'
import { createOutcomes, type Outcomes } from './outcomes.ts'
import type { BusProtocol, BusReply, BusRequest, Sent } from './protocol.ts'
import { BusReceiver, type Twin } from './receiver.ts'
import { BusRequests } from './requests.ts'
import type { BusSettings } from './settings.ts'
import {
  type AskHow,
  awaitSilence,
  type BusAsker,
  type BusEvent,
  type BusHooks,
  type BusState,
  expectReply,
  isBelieved,
  nextBusState,
  type ReplyWait,
  type SilenceWait,
  type StepParts,
  sendRequest,
  type Transaction,
  waitForReply,
} from './transactions.ts'
import { BusUnits, type ProofListener, type UnitsFace } from './units.ts'

// The read that shows whether a line echoes our own bytes.

interface TwinParts<Request extends BusRequest, Reply extends BusReply> {
  protocol: Pick<BusProtocol<Request, Reply>, 'echoCheck'>
  outcomes: Outcomes<Request, Reply>
  receiver: BusReceiver<Request, Reply>
  requests: BusRequests<Request, Reply>
  isOpen(): boolean
}

/**
 * One frame came that equals the request: either the unit's reply, or our echo without a reply. A read of the same
 * place shows which, because its echo and its reply differ. This is needed at most once after a line was opened.
 * @see docs/decisions/modbus-frames.md
 */
function checkTwin<Request extends BusRequest, Reply extends BusReply>(
  parts: TwinParts<Request, Reply>,
  transaction: Transaction<Request, Reply>,
  twin: Twin,
): void {
  const { outcomes, protocol, receiver } = parts
  const { sent } = transaction

  function settle(): void {
    if (receiver.echo === 'absent') outcomes.replied(transaction, receiver.replyOfTwin(sent, twin), twin.atMs)
    else {
      receiver.echoed(sent, twin)
      transaction.reject(outcomes.missed(transaction, receiver.heard))
    }
  }

  parts.requests.addUrgent({
    ...transaction,
    sent: protocol.echoCheck(sent),
    resolve: settle,
    reject: (fault) => (parts.isOpen() ? settle() : transaction.reject(fault)),
  })
}

interface BusParts<Request extends BusRequest, Reply extends BusReply> {
  port: string
  baud: number
  /** Silence before each request. */
  gapMs: number
  clock: Clock
  settings: BusSettings
  protocol: BusProtocol<Request, Reply>
  counts: BusCounts
  /** See `whyNotOpen` of the adapter's context. */
  whyNotOpen(): Fault
  publish(event: string, payload: unknown, sizeBytes?: number): void
  hooks: BusHooks<Request, Reply>
}

export class Bus<Request extends BusRequest, Reply extends BusReply> implements BusAsker<Request, Reply> {
  readonly #parts: BusParts<Request, Reply>
  readonly #faults: BusFaults<Request>
  readonly #requests: BusRequests<Request, Reply>
  readonly #holds: BusHolds<Request, Reply>
  readonly #copies: BusCopies<Request, Reply>
  readonly #units: BusUnits<Request, Reply>
  readonly #outcomes: Outcomes<Request, Reply>
  readonly #receiver: BusReceiver<Request, Reply>
  /** What each step of a request needs, made once: it is too much to be copied for each request. */
  readonly #steps: StepParts<Request, Reply>
  #state: BusState = 'closed'
  #line: Line | undefined
  /** The request in flight. */
  #current: Transaction<Request, Reply> | undefined
  #wait: ReplyWait | undefined
  #silence: SilenceWait | undefined
  /** The queued request that the line sends when the silence is over, unless something comes before. */
  #armed: Transaction<Request, Reply> | undefined
  /** Where the line may relay the reply of the request in flight: ends that. */
  #endRelay: (() => void) | undefined
  /** The timer of the current state; those of `waiting` and `receiving` are in `#wait`. */
  #timer: Timer | undefined
  /** Fires when silence has followed bytes that came outside a transaction. */
  #sweepTimer: Timer | undefined
  /** When the last byte was received or sent. */
  #activeMs = 0

  constructor(parts: BusParts<Request, Reply>) {
    const { protocol, settings } = parts
    this.#parts = parts
    this.#faults = createBusFaults(protocol)
    this.#copies = new BusCopies(protocol, parts.clock, settings)
    this.#holds = new BusHolds({ ...parts, copies: this.#copies, onFree: () => this.#pump() })
    this.#units = new BusUnits({
      ...parts,
      ...parts.hooks,
      faults: this.#faults,
      onSilent: (unitId, fault) => this.#requests.clearUnit(unitId, fault),
    })
    const known = { faults: this.#faults, holds: this.#holds, copies: this.#copies, units: this.#units }
    const shared = { ...parts, ...parts.hooks, ...known }
    this.#receiver = new BusReceiver({
      ...shared,
      localEcho: settings.local_echo,
      onDoubtSettled: (sent, reply, isSure) => this.#settleDoubt(sent, reply, isSure),
    })
    this.#outcomes = createOutcomes(shared)
    this.#steps = { ...shared, receiver: this.#receiver, longestBytes: protocol.longestBytes }
    this.#requests = new BusRequests({
      ...shared,
      onReady: () => this.#pump(),
      onLeft: (transaction) => {
        if (transaction === this.#armed) this.#disarm()
      },
    })
  }

  /** How many requests are queued and how many units are held now. */
  get gauges(): { waiting: number; unitsHeld: number } {
    return { waiting: this.#requests.size, unitsHeld: this.#holds.size }
  }

  /** The units asked since this bus was made, without those forgotten. */
  get units(): UnitsFace {
    return {
      list: () => this.#units.list((unitId) => this.#holds.heldForMs(unitId)),
      states: () => this.#units.states(),
      forget: (unitId) => this.#units.forget(unitId),
    }
  }

  get isOpen(): boolean {
    return this.#line !== undefined
  }

  /** Calls the listener with each proven reply. @returns removes the listener */
  onProof(listener: ProofListener<Reply>): () => void {
    return this.#units.onProof(listener)
  }

  /** Nothing is sent for one response timeout: another program may have asked a unit just before. */
  attach(line: Line): void {
    this.#line = line
    this.#holds.resume()
    this.#holds.adopt(this.#parts.hooks.debts?.take(this) ?? [])
    this.#receiver.forgetLine()
    this.#activeMs = this.#parts.clock.monotonicMs()
    this.#move('attached')
    line.onBytes((bytes, atUs) => this.#onBytes(line, bytes, atUs))
    this.#after(this.#parts.settings.response_timeout_ms, () => {
      this.#move('settled')
      this.#pump()
    })
  }

  /** Rejects the queued requests and the one in flight, whose reply is still owed when the line is back. */
  detach(fault = new Fault('line_closed', `${this.#parts.port} was closed.`)): void {
    const failed = this.#current
    if (failed) this.#holds.owe(failed.sent)
    this.#parts.hooks.debts?.leave(this, this.#holds.debts())
    this.#holds.stop()
    this.#units.lineClosed()
    this.#stopTimers()
    this.#line = undefined
    this.#current = undefined
    this.#move('detached')
    this.#receiver.endWithout(false)
    failed?.reject(this.#faults.cutOff(failed.sent.request, fault))
    this.#requests.clear(fault)
  }

  /** See `BusAsker`. */
  exchange(sent: Sent<Request>, how: AskHow): Promise<Reply | null> {
    if (!this.#line) return Promise.reject(this.#parts.whyNotOpen())
    return new Promise((resolve, reject) => {
      const addedAtMs = this.#parts.clock.monotonicMs()
      const transaction = { sent, how, sentAtMs: 0, addedAtMs, resolve, reject }
      if (this.#state === 'idle' && how.outBytes === undefined) this.#endRelay?.()
      this.#requests.add(transaction)
      if (how.outBytes !== undefined) this.#takeOut(transaction, how.outBytes)
      this.#pump()
    })
  }

  /** See `BusAsker`. */
  relayTo(socketFd: number): RelaySocket | undefined {
    return this.#line?.prompt?.relayTo(socketFd)
  }

  /** See `BusAsker`. */
  admit(unitId: number, relay: RelaySocket): void {
    const prompt = this.#line?.prompt
    const isFree = this.#state === 'idle' && this.#requests.size === 0 && this.#receiver.isClear
    if (!prompt || !isFree || !isBelieved(this.#steps, unitId) || this.#units.isSuspect(unitId)) return
    if (this.#holds.isHeld(unitId) || this.#units.isSilent(unitId)) return
    relay.admit(unitId, this.#activeMs + this.#parts.gapMs)
    this.#endRelay = prompt.endRelay
  }

  /** The line has sent it, as `admit` let it. Were another's turn, its reply would be owed, and it would be sent again. */
  #takeOut(transaction: Transaction<Request, Reply>, taken: number): void {
    if (this.#state !== 'idle' || this.#requests.first() !== transaction) {
      this.#holds.owe(transaction.sent)
      return
    }
    this.#move('wanted')
    this.#takeUp(this.#requests.takeFirst(), taken)
  }

  /** See `BusAsker`. */
  async ask(request: Request, how: AskHow): Promise<Reply | null> {
    const reply = await this.exchange(this.#parts.protocol.seal(request), how)
    if (reply?.refusal) throw reply.refusal
    return reply
  }

  /** See `BusAsker`. */
  withdraw(owner: object): void {
    this.#requests.withdraw(owner)
  }

  #move(event: BusEvent): void {
    this.#state = nextBusState(this.#state, event)
  }

  #after(delayMs: number, run: () => void): void {
    this.#timer?.cancel()
    this.#timer = this.#parts.clock.after(delayMs, run)
  }

  #stopTimers(): void {
    this.#timer?.cancel()
    this.#silence?.cancel()
    this.#armed = undefined
    this.#sweepTimer?.cancel()
    this.#wait?.cancel()
    this.#wait = undefined
    this.#endRelay?.()
    this.#endRelay = undefined
  }

  #pump(): void {
    if (this.#state === 'idle' && this.#requests.hasNext()) this.#awaitSilence()
    // Another may go first by now.
    else if (this.#armed && this.#armed !== this.#requests.first()) this.#disarm()
  }

  #disarm(): void {
    this.#armed = undefined
    this.#silence?.decideLater()
  }

  #arm(): Uint8Array | undefined {
    this.#armed = this.#receiver.pending > 0 ? undefined : this.#requests.first()
    return this.#armed?.sent.frame
  }

  /**
   * Waits until a frame that is arriving has ended. What is received meanwhile may put a unit on hold: the request is
   * then chosen again.
   */
  #awaitSilence(): void {
    const { clock, counts, settings } = this.#parts
    this.#move('wanted')
    this.#timer?.cancel()
    this.#silence = awaitSilence({
      clock,
      prompt: this.#line?.prompt,
      silentAtMs: () => this.#activeMs + (this.#receiver.pending > 0 ? settings.byte_gap_ms : this.#parts.gapMs),
      limitMs: settings.response_timeout_ms + settings.byte_gap_ms,
      chosen: () => this.#arm(),
      onSent: (taken) => this.#takeUp(this.#requests.takeFirst(), taken),
      onSilent: () => this.#send(this.#requests.next()),
      onBusy: (waitedMs) => {
        const transaction = this.#requests.next()
        counts.lineBusy++
        const tell = () =>
          transaction && this.#requests.giveUp(transaction, this.#faults.lineBusy(transaction.sent.request, waitedMs))
        this.#finish('givenUp', tell)
      },
    })
  }

  #send(transaction: Transaction<Request, Reply> | undefined): void {
    const doubted = transaction?.doubted
    if (doubted) {
      this.#copies.proved(transaction.sent.request.unitId)
      this.#finish('givenUp', () => this.#outcomes.replied(transaction, doubted.reply, doubted.atMs))
      return
    }
    this.#takeUp(transaction)
  }

  /** @param taken how many of its bytes the line has sent already */
  #takeUp(transaction: Transaction<Request, Reply> | undefined, taken?: number): void {
    const line = this.#line
    if (!line || !transaction) {
      this.#finish('givenUp')
      return
    }
    this.#current = transaction
    this.#stopTimers()
    this.#receiver.discard()
    this.#receiver.begin(transaction.sent, transaction.isFence)
    if (!this.#parts.protocol.isBroadcast(transaction.sent.request)) this.#units.sent(transaction)
    this.#move('silent')
    const sending = sendRequest(this.#steps, line, transaction, taken)
    if (typeof sending === 'number') this.#onSent(transaction, sending)
    else
      sending.then(
        (atMs) => this.#onSent(transaction, atMs),
        (fault) => this.#onNotSent(transaction, fault),
      )
  }

  #onNotSent(transaction: Transaction<Request, Reply>, fault: Fault): void {
    if (transaction !== this.#current || this.#state !== 'sending') return
    this.#receiver.endWithout(false)
    this.#outcomes.notSent(transaction)
    this.#finish('givenUp', () => transaction.reject(fault))
  }

  #onSent(transaction: Transaction<Request, Reply>, atMs: number): void {
    if (transaction !== this.#current || this.#state !== 'sending') return
    const { clock, protocol, settings } = this.#parts
    transaction.sentAtMs = atMs
    this.#activeMs = Math.max(this.#activeMs, atMs)
    this.#receiver.markSent(atMs)
    if (protocol.isBroadcast(transaction.sent.request)) {
      this.#move('sentToAll')
      this.#after(atMs - clock.monotonicMs() + settings.turnaround_ms, () => this.#turned(transaction))
      return
    }
    this.#move('sent')
    this.#wait = waitForReply(this.#steps, atMs, {
      onReply: (reply) => this.#answered(transaction, reply),
      onNone: () => this.#onNone(transaction),
    })
    this.#endRelay = expectReply(this.#steps, this.#line?.prompt, transaction)
    if (this.#receiver.pending > 0) this.#look()
  }

  #turned(transaction: Transaction<Request, Reply>): void {
    this.#receiver.take(true)
    this.#receiver.endWithout(true)
    this.#copies.wrote(transaction.sent)
    this.#finish('turned', () => this.#outcomes.turned(transaction))
  }

  #onBytes(line: Line, bytes: Uint8Array, atUs: number): void {
    if (line !== this.#line || bytes.length === 0) return
    this.#activeMs = this.#parts.clock.monotonicMs()
    this.#receiver.feed(bytes, atUs)
    if (this.#wait) this.#look()
    else if (this.#state !== 'sending') this.#sweep()
  }

  #look(): void {
    const wait = this.#wait
    wait?.look()
    if (wait === this.#wait) this.#move(this.#receiver.pending > 0 ? 'heard' : 'cleared')
  }

  /** Outside a transaction nothing is expected: frames are late or stray, other bytes become noise after a pause. */
  #sweep(): void {
    this.#receiver.take(false)
    this.#sweepTimer?.cancel()
    if (this.#receiver.pending === 0) return
    this.#sweepTimer = this.#parts.clock.after(this.#parts.settings.byte_gap_ms, () => {
      this.#receiver.take(true)
      this.#receiver.discard()
    })
  }

  #onNone(transaction: Transaction<Request, Reply>): void {
    const { twin } = this.#receiver
    this.#receiver.endWithout(true)
    if (twin) this.#checkTwin(transaction, twin)
    else this.#fail(transaction)
  }

  #checkTwin(transaction: Transaction<Request, Reply>, twin: Twin): void {
    const { counts, protocol } = this.#parts
    const parts = { protocol, outcomes: this.#outcomes, receiver: this.#receiver, requests: this.#requests }
    counts.echoChecks++
    checkTwin({ ...parts, isOpen: () => this.isOpen }, transaction, twin)
    this.#finish('givenUp')
  }

  #answered(transaction: Transaction<Request, Reply>, reply: Reply): void {
    const atMs = this.#parts.clock.monotonicMs()
    const { doubt } = this.#receiver
    if (doubt === 'sure') this.#finish('answered', () => this.#outcomes.replied(transaction, reply, atMs))
    else this.#finish('answered', () => this.#putBack(transaction, doubt === 'fence' ? { reply, atMs } : undefined))
  }

  /** The reply may be a copy of an earlier one: the bus finds out before it tells the caller. */
  #putBack(transaction: Transaction<Request, Reply>, doubted: Transaction<Request, Reply>['doubted']): void {
    const { counts, settings } = this.#parts
    const { isFence, sent } = transaction
    counts.doubts++
    this.#holds.doubt(sent, doubted ? 0 : settings.copy_window_ms)
    // The request behind a fence is still queued, and gets another fence.
    if (!isFence) this.#requests.putBack({ ...transaction, doubted })
  }

  /** A second reply came to a request that was put back. If it is no copy, it is the real reply. */
  #settleDoubt(sent: Sent<Request>, reply: Reply, isSure: boolean): void {
    const { clock, counts, protocol } = this.#parts
    const { unitId } = sent.request
    const transaction = this.#requests.inFront(unitId)
    if (transaction?.sent.frame !== sent.frame) return
    const isWrite = protocol.isWrite(sent.request)
    // A refusal of the same function may just as well answer the fence, so the read is sent again.
    const isOfFence = reply.isRefusal && !isWrite
    if (!isOfFence) {
      counts.copies++
      this.#copies.doubled(unitId)
      this.#units.copied(unitId)
    }
    if (isSure && !isOfFence) {
      this.#requests.takeFromFront(unitId)
      this.#outcomes.replied(transaction, reply, clock.monotonicMs())
    } else if (!isWrite) transaction.doubted = undefined
  }

  #fail(transaction: Transaction<Request, Reply>): void {
    const fault = this.#outcomes.missed(transaction, this.#receiver.heard)
    this.#finish('givenUp', () => transaction.reject(fault))
  }

  /** Ends the transaction: processes what came behind the reply, then starts the next request. */
  #finish(event: BusEvent, tell?: () => void): void {
    this.#stopTimers()
    this.#current = undefined
    this.#move(event)
    tell?.()
    this.#sweep()
    this.#pump()
  }
}
