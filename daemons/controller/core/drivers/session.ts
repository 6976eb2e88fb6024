/** The parts of a lane: the driver's session, the one command or poll in progress, and the command queue. */

import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { ADDING_VERBS, foldedName } from '../control/reading.ts'
import { charsOf, type Json } from '../json.ts'
import type { LiveKeeper, LiveTarget } from '../live/live-book.ts'
import type { Row } from '../site/book.ts'
import { within } from '../turns.ts'
import type { Ack, DeviceWorld, Driver, DriverCommand, DriverContext, DriverSession, DriverWorld } from './driver.ts'

// A session: opened and closed within time limits; its context goes silent when it ends.

export interface SessionLimits {
  /** Timeout of opening a device. */
  openMs: number
  /** Timeout of closing one. */
  closeMs: number
}

export interface SessionParts {
  driver: Driver
  device: Row
  zones: readonly Row[]
  world: DriverWorld
  live: LiveKeeper
  limits: SessionLimits
}

/** What a driver reports about its device during the session. */
interface SessionHooks {
  online(): void
  /** Out of reach, while the session goes on. */
  away(error: string): void
  lost(error: string): void
  /** The call of `open` has settled, in time or not. */
  settled(): void
}

/** A session as the lane uses it. */
export interface HeldSession extends Pick<DriverSession, 'execute' | 'poll' | 'tell'> {
  /** Resolves when it is closed, or closing took too long. Never rejects. */
  close(): Promise<void>
}

/** Columns of a device that a driver gets only through `secret`. */
const SECRETS = ['password', 'api_key'] as const

/**
 * Opens a device. A session that arrives too late, or after `stop`, is closed at once.
 * @throws Fault `driver_timeout`, the reason of `stop`, or what the driver threw
 */
export async function openSession(parts: SessionParts, stop: AbortSignal, hooks: SessionHooks): Promise<HeldSession> {
  const { driver, zones, world, limits } = parts
  const ground = world.open(parts.device)
  let isHeard = true
  let ended: string | undefined
  const connectionLost = (reason: string) => {
    ended = reason
    hooks.lost(reason)
  }
  const context = contextOf(parts, ground, { ...hooks, connectionLost }, () => isHeard && !stop.aborted)
  const end = () => {
    isHeard = false
    ground.close()
  }
  const opening = (async () => driver.open(publicRow(parts.device), zones, context))()
  opening.then(hooks.settled, hooks.settled)
  try {
    const late = () => new Fault('driver_timeout', `opening took longer than ${durationText(limits.openMs)}`)
    const session = await within(opening, { clock: world.clock, limitMs: limits.openMs, late, stop })
    if (ended !== undefined) throw new Fault('device_cut_off', ended)
    return held(session, parts, () => (isHeard = false), end)
  } catch (error) {
    end()
    // The result no longer matters: the error thrown here says why there is no session.
    opening.then(async (session) => session.close()).catch(() => {})
    throw error
  }
}

/** @param deafen ignores the driver from now on; @param end closes its connections as well */
function held(
  session: DriverSession,
  { world, limits }: SessionParts,
  deafen: () => void,
  end: () => void,
): HeldSession {
  const own: HeldSession = {
    execute: async (command, signal) => session.execute(command, signal),
    poll: session.poll && (async (signal) => session.poll?.(signal)),
    async close() {
      deafen()
      const late = () => new Fault('driver_timeout', `closing took longer than ${durationText(limits.closeMs)}`)
      // Whatever the result, its connections are then cut: nothing of it remains.
      const closing = (async () => session.close())()
      await within(closing, { clock: world.clock, limitMs: limits.closeMs, late }).catch(() => {})
      end()
    },
  }
  // Most have none: in all objects it would take room for ten thousand devices.
  if (session.tell) own.tell = (body) => session.tell?.(body)
  return own
}

/** A driver may report only on its own device and zones, and only during its session. */
function contextOf(
  { device, zones, world, live }: SessionParts,
  ground: DeviceWorld,
  hooks: Pick<SessionHooks, 'online' | 'away' | 'lost'> & { connectionLost(reason: string): void },
  isHeard: () => boolean,
): DriverContext {
  const own = new Set(zones.map(({ id }) => id))
  const isOwn = (target: LiveTarget) => ('zoneId' in target ? own.has(target.zoneId) : target.deviceId === device.id)
  return {
    clock: world.clock,
    chance: world.chance,
    log: (sentence) => ground.log(sentence),
    sender: (place) => ground.sender(place),
    request: (request, signal) => ground.request(request, signal),
    connect(place, frame) {
      return ground.connect(place, {
        frame: (bytes) => !isHeard() || frame(bytes),
        lost(reason) {
          if (isHeard()) hooks.connectionLost(reason)
        },
      })
    },
    connectBroker(place, topics, hear) {
      return ground.connectBroker(place, {
        topics,
        hear(topic, payload) {
          if (isHeard()) hear(topic, payload)
        },
        lost(reason) {
          if (isHeard()) hooks.connectionLost(reason)
        },
      })
    },
    report(target, patch) {
      if (!isHeard()) return
      const left = isOwn(target) ? live.report(target, patch) : Object.keys(patch).length
      if (left > 0) ground.log(`${left} values of a report were left out: too many, too large, or not of this device`)
    },
    lastOf: (zoneId, name) => (own.has(zoneId) ? live.last(zoneId, name) : undefined),
    online(isOnline, error) {
      if (!isHeard()) return
      if (isOnline) hooks.online()
      else hooks.lost(error ?? 'the device is gone')
    },
    away(reason) {
      if (isHeard()) hooks.away(reason)
    },
    secret(column) {
      const value: Json | undefined = SECRETS.includes(column) ? device[column] : null
      return typeof value === 'string' ? value : null
    },
  }
}

