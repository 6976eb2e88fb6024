/** One Modbus line with us as its master: one request at a time, from silence to what came of it. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Line } from '#kit/line/line.ts'
import { Fault } from '#kit/pure/fault.ts'
import { exceptionCode, type SentRequest } from '../../wire/modbus-reply.ts'
import { gapMsOf, modbusFunctions, openRequest } from '../../wire/modbus-request.ts'
import { ModbusCopies } from './copies.ts'
import { cutOffFault, type Heard, lineBusyFault, type ModbusCounts, noReplyFault } from './faults.ts'
import { ModbusHolds, readAt, readFrame } from './holds.ts'
import { ModbusReceiver, type ReplyWait, type Twin, waitForReply } from './receiver.ts'
import { ModbusRequests } from './requests.ts'
import { awaitSilence, sendRequest } from './send.ts'
import type { ModbusSettings } from './settings.ts'
import {
  type AskHow,
  type BusEvent,
  type BusState,
  type MasterHooks,
  nextBusState,
  type Transaction,
} from './transactions.ts'
import { ModbusUnits, type ProofListener, type UnitsFace } from './units.ts'

// What a request to a Modbus line came to: counted, told, and remembered of its unit.

interface OutcomeParts {
  clock: Clock
  counts: ModbusCounts
  holds: ModbusHolds
  units: ModbusUnits
  onReply?: MasterHooks['onReply']
  onBroadcast?: MasterHooks['onBroadcast']
  publish(event: string, payload: unknown): void
}

interface ModbusOutcomes {
  /** A proven reply. @param atMs when its end was there, by the monotonic clock. */
  replied(transaction: Transaction, reply: Uint8Array, atMs: number): void
  /** A broadcast is out, and its turnaround delay over. */
  turned(transaction: Transaction): void
  /** No proven reply within the time. @returns what whoever asked is to be told */
  missed(transaction: Transaction, heard: Heard): Fault
  /** The line did not take it, or not for certain. */
  notSent(transaction: Transaction): void
}

function createModbusOutcomes(parts: OutcomeParts): ModbusOutcomes {
  const { clock, counts, holds, units } = parts
  return {
    replied(transaction, reply, atMs) {
      const { request } = transaction.sent
      const tookMs = Math.max(0, atMs - transaction.sentAtMs)
      counts.replies++
      if (exceptionCode(reply) !== null) counts.exceptions++
      units.replied(transaction, reply, tookMs)
      parts.onReply?.({ request, reply, tookMs, atMs })
      transaction.resolve(reply)
    },
    turned(transaction) {
      counts.broadcasts++
      parts.onBroadcast?.(transaction.sent.request)
      transaction.resolve(null)
    },
    missed(transaction, heard) {
      const { isFence, sent, sentAtMs } = transaction
      const waitedMs = Math.round(clock.monotonicMs() - sentAtMs)
      const fault = noReplyFault(sent, waitedMs, heard, holds.longestLateMs(sent.request.unitId))
      holds.owe(sent, { sentAtMs, isFence })
      if (units.isNobody(transaction)) {
        counts.scanUnanswered++
        return fault
      }
      counts[fault.code === 'modbus_timeout' ? 'timeouts' : 'badReplies']++
      parts.publish('error', { code: fault.code, message: fault.message, ...fault.details })
      units.missed(transaction, fault)
      return fault
    },
    notSent(transaction) {
      counts.sendFailures++
      holds.owe(transaction.sent, { isFence: transaction.isFence })
      units.notSent(transaction)
    },
  }
}

// The read that shows whether a line gives our own bytes back.

interface TwinParts {
  outcomes: ModbusOutcomes
  receiver: ModbusReceiver
  requests: ModbusRequests
  isOpen(): boolean
}

/**
 * One frame came that is the request again: the unit's answer, or our echo and no answer. A read of the same place
 * shows which, as its echo and its answer differ. Needed once at most after a line was opened.
 * @see docs/decisions/modbus-frames.md
 */
function checkTwin(parts: TwinParts, transaction: Transaction, twin: Twin): void {
  const { outcomes, receiver } = parts
  const { address, unitId } = transaction.sent.request

  function settle(): void {
    const isReply = receiver.echo === 'absent'
    receiver.settleTwin(transaction.sent, twin.frame, isReply)
    if (isReply) outcomes.replied(transaction, twin.frame, twin.atMs)
    else transaction.reject(outcomes.missed(transaction, receiver.heard))
  }

  parts.requests.addUrgent({
    ...transaction,
    sent: readFrame(unitId, readAt(transaction.sent), address, 1),
    resolve: settle,
    reject: (fault) => (parts.isOpen() ? settle() : transaction.reject(fault)),
  })
}

