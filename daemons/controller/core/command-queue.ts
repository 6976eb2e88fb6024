/** Commands on their way to one device: bounded, in order, and what is overtaken by a newer one becomes that one. */
import { durationText } from '#kit/bytes/words.ts'
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { charsOf } from './bounded-value.ts'
import { ADDING_VERBS, foldedName } from './control/reading.ts'
import type { Ack, DriverCommand } from './driver.ts'

export interface QueueLimits {
  /** Commands that wait for one device. */
  queue: number
  /** Callers that wait for one of them: those whose commands became one. */
  waiters: number
  /** How long a command waits for its turn. */
  waitMs: number
}

/** A command with all who wait for its outcome. Settling it twice does nothing. */
export interface Job {
  readonly command: DriverCommand
  resolve(ack: Ack): void
  reject(fault: Fault): void
}

/**
 * Commands of all devices that wait or are being carried out, by the characters of their args. Where they are too many, the
 * device with most that waits loses its newest.
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

  /** @param by less where it is negative */
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

/** What a command takes beside its args. */
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

/** Belongs to one device. */
export class CommandQueue {
  readonly #clock: Clock
  readonly #limits: QueueLimits
  readonly #name: string
  readonly #room: CommandRoom
  #waiting: Waiting[] = []
  #chars = 0
  #coalesced = 0

  /** @param name as sentences name the device */
  constructor(clock: Clock, limits: QueueLimits, name: string, room: CommandRoom) {
    this.#clock = clock
    this.#room = room
    this.#limits = limits
    this.#name = name
  }

  get length(): number {
    return this.#waiting.length
  }

  /** Characters of what waits. */
  get waitingChars(): number {
    return this.#chars
  }

  /** Commands that became a newer one. */
  get coalesced(): number {
    return this.#coalesced
  }

  /** @returns what comes of it. @throws Fault `driver_queue_full`, `driver_timeout` where its turn did not come */
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

  /** The next one, which waits no longer. */
  take(): Job | undefined {
    const job = this.#waiting.shift()
    if (!job) return undefined
    this.#gone(job)
    for (const { timer } of job.waiters) timer.cancel()
    // It is held until its device is done with it.
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

  /** Who waits for the last one is told. */
  refuseNewest(fault: Fault): void {
    const job = this.#waiting.pop()
    if (!job) return
    this.#gone(job)
    for (const { timer, reject } of job.waiters) {
      timer.cancel()
      reject(fault)
    }
  }

  /** Nobody waits any longer. */
  failAll(fault: Fault): void {
    for (let job = this.take(); job; job = this.take()) job.reject(fault)
  }

  /** It keeps its place, unless something behind it is for the same zone: what was asked last has to come last. */
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
    // What nobody waits for is not done later, when nobody expects it.
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

/** The newer one says all that the older says: the same zone and verb, and a value for each of its args. */
function isOvertaken(older: DriverCommand, newer: DriverCommand): boolean {
  // A device as a whole takes what belongs to many things: register 1 is not overtaken by register 2.
  if (!older.zone || older.zone.id !== newer.zone?.id) return false
  const verb = foldedName(newer.verb)
  if (foldedName(older.verb) !== verb || ADDING_VERBS.has(verb)) return false
  return Object.keys(older.args).every((key) => Object.hasOwn(newer.args, key))
}

/** Whether their order matters: a command for the device as a whole may touch any zone. */
function isEntangled(one: DriverCommand, other: DriverCommand): boolean {
  return !one.zone || !other.zone || one.zone.id === other.zone.id
}
