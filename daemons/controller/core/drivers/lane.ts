/** One device: keeps its session open, with retries, and runs its commands one at a time. */

import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { Backoff } from '#kit/pure/pace.ts'
import { durationText, shortCopy } from '#kit/pure/text.ts'
import { boundedCopy } from '../json.ts'
import type { InSlots } from '../turns.ts'
import type { Ack, DriverCommand } from './driver.ts'
import {
  CommandQueue,
  type CommandRoom,
  type HeldSession,
  type Job,
  openSession,
  type QueueLimits,
  type SessionLimits,
  type SessionParts,
} from './session.ts'

// The states of a device: state x event -> next state.

/**
 * - `closed` not driven, before the first opening and after the last
 * - `opening` its driver is opening a session
 * - `ready` there is a session with nothing to do
 * - `busy` one command or poll is in progress
 * - `stuck` the deadline has passed, and the driver has not let go of the command
 * - `leaving` the device is lost, its session is being closed
 * - `waiting` until the next retry
 * - `closing` for good
 */
export type LaneState = 'closed' | 'opening' | 'ready' | 'busy' | 'stuck' | 'leaving' | 'waiting' | 'closing'

/**
 * - `openAsked` the device is in the book
 * - `opened`, `failed` the driver opened a session; opening failed, or took too long
 * - `sent` the driver was given a command or a poll
 * - `settled` the driver has finished it, successfully or not
 * - `late` the deadline has passed
 * - `lost` the driver reported the device as gone, or did not let go in time
 * - `left` the session is closed, or closing took too long
 * - `retryDue` the wait is over, or a command cut it short
 * - `closeAsked` the row changed or was removed, or the daemon stops
 */
export type LaneEvent =
  | 'openAsked'
  | 'opened'
  | 'failed'
  | 'sent'
  | 'settled'
  | 'late'
  | 'lost'
  | 'left'
  | 'retryDue'
  | 'closeAsked'

/** A pair that is not listed does not change the state. */
export const laneStateTable: Readonly<Record<LaneState, Partial<Record<LaneEvent, LaneState>>>> = {
  closed: { openAsked: 'opening' },
  opening: { opened: 'ready', failed: 'waiting', closeAsked: 'closing' },
  ready: { sent: 'busy', lost: 'leaving', closeAsked: 'closing' },
  busy: { settled: 'ready', late: 'stuck', lost: 'leaving', closeAsked: 'closing' },
  stuck: { settled: 'ready', lost: 'leaving', closeAsked: 'closing' },
  leaving: { left: 'waiting', closeAsked: 'closing' },
  waiting: { retryDue: 'opening', closeAsked: 'closing' },
  closing: { left: 'closed' },
}

/** @returns the state after the event; unchanged if the table has no such pair */
export function nextLaneState(state: LaneState, event: LaneEvent): LaneState {
  return laneStateTable[state][event] ?? state
}

// The lane.
export interface LaneLimits extends QueueLimits, SessionLimits, TurnLimits {
  /** Wait before the first retry to open a lost device; doubles with each. */
  retryFirstMs: number
  retryMaxMs: number
  /** Shortest time between polls. */
  pollMinMs: number
  /** Longest answer of a device, in characters. */
  answerChars: number
}

interface LaneParts extends SessionParts {
  limits: LaneLimits
  /** Shared by the commands of all devices. */
  room: CommandRoom
  /** Limits how many devices are opened at once. */
  inSlots: InSlots
  /** Resolves when the previous lane of the same device has closed. */
  before: Promise<void>
}

/** A lane as a page shows it. Counts start with the lane. */
export interface LaneView {
  state: LaneState
  queued: number
  done: number
  /** Commands that the driver rejected. */
  failed: number
  timedOut: number
  coalesced: number
}