interface BusParts {
  port: string
  baud: number
  clock: Clock
  settings: ModbusSettings
  counts: ModbusCounts
  /** As the adapter's context has it. */
  whyNotOpen(): Fault
  publish(event: string, payload: unknown): void
  hooks: MasterHooks
}

export class ModbusBus {
  readonly #parts: BusParts
  readonly #requests: ModbusRequests
  readonly #holds: ModbusHolds
  readonly #copies: ModbusCopies
  readonly #units: ModbusUnits
  readonly #outcomes: ModbusOutcomes
  readonly #receiver: ModbusReceiver
  readonly #gapMs: number
  #state: BusState = 'closed'
  #line: Line | undefined
  /** The request that is out. */
  #current: Transaction | undefined
  #wait: ReplyWait | undefined
  /** The one timer of the state the bus is in; `waiting` and `receiving` have theirs in the wait. */
  #timer: Timer | undefined
  /** Runs when bytes outside of a transaction have been followed by silence. */
  #sweepTimer: Timer | undefined
  /** When the last byte was seen or sent. */
  #activeMs = 0

  constructor(parts: BusParts) {
    const { settings } = parts
    this.#parts = parts
    this.#gapMs = gapMsOf(parts, settings.gap_us)
    this.#copies = new ModbusCopies(parts.clock, settings)
    this.#holds = new ModbusHolds({ ...parts, copies: this.#copies, onFree: () => this.#pump() })
    this.#units = new ModbusUnits({
      ...parts,
      ...parts.hooks,
      onSilent: (unitId, fault) => this.#requests.clearUnit(unitId, fault),
    })
    const shared = { ...parts, ...parts.hooks, holds: this.#holds, copies: this.#copies, units: this.#units }
    this.#receiver = new ModbusReceiver({
      ...shared,
      localEcho: settings.local_echo,
      onDoubtSettled: (sent, frame, isSure) => this.#settleDoubt(sent, frame, isSure),
    })
    this.#outcomes = createModbusOutcomes(shared)
    this.#requests = new ModbusRequests({ ...shared, gapMs: this.#gapMs, onReady: () => this.#pump() })
  }

  /** Requests that wait, and units held back, now. */
  get gauges(): { waiting: number; unitsHeld: number } {
    return { waiting: this.#requests.size, unitsHeld: this.#holds.size }
  }

  /** Units asked since this was made, without those forgotten. */
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

  /** Tells of each proven reply. @returns ends the telling */
  onProof(listener: ProofListener): () => void {
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

  /** Fails what waits and what is out. The unit that was asked last owes its answer, also when the line comes back. */
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
    failed?.reject(cutOffFault(failed.sent, fault))
    this.#requests.clear(fault)
  }

  /** As `ModbusAsker` has it. */
  async exchange(frame: Uint8Array, how: AskHow): Promise<Uint8Array | null> {
    const sent = { frame, request: openRequest(frame) }
    if (!this.#line) throw this.#parts.whyNotOpen()
    return await new Promise((resolve, reject) => {
      this.#requests.add({ sent, how, sentAtMs: 0, addedAtMs: this.#parts.clock.monotonicMs(), resolve, reject })
      this.#pump()
    })
  }

  /** As `ModbusWithdrawals` has it. */
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
    this.#sweepTimer?.cancel()
    this.#wait?.cancel()
    this.#wait = undefined
  }

  #pump(): void {
    if (this.#state === 'idle' && this.#requests.hasNext()) this.#awaitSilence()
  }

  /**
   * A frame that has begun to arrive is let end first. Which request goes is decided after the silence: what was
   * heard meanwhile may hold a unit back.
   */
  #awaitSilence(): void {
    const { clock, counts, settings } = this.#parts
    this.#move('wanted')
    this.#timer?.cancel()
    this.#timer = awaitSilence({
      clock,
      silentAtMs: () => this.#activeMs + (this.#receiver.pending > 0 ? settings.byte_gap_ms : this.#gapMs),
      limitMs: settings.response_timeout_ms + settings.byte_gap_ms,
      onSilent: () => this.#send(this.#requests.next()),
      onBusy: (waitedMs) => {
        const transaction = this.#requests.next()
        counts.lineBusy++
        const tell = () => transaction && this.#requests.giveUp(transaction, lineBusyFault(transaction.sent, waitedMs))
        this.#finish('givenUp', tell)
      },
    })
  }

  #send(transaction: Transaction | undefined): void {
    const line = this.#line
    if (!line || !transaction) {
      this.#finish('givenUp')
      return
    }
    const { doubted } = transaction
    if (doubted) {
      this.#copies.proved(transaction.sent.request.unitId)
      this.#finish('givenUp', () => this.#outcomes.replied(transaction, doubted.reply, doubted.atMs))
      return
    }
    this.#current = transaction
    this.#stopTimers()
    this.#receiver.discard()
    this.#receiver.begin(transaction.sent, transaction.isFence)
    this.#units.sent(transaction)
    this.#move('silent')
    sendRequest({ ...this.#parts, line }, transaction).then(
      (atMs) => this.#onSent(transaction, atMs),
      (fault) => this.#onNotSent(transaction, fault),
    )
  }

  #onNotSent(transaction: Transaction, fault: Fault): void {
    if (transaction !== this.#current || this.#state !== 'sending') return
    this.#receiver.endWithout(false)
    this.#outcomes.notSent(transaction)
    this.#finish('givenUp', () => transaction.reject(fault))
  }

  #onSent(transaction: Transaction, atMs: number): void {
    if (transaction !== this.#current || this.#state !== 'sending') return
    const { clock, settings } = this.#parts
    transaction.sentAtMs = atMs
    this.#activeMs = Math.max(this.#activeMs, atMs)
    this.#receiver.markSent(atMs)
    if (transaction.sent.request.unitId === 0) {
      this.#move('sentToAll')
      this.#after(atMs - clock.monotonicMs() + settings.turnaround_ms, () => this.#turned(transaction))
      return
    }
    this.#move('sent')
    this.#wait = waitForReply(
      {
        ...this.#parts,
        receiver: this.#receiver,
        onReply: (reply) => this.#answered(transaction, reply),
        onNone: () => this.#onNone(transaction),
      },
      atMs,
    )
    if (this.#receiver.pending > 0) this.#look()
  }

  #turned(transaction: Transaction): void {
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

  /** Outside of a transaction nothing is expected: frames are late or stray, the rest is noise after a pause. */
  #sweep(): void {
    this.#receiver.take(false)
    this.#sweepTimer?.cancel()
    if (this.#receiver.pending === 0) return
    this.#sweepTimer = this.#parts.clock.after(this.#parts.settings.byte_gap_ms, () => {
      this.#receiver.take(true)
      this.#receiver.discard()
    })
  }

  #onNone(transaction: Transaction): void {
    const { twin } = this.#receiver
    this.#receiver.endWithout(true)
    if (twin) this.#checkTwin(transaction, twin)
    else this.#fail(transaction)
  }

  #checkTwin(transaction: Transaction, twin: Twin): void {
    const parts = { outcomes: this.#outcomes, receiver: this.#receiver, requests: this.#requests }
    this.#parts.counts.echoChecks++
    checkTwin({ ...parts, isOpen: () => this.isOpen }, transaction, twin)
    this.#finish('givenUp')
  }

  #answered(transaction: Transaction, reply: Uint8Array): void {
    const atMs = this.#parts.clock.monotonicMs()
    const { doubt } = this.#receiver
    if (doubt === 'sure') this.#finish('answered', () => this.#outcomes.replied(transaction, reply, atMs))
    else this.#finish('answered', () => this.#putBack(transaction, doubt === 'fence' ? { reply, atMs } : undefined))
  }

  /** The reply may be a copy of one before: what it is worth is found out before anybody is told. */
  #putBack(transaction: Transaction, doubted: Transaction['doubted']): void {
    const { counts, settings } = this.#parts
    const { isFence, sent } = transaction
    counts.doubts++
    this.#holds.doubt(sent, doubted ? 0 : settings.copy_window_ms)
    // What a fence was for waits yet, and has another.
    if (!isFence) this.#requests.putBack({ ...transaction, doubted })
  }

  /** A second answer came to what was put back. Where it is no copy, it is the one that was meant. */
  #settleDoubt(sent: SentRequest, frame: Uint8Array, isSure: boolean): void {
    const { unitId } = sent.request
    const transaction = this.#requests.inFront(unitId)
    if (transaction?.sent.frame !== sent.frame) return
    const isWrite = modbusFunctions.get(sent.request.fc)?.isWrite
    // A refusal of the same function is as well the answer to the fence: the read is asked again.
    const isOfFence = exceptionCode(frame) !== null && !isWrite
    if (!isOfFence) {
      this.#parts.counts.copies++
      this.#copies.doubled(unitId)
      this.#units.copied(unitId)
    }
    if (isSure && !isOfFence) {
      this.#requests.takeFromFront(unitId)
      this.#outcomes.replied(transaction, frame, this.#parts.clock.monotonicMs())
    } else if (!isWrite) transaction.doubted = undefined
  }

  #fail(transaction: Transaction): void {
    const fault = this.#outcomes.missed(transaction, this.#receiver.heard)
    this.#finish('givenUp', () => transaction.reject(fault))
  }

  /** Ends the transaction; what came behind the reply is swept first, then the next request has its turn. */
  #finish(event: BusEvent, tell?: () => void): void {
    this.#stopTimers()
    this.#current = undefined
    this.#move(event)
    tell?.()
    this.#sweep()
    this.#pump()
  }
}
