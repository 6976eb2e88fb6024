/** The parts of a lane: the driver's session, and the command queue. */

import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { ADDING_VERBS, foldedName } from '../control/reading.ts'
import { charsOf, type Json } from '../json.ts'
import type { LiveKeeper, LiveTarget } from '../live/live-book.ts'
import type { Row } from '../site/book.ts'
import { within } from '../turns.ts'
import {
  type Ack,
  type BrokerConnection,
  type BrokerPlace,
  type BrokerUse,
  type Connection,
  type ConnectionEvents,
  type ConnectionPlace,
  type DeviceAnswer,
  type DeviceRequest,
  type DeviceWorld,
  type Driver,
  DriverClock,
  type DriverCommand,
  type DriverContext,
  type DriverSession,
  type DriverWorld,
  type Place,
  type Sender,
} from './driver.ts'

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

/**
 * What a lane hears of its session: `online`, `away` (out of reach, while the session goes on), `lost`, and `settled`:
 * the call of `open` has ended, in time or not. @param error why, of `away` and `lost`
 */
type SessionListener = (event: 'online' | 'away' | 'lost' | 'settled', error?: string) => void

/** Columns of a device that a driver gets only through `secret`. */
const SECRETS = ['password', 'api_key'] as const

/**
 * Opens a device. A session that arrives too late, or after `stop`, is closed at once.
 * @throws Fault `driver_timeout`, the reason of `stop`, or what the driver threw
 */
export async function openSession(
  parts: SessionParts,
  stop: AbortSignal,
  listener: SessionListener,
): Promise<HeldSession> {
  const { driver, device, zones, world, limits } = parts
  const context = new SessionContext(parts, stop, listener)
  const opening = (async () => driver.open(publicRow(device), zones, context))()
  const settled = () => listener('settled')
  opening.then(settled, settled)
  try {
    const late = () => new Fault('driver_timeout', `opening took longer than ${durationText(limits.openMs)}`)
    const session = await within(opening, { clock: world.clock, limitMs: limits.openMs, late, stop })
    if (context.ended !== undefined) throw new Fault('device_cut_off', context.ended)
    return new HeldSession(session, context, parts)
  } catch (error) {
    context.end()
    // The result no longer matters: the error thrown here says why there is no session.
    opening.then(async (session) => session.close()).catch(() => {})
    throw error
  }
}

// Classes, here and below: ten thousand devices with a closure for each method would hold twice the memory.

/** A session as the lane uses it. What a driver throws becomes a rejected promise. */
export class HeldSession {
  readonly #session: DriverSession
  readonly #context: SessionContext
  readonly #parts: SessionParts

  constructor(session: DriverSession, context: SessionContext, parts: SessionParts) {
    this.#session = session
    this.#context = context
    this.#parts = parts
  }

  get isPolled(): boolean {
    return this.#session.poll !== undefined
  }

  get takesWebhooks(): boolean {
    return this.#session.tell !== undefined
  }

  async execute(command: DriverCommand, signal: AbortSignal): Promise<Ack> {
    return this.#session.execute(command, signal)
  }

  async poll(signal: AbortSignal): Promise<void> {
    await this.#session.poll?.(signal)
  }

  tell(body: Uint8Array): void {
    this.#session.tell?.(body)
  }

  /** Resolves when it is closed, or closing took too long. Never rejects. */
  async close(): Promise<void> {
    const { world, limits } = this.#parts
    this.#context.silence()
    const late = () => new Fault('driver_timeout', `closing took longer than ${durationText(limits.closeMs)}`)
    // Whatever the result, its connections are then cut: nothing of it remains.
    const closing = (async () => this.#session.close())()
    await within(closing, { clock: world.clock, limitMs: limits.closeMs, late }).catch(() => {})
    this.#context.end()
  }
}

/** A driver may report only on its own device and zones, and only during its session. */
class SessionContext implements DriverContext {
  readonly #parts: SessionParts
  readonly #ground: DeviceWorld
  readonly #stop: AbortSignal
  readonly #listener: SessionListener
  #clock: Clock | undefined
  #isSilent = false
  #ended: string | undefined

  constructor(parts: SessionParts, stop: AbortSignal, listener: SessionListener) {
    this.#parts = parts
    this.#ground = parts.world.open(parts.device)
    this.#stop = stop
    this.#listener = listener
  }

  /** Why its connection has ended; undefined if it has not. */
  get ended(): string | undefined {
    return this.#ended
  }

  /** Ignores the driver from now on. */
  silence(): void {
    this.#isSilent = true
  }

  /** Closes its connections as well. */
  end(): void {
    this.#isSilent = true
    this.#ground.close()
  }