/** One lane per version of a device's row; a changed row gets a new lane. */
export class DeviceLane {
  readonly #parts: LaneParts
  readonly #queue: CommandQueue
  readonly #turn: RequestTurn
  readonly #backoff: Backoff
  readonly #counts = { done: 0, failed: 0, timedOut: 0 }
  readonly #name: string
  #state: LaneState = 'closed'
  #session: HeldSession | undefined
  #retry: Timer | undefined
  #poll: Timer | undefined
  #isPollDue = false
  /** The last call of the driver's `open` has not settled: another one must wait for it. */
  #isOpenHanging = false
  #lastTryMs = Number.NEGATIVE_INFINITY
  #error = ''
  readonly #stopper = new AbortController()
  /** A session being opened, or closed after a loss. */
  #underWay: Promise<unknown> | undefined
  #closed: Promise<void> | undefined

  constructor(parts: LaneParts) {
    const { retryFirstMs: firstMs, retryMaxMs } = parts.limits
    this.#parts = parts
    this.#name = `device ${parts.device.id}`
    this.#queue = new CommandQueue(parts.world.clock, parts.limits, this.#name, parts.room)
    this.#backoff = new Backoff({ firstMs, maxMs: Math.max(firstMs, retryMaxMs) })
    this.#turn = new RequestTurn(parts.world.clock, parts.limits, this.#name, (event) => {
      if (event === 'stuck') {
        this.#lose('its driver does not let go of a command')
        return
      }
      if (event === 'late') this.#counts.timedOut++
      this.#move(event)
      if (event === 'settled') this.#next()
    })
  }

  /** Call this once. */
  open(): void {
    void this.#open('openAsked')
  }

  /** @throws Fault `driver_failed`, `driver_timeout`, `driver_queue_full` */
  async execute(command: DriverCommand): Promise<Ack> {
    const { clock } = this.#parts.world
    if (this.#state === 'closing' || this.#state === 'closed') throw this.#closingFault()
    // A user is waiting: retry early, but not sooner after the last attempt than the shortest wait.
    if (this.#state === 'waiting' && clock.monotonicMs() - this.#lastTryMs >= this.#parts.limits.retryFirstMs)
      void this.#open('retryDue')
    if (this.#state === 'waiting' || this.#state === 'leaving') throw this.#offline()
    const done = this.#queue.add(command)
    this.#next()
    return done
  }

  /** @param body of a webhook that its device has signed. @returns false while there is no session that takes it */
  tell(body: Uint8Array): boolean {
    const session = this.#session
    if (!session?.takesWebhooks) return false
    try {
      session.tell(body)
    } catch (error) {
      this.#lose(`its driver failed on a webhook: ${sentenceOf(error)}`)
    }
    return true
  }

  view(): LaneView {
    return { state: this.#state, queued: this.#queue.length, ...this.#counts, coalesced: this.#queue.coalesced }
  }

  /** Resolves when the device is fully closed, within the time limits; waiting callers get an error. Never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const session = this.#session
    this.#session = undefined
    this.#move('closeAsked')
    // One error for all waiters: its stack is most of the cost of closing ten thousand devices.
    const fault = this.#closingFault()
    this.#letGo(fault)
    this.#stopper.abort(fault)
    await session?.close()
    await this.#underWay
    this.#move('left')
  }

  /** Never rejects. */
  async #open(event: 'openAsked' | 'retryDue'): Promise<void> {
    this.#retry?.cancel()
    this.#move(event)
    try {
      await this.#parts.before
      const session = await this.#parts.inSlots(async () => this.#openOne())
      if (!session) return
      this.#session = session
      this.#move('opened')
      this.#isPollDue = session.isPolled && this.#pollMs !== undefined
      this.#next()
    } catch (error) {
      if (this.#state !== 'opening') return
      this.#tellLost(sentenceOf(error))
      this.#move('failed')
      this.#queue.failAll(this.#offline())
      this.#waitForRetry()
    }
  }

  /** @returns undefined if the lane was closed in the meantime: then nothing is open */
  async #openOne(): Promise<HeldSession | undefined> {
    if (this.#state !== 'opening') return undefined
    if (this.#isOpenHanging) throw new Fault('driver_timeout', 'its driver still hangs in the last try to open it')
    this.#lastTryMs = this.#parts.world.clock.monotonicMs()
    this.#isOpenHanging = true
    const opening = openSession(this.#parts, this.#stopper.signal, (event, error = '') => {
      if (event === 'settled') this.#isOpenHanging = false
      else if (event === 'online') this.#online()
      else if (event === 'away') this.#tellLost(error)
      else this.#lose(error)
    })
    this.#underWay = opening.catch(() => {}) // said by who awaits it below
    const session = await opening
    if (this.#state === 'opening') return session
    this.#underWay = session.close()
    return undefined
  }

  /** Random between half and all of the back-off, so that devices that lost power together do not retry in step. */
  #waitForRetry(): void {
    const { world, limits } = this.#parts
    const waitMs = Math.max(limits.retryFirstMs, this.#backoff.next() * (1 - world.chance() / 2))
    this.#retry = world.clock.after(waitMs, () => void this.#open('retryDue'))
  }

  #online(): void {
    this.#backoff.reset()
    this.#parts.live.seen(this.#parts.device.id)
  }

  #tellLost(error: string): void {
    const { live, device, zones } = this.#parts
    const ids = zones.map(({ id }) => id)
    this.#error = error
    live.lost(device.id, ids, error)
  }

  #lose(error: string): void {
    this.#tellLost(error)
    const session = this.#session
    if (!session) return
    this.#session = undefined
    this.#move('lost')
    this.#letGo(this.#offline())
    this.#underWay = session.close().then(() => {
      if (this.#state !== 'leaving') return
      this.#move('left')
      this.#waitForRetry()
    })
  }

  /** Fails everything in progress or queued, and cancels the timers. */
  #letGo(fault: Fault): void {
    this.#turn.drop(fault)
    this.#retry?.cancel()
    this.#poll?.cancel()
    this.#queue.failAll(fault)
  }

  #next(): void {
    const session = this.#session
    if (this.#state !== 'ready' || !session) return
    const job = this.#queue.take()
    if (job) this.#startJob(job, session)
    else if (this.#isPollDue) this.#startPoll(session)
  }

  #startJob(job: Job, session: HeldSession): void {
    this.#move('sent')
    const task = {
      run: (held: HeldSession, signal: AbortSignal) => executeInTurn(held, job.command, signal),
      resolve: (ack: Ack) => job.resolve(this.#taken(ack)),
      failed: (error: unknown) => job.reject(this.#failed(error)),
      dropped: job.reject,
    }
    this.#turn.start(task, session)
  }

  /** The result of a poll is what the driver reports; a failed poll is repeated when the next one is due. */
  #startPoll(session: HeldSession): void {
    this.#isPollDue = false
    this.#move('sent')
    const again = () => {
      if (!this.#session) return
      this.#poll = this.#parts.world.clock.after(this.#pollMs ?? 0, () => {
        this.#isPollDue = true
        this.#next()
      })
    }
    const run = async (held: HeldSession, signal: AbortSignal) => {
      await held.poll(signal)
      return {}
    }
    this.#turn.start({ run, resolve: again, failed: again, dropped: again }, session)
  }

  #taken(ack: Ack | undefined): Ack {
    this.#counts.done++
    this.#online()
    const answer = ack?.answer === undefined ? undefined : boundedCopy(ack.answer, this.#parts.limits.answerChars)
    return answer === undefined ? {} : { answer }
  }

  /** Every error from a driver becomes `driver_failed`: its own code is not one of the host's. */
  #failed(error: unknown): Fault {
    this.#counts.failed++
    return new Fault('driver_failed', `${this.#name}: ${sentenceOf(error)}`, { cause: error })
  }

  #offline(): Fault {
    return new Fault('driver_failed', `${this.#name} is offline: ${this.#error}`)
  }

  #closingFault(): Fault {
    return new Fault('driver_failed', `${this.#name} is being closed`)
  }

  /** Undefined if the device is not polled. */
  get #pollMs(): number | undefined {
    const { device, limits } = this.#parts
    const { poll_ms: pollMs } = device
    return typeof pollMs === 'number' && pollMs > 0 ? Math.max(limits.pollMinMs, pollMs) : undefined
  }

  #move(event: LaneEvent): void {
    this.#state = nextLaneState(this.#state, event)
  }
}

