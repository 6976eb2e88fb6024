/** A session with a device by its definition: the login, one question at a time, polls, and what it says by itself. */
import type { Clock, Timer } from '../../clock.ts'
import { Fault, faultOf } from '../fault.ts'
import { counted, durationText } from '../text.ts'
import type { DeviceValue } from './definition.ts'
import {
  type Answer,
  answerOf,
  commandOf,
  contentOf,
  createLoginRun,
  type Device,
  type DeviceCommand,
  type DevicePoll,
  type DeviceReport,
  type Digest,
  type LoginAdvance,
  type LoginRun,
  messageBytes,
  reportWhenSent,
  unsolicitedReport,
  wireValues,
} from './device.ts'
import type { WireValue } from './template.ts'
import { type ReadArg, readArgs } from './values.ts'

// The states of a session: state x event -> next state.

/**
 * - `closed` before it is opened, and after it has ended
 * - `login` the login of the connection is under way
 * - `ready` nothing is under way
 * - `busy` a command or poll was sent, and its answer is awaited
 * - `held` an answer is overdue: nothing is sent until it came, or until it can no longer come
 */
type DeviceSessionState = 'closed' | 'login' | 'ready' | 'busy' | 'held'

/**
 * - `opened` the connection is there
 * - `admitted` the login is done, or there is none
 * - `sent` a command or poll goes out
 * - `answered` the device has done or refused it, or no answer is awaited
 * - `late` no answer came in time
 * - `settled` the late answer came, or its time is over
 * - `ended` the login failed, or the connection is gone or given up
 */
type DeviceSessionEvent = 'opened' | 'admitted' | 'sent' | 'answered' | 'late' | 'settled' | 'ended'

/** A pair that is not listed does not change the state. */
export const deviceSessionStateTable: Readonly<
  Record<DeviceSessionState, Partial<Record<DeviceSessionEvent, DeviceSessionState>>>
> = {
  closed: { opened: 'login' },
  login: { admitted: 'ready', ended: 'closed' },
  ready: { sent: 'busy', ended: 'closed' },
  busy: { answered: 'ready', late: 'held', ended: 'closed' },
  held: { settled: 'ready', ended: 'closed' },
}

/** The most questions that a session asks by itself, each zone counted; beyond, the last are left out. */
export const MOST_POLL_TURNS = 256

/** What a session tells. */
export interface DeviceSessionHooks {
  /** Hands bytes to the connection. @throws why it cannot; the session then ends */
  send(bytes: Uint8Array): Promise<void>
  /** Values of the device, or of one of its zones. */
  report(report: DeviceReport): void
  /** An answer came, or did not come in time. */
  answered(fault: Fault | undefined): void
  /** The session has ended by itself: the login failed, or the connection is of no use any more. Called once. */
  ended(fault: Fault): void
}

interface DeviceSessionParts {
  device: Device
  /** Settings of this device, as `readConfig` gives them. */
  config: ReadonlyMap<string, ReadArg>
  /** Addresses of its zones, for polls of each zone. */
  zones: readonly string[]
  clock: Clock
  digest: Digest
  /** Interval of all polls, instead of their own. */
  pollMs: number | undefined
  /**
   * What keeps a late answer from being taken for the next one: a connection is given up (`end`), a line waits this long
   * before anything else is sent on it.
   */
  whenLate: 'end' | { holdMs: number }
  /** Most commands that wait. */
  queue: number
  hooks: DeviceSessionHooks
}

/** What was asked. */
interface Job {
  command: DeviceCommand
  args: ReadonlyMap<string, ReadArg>
  values: ReadonlyMap<string, WireValue>
  bytes: Uint8Array
  settle(result: Readonly<Record<string, DeviceValue>> | Fault): void
}

/** A poll, perhaps of one zone; due at once when the session is ready. */
interface PollTurn {
  poll: DevicePoll
  zone: string | undefined
  isDue: boolean
  timer: Timer | undefined
}