  /** Made when it is wanted: most drivers set no timers. */
  get clock(): Clock {
    this.#clock ??= new DriverClock(this.#parts.world.clock, (error) =>
      this.#connectionLost(`its driver failed: ${error instanceof Error ? error.message : String(error)}`),
    )
    return this.#clock
  }

  chance(): number {
    return this.#parts.world.chance()
  }

  log(sentence: string): void {
    this.#ground.log(sentence)
  }

  hush(isHushed: boolean): void {
    this.#ground.hush(isHushed)
  }

  sender(place: Place): Sender {
    return this.#ground.sender(place)
  }

  request(request: DeviceRequest, signal: AbortSignal): Promise<DeviceAnswer> {
    return this.#ground.request(request, signal)
  }

  connect(place: ConnectionPlace, frame: ConnectionEvents['frame']): Promise<Connection> {
    return this.#ground.connect(place, {
      frame: (bytes) => !this.#isHeard || frame(bytes),
      lost: (reason) => this.#connectionLost(reason),
    })
  }

  connectBroker(place: BrokerPlace, topics: readonly string[], hear: BrokerUse['hear']): Promise<BrokerConnection> {
    return this.#ground.connectBroker(place, {
      topics,
      hear: (topic, payload) => {
        if (this.#isHeard) hear(topic, payload)
      },
      lost: (reason) => this.#connectionLost(reason),
    })
  }

  report(target: LiveTarget, patch: Readonly<Record<string, Json>>): void {
    if (!this.#isHeard) return
    const isOwn = 'zoneId' in target ? this.#hasZone(target.zoneId) : target.deviceId === this.#parts.device.id
    const left = isOwn ? this.#parts.live.report(target, patch) : Object.keys(patch).length
    if (left > 0)
      this.#ground.log(`${left} values of a report were left out: too many, too large, or not of this device`)
  }

  lastOf(zoneId: number, name: string): Json | undefined {
    return this.#hasZone(zoneId) ? this.#parts.live.last(zoneId, name) : undefined
  }

  online(isOnline: boolean, error?: string): void {
    if (!this.#isHeard) return
    if (isOnline) this.#listener('online')
    else this.#listener('lost', error ?? 'the device is gone')
  }

  away(reason: string): void {
    if (this.#isHeard) this.#listener('away', reason)
  }

  secret(column: (typeof SECRETS)[number]): string | null {
    const value: Json | undefined = SECRETS.includes(column) ? this.#parts.device[column] : null
    return typeof value === 'string' ? value : null
  }

  get #isHeard(): boolean {
    return !this.#isSilent && !this.#stop.aborted
  }

  #hasZone(zoneId: number): boolean {
    return this.#parts.zones.some(({ id }) => id === zoneId)
  }

  #connectionLost(reason: string): void {
    if (!this.#isHeard) return
    this.#ended = reason
    this.#listener('lost', reason)
  }
}

function publicRow(device: Row): Row {
  if (SECRETS.every((name) => (device[name] ?? null) === null)) return device
  return { ...device, ...Object.fromEntries(SECRETS.filter((name) => name in device).map((name) => [name, null])) }
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
    if (this.#waiting.length >= queue && !this.#giveWay(command))
      throw new Fault('driver_queue_full', `${queue} commands wait for ${this.#name} already`)
    const job: Waiting = { command, chars: charsOfCommand(command), waiters: new Set() }
    this.#waiting.push(job)
    this.#count(job.chars)
    return this.#wait(job)
  }

  /**
   * Takes a place from the user who has most in the queue, if who asks has fewer: nobody keeps others from a device by
   * asking often. The house itself gives no place away.
   */
  #giveWay({ by }: DriverCommand): boolean {
    const counts = new Map<number | undefined, number>()
    for (const { command } of this.#waiting) counts.set(command.by, (counts.get(command.by) ?? 0) + 1)
    const own = counts.get(by) ?? 0
    counts.delete(undefined)
    const [[most, count] = [undefined, 0]] = [...counts].toSorted(([, one], [, other]) => other - one)
    const job = count > own + 1 ? this.#waiting.findLast(({ command }) => command.by === most) : undefined
    if (job) this.#refuse(job, new Fault('driver_queue_full', `${count} commands of one user wait for ${this.#name}`))
    return job !== undefined
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
    const job = this.#waiting.at(-1)
    if (job) this.#refuse(job, fault)
  }

  #refuse(job: Waiting, fault: Fault): void {
    this.#remove(job)
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

function charsOfCommand({ args, lead }: DriverCommand): number {
  return COMMAND_CHARS + charsOf(args) + (lead === undefined ? 0 : charsOf(lead.args))
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