/** A command with its lead; drivers get them one after the other. */
async function executeInTurn(
  session: HeldSession,
  { lead, ...command }: DriverCommand,
  signal: AbortSignal,
): Promise<Ack> {
  if (lead !== undefined) {
    await session.execute({ ...command, ...lead }, signal)
    signal.throwIfAborted()
  }
  return session.execute(command, signal)
}

/** Longest error message of a driver that is passed on. */
const LONGEST_SENTENCE = 512

function sentenceOf(error: unknown): string {
  const text = error instanceof Error && error.message !== '' ? error.message : String(error)
  return shortCopy(text, LONGEST_SENTENCE)
}

// A turn: one command or poll in progress, its deadline, and the grace period in which its driver must let go.

interface TurnLimits {
  /** Deadline of one command or poll. */
  deadlineMs: number
  /** How long a driver may take to let go of a late command before its session is dropped. */
  graceMs: number
}

/** A command with its waiting caller, or a poll. */
interface Task {
  run(session: HeldSession, signal: AbortSignal): Promise<Ack>
  resolve(ack: Ack): void
  /** The driver threw an error. */
  failed(error: unknown): void
  /** The deadline passed, or the device was lost. */
  dropped(fault: Fault): void
}

/**
 * What a lane hears of its turn: `settled`, the driver has finished, in time or not, and the task has its result;
 * `late`; `stuck`, the driver does not let go: its session is unusable.
 */