/** Lives as long as its connection. */
export class DeviceSession {
  readonly #parts: DeviceSessionParts
  readonly #queue: Job[] = []
  readonly #polls: PollTurn[]
  readonly #counts = {
    commands: 0,
    polls: 0,
    pollsLeftOut: 0,
    answers: 0,
    refusals: 0,
    unanswered: 0,
    lateAnswers: 0,
    badChecksums: 0,
    strangers: 0,
  }
  #state: DeviceSessionState = 'closed'
  #login: LoginRun | undefined
  #opening = Promise.withResolvers<void>()
  #job: Job | undefined
  #timer: Timer | undefined
  /** Nothing is sent before: the rest between two messages. */
  #restUntilMs = Number.NEGATIVE_INFINITY
  #rest: Timer | undefined

  constructor(parts: DeviceSessionParts) {
    this.#parts = parts
    const turns = parts.device.polls.flatMap((poll) => {
      const zones = poll.isEachZone ? parts.zones : [undefined]
      return zones.map((zone): PollTurn => ({ poll, zone, isDue: true, timer: undefined }))
    })
    this.#polls = turns.slice(0, MOST_POLL_TURNS)
    this.#counts.pollsLeftOut = turns.length - this.#polls.length
  }

  /**
   * The connection is there. Resolves when the device has let us in.
   * @throws Fault `device_login` if it has not, `command_unanswered` if it says nothing
   */
  open(): Promise<void> {
    const { config, device, digest } = this.#parts
    this.#move('opened')
    this.#login = createLoginRun(device, config, digest)
    this.#advance(() => this.#login?.begin())
    return this.#opening.promise
  }

  counters(): Record<string, number> {
    return { ...this.#counts }
  }

  /**
   * Sends a command when its turn comes.
   * @param args checked by the rules of the command; of a zone, its argument for the zone may be left out
   * @param signal the caller has left: a command that waits is dropped; one that was sent keeps its turn
   * @returns the values that its answer gives
   * @throws Fault `command_unknown`, `command_args`, `command_queue_full`, `command_refused`, `command_unanswered`, or
   * why the session ended
   */
  async command(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { zone, signal }: { zone?: string | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<Readonly<Record<string, DeviceValue>>> {
    const { device, queue } = this.#parts
    const made = this.#made(commandOf(device, name), args, zone)
    if (this.#state === 'closed') throw new Fault('device_not_connected', 'there is no connection to the device')
    if (this.#queue.length >= queue)
      throw new Fault('command_queue_full', `${counted(queue, 'command')} wait for the device already`, {
        details: { retryAfterMs: 1000 },
      })
    signal?.throwIfAborted()
    const done = Promise.withResolvers<Readonly<Record<string, DeviceValue>>>()
    const job: Job = {
      ...made,
      settle: (result) => (result instanceof Fault ? done.reject(result) : done.resolve(result)),
    }
    this.#queue.push(job)
    this.#counts.commands++
    const left = () => {
      const at = this.#queue.indexOf(job)
      if (at >= 0) this.#queue.splice(at, 1)
      done.reject(signal?.reason)
    }
    signal?.addEventListener('abort', left, { once: true })
    this.#next()
    try {
      return await done.promise
    } finally {
      signal?.removeEventListener('abort', left)
    }
  }

  #made(
    command: DeviceCommand,
    args: Readonly<Record<string, unknown>>,
    zone: string | undefined,
  ): Omit<Job, 'settle'> {
    const { config, device } = this.#parts
    const { zoneArg } = device
    const isOfZone = zoneArg !== undefined && zone !== undefined && command.args.has(zoneArg)
    const given = isOfZone ? { ...args, [zoneArg]: zone } : args
    const read = readArgs(command.args, given, device.definition.enums)
    const values = wireValues(read, config)
    checkDelimiter(device, command, read)
    return { command, args: read, values, bytes: messageBytes(device, command.send, values) }
  }

  /**
   * What came from the device: one whole frame.
   * @returns false if nothing in the definition knows it
   */
  hear(frame: Uint8Array): boolean {
    if (this.#state === 'closed') return true
    const content = this.#contentOf(frame)
    if (!content) return false
    if (this.#state === 'login' && this.#heardLogin(content)) return true
    if (this.#heardAnswer(content)) return true
    const report = unsolicitedReport(this.#parts.device, content)
    if (report) this.#report(report)
    else this.#counts.strangers++
    return report !== undefined
  }

  /** The connection is gone, or is given up: everybody who waits is told. */
  close(fault: Fault): void {
    if (this.#state === 'closed') return
    this.#move('ended')
    for (const timer of [this.#timer, this.#rest, ...this.#polls.map((turn) => turn.timer)]) timer?.cancel()
    for (const job of [this.#job, ...this.#queue.splice(0)]) job?.settle(fault)
    this.#job = undefined
    this.#opening.reject(fault)
    // Whoever opened it may have gone already.
    this.#opening.promise.catch(() => {})
  }

  #contentOf(frame: Uint8Array): Uint8Array | undefined {
    try {
      return contentOf(this.#parts.device, frame)
    } catch {
      this.#counts.badChecksums++
      return undefined
    }
  }

  // The login.

  #heardLogin(content: Uint8Array): boolean {
    const heard = this.#login?.hear(content)
    if (!heard) return false
    this.#timer?.cancel()
    this.#advance(() => heard)
    return true
  }

  /** @param step what follows; it may find that a setting does not fit */
  #advance(step: () => LoginAdvance | undefined): void {
    try {
      const now = step()
      if (now) void this.#goOn(now)
    } catch (error) {
      this.#end(faultOf(error, 'device_login', 'the login cannot be written'))
    }
  }

  async #goOn({ sends, state, says }: LoginAdvance): Promise<void> {
    const { clock, device, hooks } = this.#parts
    const waitMs = device.definition.timing.reply_ms
    if (state === 'waiting')
      this.#timer = clock.after(waitMs, () =>
        this.#end(
          new Fault('command_unanswered', `the device did not answer the login within ${durationText(waitMs)}`),
        ),
      )
    try {
      for (const bytes of sends) await hooks.send(bytes)
    } catch (error) {
      this.#end(faultOf(error, 'device_not_connected', 'the connection takes no more'))
      return
    }
    if (state === 'failed') this.#end(new Fault('device_login', says))
    if (state !== 'ready' || this.#state !== 'login') return
    this.#move('admitted')
    this.#opening.resolve()
    this.#next()
  }

  // One question at a time.

  #next(): void {
    if (this.#state !== 'ready') return
    const { clock } = this.#parts
    const restMs = this.#restUntilMs - clock.monotonicMs()
    if (restMs > 0) {
      this.#rest?.cancel()
      this.#rest = clock.after(restMs, () => this.#next())
      return
    }
    const job = this.#queue.shift() ?? this.#duePoll()
    if (job) void this.#send(job)
  }

  async #send(job: Job): Promise<void> {
    const { clock, hooks } = this.#parts
    this.#move('sent')
    this.#job = job
    // The wait begins before the bytes are out: an answer cannot come sooner, and a line that takes none is late too.
    this.#timer = clock.after(job.command.replyMs, () => this.#late(job))
    try {
      await hooks.send(job.bytes)
    } catch (error) {
      if (this.#job === job) this.#end(faultOf(error, 'device_not_connected', 'the connection takes no more'))
      return
    }
    if (this.#job !== job || this.#state !== 'busy' || job.command.reply.length > 0) return
    const report = reportWhenSent(this.#parts.device, job.command, job.args)
    this.#finish(job, report.values)
    this.#report(report)
  }

  #heardAnswer(content: Uint8Array): boolean {
    const job = this.#job
    if (!job || (this.#state !== 'busy' && this.#state !== 'held')) return false
    const answer = answerOf(this.#parts.device, job.command, content, job)
    if (!answer) return false
    if (this.#state === 'held') this.#lateAnswer()
    else this.#answer(job, answer)
    return true
  }

  #answer(job: Job, answer: Answer): void {
    this.#counts.answers++
    this.#parts.hooks.answered(undefined)
    if (answer.isDone) this.#report(answer)
    else this.#counts.refusals++
    this.#finish(
      job,
      answer.isDone
        ? answer.values
        : new Fault('command_refused', `the device refuses ${job.command.name}: ${answer.says}`),
    )
  }

  #finish(job: Job, result: Readonly<Record<string, DeviceValue>> | Fault): void {
    this.#timer?.cancel()
    this.#job = undefined
    this.#move('answered')
    this.#rested()
    job.settle(result)
    this.#next()
  }

  #rested(): void {
    const { clock, device } = this.#parts
    this.#restUntilMs = clock.monotonicMs() + device.definition.timing.gap_ms
  }

  #late(job: Job): void {
    const { clock, hooks, whenLate } = this.#parts
    const { command } = job
    this.#counts.unanswered++
    const fault = new Fault(
      'command_unanswered',
      `the device did not answer ${command.name} within ${durationText(command.replyMs)}`,
    )
    hooks.answered(fault)
    if (whenLate === 'end') {
      this.#end(fault)
      return
    }
    this.#move('late')
    job.settle(fault)
    this.#timer = clock.after(whenLate.holdMs, () => this.#settled())
  }

  /** It belongs to nobody any more: what it says may be old. */
  #lateAnswer(): void {
    this.#counts.lateAnswers++
    this.#timer?.cancel()
    this.#settled()
  }

  #settled(): void {
    this.#job = undefined
    this.#move('settled')
    this.#rested()
    this.#next()
  }

  #end(fault: Fault): void {
    if (this.#state === 'closed') return
    this.close(fault)
    this.#parts.hooks.ended(fault)
  }

  // Polls.

  #duePoll(): Job | undefined {
    const turn = this.#polls.find(({ isDue }) => isDue)
    if (!turn) return undefined
    const { poll, zone } = turn
    turn.isDue = false
    const again = () => {
      if (this.#state === 'closed') return
      turn.timer = this.#parts.clock.after(this.#parts.pollMs ?? poll.everyMs, () => {
        turn.isDue = true
        this.#next()
      })
    }
    try {
      const job = { ...this.#made(poll.command, poll.args, zone), settle: again }
      this.#counts.polls++
      return job
    } catch {
      // The address of this zone is none that the command takes: whoever commands the zone is told.
      again()
      return this.#duePoll()
    }
  }

  #report(report: DeviceReport): void {
    if (Object.keys(report.values).length > 0) this.#parts.hooks.report(report)
  }

  #move(event: DeviceSessionEvent): void {
    this.#state = deviceSessionStateTable[this.#state][event] ?? this.#state
  }
}

/** A text with what ends a message could bring a second one. @throws Fault `command_args` */
function checkDelimiter({ delimiter }: Device, { args }: DeviceCommand, read: ReadonlyMap<string, ReadArg>): void {
  if (delimiter.length === 0) return
  const end = String.fromCharCode(...delimiter)
  for (const [name, rule] of args)
    if (rule.type === 'text' && String(read.get(name)?.wire).includes(end))
      throw new Fault('command_args', `${name} has what ends a message`)
}