function publicRow(device: Row): Row {
  return { ...device, ...Object.fromEntries(SECRETS.filter((name) => name in device).map((name) => [name, null])) }
}

// A turn: one command or poll in progress, its deadline, and the grace period in which its driver must let go.

export interface TurnLimits {
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

/** How the lane reacts. */
interface TurnHooks {
  /** The driver has finished, in time or not, and the task has its result. */
  settled(): void
  late(): void
  /** The driver does not let go: its session is unusable. */
  stuck(): void
}

export interface Turn {
  /** Call this only when nothing is in progress. */
  start(task: Task, session: HeldSession): void
  /** Aborts the task in progress: the task and the driver are told, and a later result is ignored. */
  drop(fault: Fault): void
}

/** @param name the device's name in error messages */
export function createRequestTurn(clock: Clock, limits: TurnLimits, name: string, hooks: TurnHooks): Turn {
  let current: { task: Task; stopper: AbortController; timer: Timer; isLate: boolean } | undefined

  function late(): void {
    if (!current) return
    const fault = new Fault('driver_timeout', `${name} did not answer within ${durationText(limits.deadlineMs)}`)
    current.isLate = true
    current.timer = clock.after(limits.graceMs, hooks.stuck)
    hooks.late()
    current.task.dropped(fault)
    current.stopper.abort(fault)
  }

  function settle(own: typeof current, answer: () => void): void {
    if (!own || current !== own) return
    current = undefined
    own.timer.cancel()
    if (!own.isLate) answer()
    hooks.settled()
  }

  return {
    start(task, session) {
      const own = { task, stopper: new AbortController(), timer: clock.after(limits.deadlineMs, late), isLate: false }
      current = own
      task.run(session, own.stopper.signal).then(
        (ack) => settle(own, () => task.resolve(ack)),
        (error) => settle(own, () => task.failed(error)),
      )
    },
    drop(fault) {
      const own = current
      current = undefined
      if (!own) return
      own.timer.cancel()
      if (!own.isLate) own.task.dropped(fault)
      own.stopper.abort(fault)
    },
  }
}

// The queue: commands for one device, bounded and in order; a newer command may replace an older one.

export interface QueueLimits {
  /** Most commands queued for one device. */
  queue: number
  /** Most callers waiting for one of them, after their commands were merged. */
  waiters: number
  /** How long a command waits for its turn. */
  waitMs: number
}

/** A command with all callers that wait for its result. Settling it twice does nothing. */
export interface Job {
  readonly command: DriverCommand
  resolve(ack: Ack): void
  reject(fault: Fault): void
}

/**
 * Counts the characters of the args of all commands that are queued or in progress, for all devices. If they exceed the
 * limit, the device with the most queued characters loses its newest command.
 */
export class CommandRoom {
  readonly #mostChars: number
  readonly #queues = new Set<CommandQueue>()
  #chars = 0

  constructor(mostChars: number) {
    this.#mostChars = mostChars
  }

  get chars(): number {
    return this.#chars
  }

  /** @param by negative to release */
  count(by: number): void {
    this.#chars += by
  }

  join(queue: CommandQueue): void {
    this.#queues.add(queue)
    while (this.#chars > this.#mostChars) {
      let most: CommandQueue | undefined
      for (const one of this.#queues) if (!most || one.waitingChars > most.waitingChars) most = one
      if (!most) return
      most.refuseNewest(new Fault('driver_queue_full', 'too many commands wait for all devices together'))
    }
  }

  leave(queue: CommandQueue): void {
    this.#queues.delete(queue)
  }
}

/** Overhead of a command besides its args. */
const COMMAND_CHARS = 704

interface Waiter {
  resolve(ack: Ack): void
  reject(fault: Fault): void
  timer: Timer
}

interface Waiting {
  command: DriverCommand
  chars: number
  waiters: Set<Waiter>
}

export class CommandQueue {
  readonly #clock: Clock
  readonly #limits: QueueLimits
  readonly #name: string
  readonly #room: CommandRoom
  #waiting: Waiting[] = []
  #chars = 0
  #coalesced = 0