type TurnListener = (event: 'settled' | 'late' | 'stuck') => void

interface CurrentTask {
  task: Task
  stopper: AbortController
  timer: Timer
  isLate: boolean
}

/** One task at a time. */
class RequestTurn {
  readonly #clock: Clock
  readonly #limits: TurnLimits
  readonly #name: string
  readonly #listener: TurnListener
  #current: CurrentTask | undefined

  /** @param name the device's name in error messages */
  constructor(clock: Clock, limits: TurnLimits, name: string, listener: TurnListener) {
    this.#clock = clock
    this.#limits = limits
    this.#name = name
    this.#listener = listener
  }

  /** Call this only when nothing is in progress. */
  start(task: Task, session: HeldSession): void {
    const timer = this.#clock.after(this.#limits.deadlineMs, () => this.#late())
    const own = { task, stopper: new AbortController(), timer, isLate: false }
    this.#current = own
    task.run(session, own.stopper.signal).then(
      (ack) => this.#settle(own, () => task.resolve(ack)),
      (error) => this.#settle(own, () => task.failed(error)),
    )
  }

  /** Aborts the task in progress: the task and the driver are told, and a later result is ignored. */
  drop(fault: Fault): void {
    const own = this.#current
    this.#current = undefined
    if (!own) return
    own.timer.cancel()
    if (!own.isLate) own.task.dropped(fault)
    own.stopper.abort(fault)
  }

  #late(): void {
    const own = this.#current
    if (!own) return
    const sentence = `${this.#name} did not answer within ${durationText(this.#limits.deadlineMs)}`
    const fault = new Fault('driver_timeout', sentence)
    own.isLate = true
    own.timer = this.#clock.after(this.#limits.graceMs, () => this.#listener('stuck'))
    this.#listener('late')
    own.task.dropped(fault)
    own.stopper.abort(fault)
  }

  #settle(own: CurrentTask, answer: () => void): void {
    if (this.#current !== own) return
    this.#current = undefined
    own.timer.cancel()
    if (!own.isLate) answer()
    this.#listener('settled')
  }
}