  /** @param name the device's name in error messages */
  constructor(clock: Clock, limits: QueueLimits, name: string, room: CommandRoom) {
    this.#clock = clock
    this.#room = room
    this.#limits = limits
    this.#name = name
  }

  get length(): number {
    return this.#waiting.length
  }

  /** Characters of the queued commands. */
  get waitingChars(): number {
    return this.#chars
  }

  /** Commands that were merged into a newer one. */
  get coalesced(): number {
    return this.#coalesced
  }

  /** @returns the result. @throws Fault `driver_queue_full`, `driver_timeout` if its turn did not come */
  async add(command: DriverCommand): Promise<Ack> {
    const { queue, waiters } = this.#limits
    const overtaken = this.#waiting.findLast((job) => isOvertaken(job.command, command))
    if (overtaken) {
      if (overtaken.waiters.size >= waiters)
        throw new Fault('driver_queue_full', `${waiters} callers wait for one command of ${this.#name} already`)
      this.#overtake(overtaken, command)
      return this.#wait(overtaken)
    }
    if (this.#waiting.length >= queue)
      throw new Fault('driver_queue_full', `${queue} commands wait for ${this.#name} already`)
    const job: Waiting = { command, chars: charsOfCommand(command), waiters: new Set() }
    this.#waiting.push(job)
    this.#count(job.chars)
    return this.#wait(job)
  }

  /** Removes the next command from the queue. */
  take(): Job | undefined {
    const job = this.#waiting.shift()
    if (!job) return undefined
    this.#gone(job)
    for (const { timer } of job.waiters) timer.cancel()
    // Counted until its device has finished it.
    this.#room.count(job.chars)
    let isOver = false
    const end = () => {
      if (!isOver) this.#room.count(-job.chars)
      isOver = true
    }
    return {
      command: job.command,
      resolve(ack) {
        end()
        for (const waiter of job.waiters) waiter.resolve(ack)
      },
      reject(fault) {
        end()
        for (const waiter of job.waiters) waiter.reject(fault)
      },
    }
  }

  /** Rejects the newest command and its waiting callers. */
  refuseNewest(fault: Fault): void {
    const job = this.#waiting.pop()
    if (!job) return
    this.#gone(job)
    for (const { timer, reject } of job.waiters) {
      timer.cancel()
      reject(fault)
    }
  }

  /** Rejects all queued commands. */
  failAll(fault: Fault): void {
    for (let job = this.take(); job; job = this.take()) job.reject(fault)
  }

  /** Keeps its place, unless a later command concerns the same zone: the last request must be carried out last. */
  #overtake(job: Waiting, command: DriverCommand): void {
    job.command = command
    const before = job.chars
    job.chars = charsOfCommand(command)
    this.#count(job.chars - before)
    this.#coalesced++
    const behind = this.#waiting.slice(this.#waiting.indexOf(job) + 1)
    if (!behind.some((other) => isEntangled(other.command, command))) return
    this.#waiting = [...this.#waiting.filter((other) => other !== job), job]
  }

  #wait(job: Waiting): Promise<Ack> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.#limits.waitMs, () => this.#giveUp(job, waiter))
      const waiter: Waiter = { resolve, reject, timer }
      job.waiters.add(waiter)
      this.#room.join(this)
    })
  }

  #giveUp(job: Waiting, waiter: Waiter): void {
    job.waiters.delete(waiter)
    // A command that nobody waits for any more is not carried out later, when nobody expects it.
    if (job.waiters.size === 0) this.#remove(job)
    waiter.reject(
      new Fault('driver_timeout', `${this.#name} was busy: no turn within ${durationText(this.#limits.waitMs)}`),
    )
  }

  #remove(job: Waiting): void {
    const { length } = this.#waiting
    this.#waiting = this.#waiting.filter((other) => other !== job)
    if (this.#waiting.length < length) this.#gone(job)
  }

  #gone(job: Waiting): void {
    this.#count(-job.chars)
    if (this.#waiting.length === 0) this.#room.leave(this)
  }

  #count(by: number): void {
    this.#chars += by
    this.#room.count(by)
  }
}

function charsOfCommand({ args }: DriverCommand): number {
  return COMMAND_CHARS + charsOf(args)
}

/** The newer command replaces the older: the same zone and verb, and a value for each of its args. */
function isOvertaken(older: DriverCommand, newer: DriverCommand): boolean {
  // Commands to a whole device may concern different things: register 2 does not replace register 1.
  if (!older.zone || older.zone.id !== newer.zone?.id) return false
  const verb = foldedName(newer.verb)
  if (foldedName(older.verb) !== verb || ADDING_VERBS.has(verb)) return false
  return Object.keys(older.args).every((key) => Object.hasOwn(newer.args, key))
}

/** Whether their order matters: a command to the whole device may affect any zone. */
function isEntangled(one: DriverCommand, other: DriverCommand): boolean {
  return !one.zone || !other.zone || one.zone.id === other.zone.id
}
