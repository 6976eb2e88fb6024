/** Commands that wait for one device: bounded, in order, and what is overtaken by a newer one becomes that one. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
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

interface Waiter {
  resolve(ack: Ack): void
  reject(fault: Fault): void
  timer: Timer
}

interface Waiting {
  command: DriverCommand
  waiters: Set<Waiter>
}

/** Belongs to one device. */
export class CommandQueue {
  readonly #clock: Clock
  readonly #limits: QueueLimits
  readonly #name: string
  #waiting: Waiting[] = []
  #coalesced = 0

  /** @param name as sentences name the device */
  constructor(clock: Clock, limits: QueueLimits, name: string) {
    this.#clock = clock
    this.#limits = limits
    this.#name = name
  }

  get length(): number {
    return this.#waiting.length
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
      return this.#join(overtaken)
    }
    if (this.#waiting.length >= queue)
      throw new Fault('driver_queue_full', `${queue} commands wait for ${this.#name} already`)
    const job: Waiting = { command, waiters: new Set() }
    this.#waiting.push(job)
    return this.#join(job)
  }

  /** The next one, which waits no longer. */
  take(): Job | undefined {
    const job = this.#waiting.shift()
    if (!job) return undefined
    for (const { timer } of job.waiters) timer.cancel()
    return {
      command: job.command,
      resolve(ack) {
        for (const waiter of job.waiters) waiter.resolve(ack)
      },
      reject(fault) {
        for (const waiter of job.waiters) waiter.reject(fault)
      },
    }
  }

  /** Nobody waits any longer. */
  failAll(fault: Fault): void {
    for (let job = this.take(); job; job = this.take()) job.reject(fault)
  }

  /** It keeps its place, unless something behind it is for the same zone: what was asked last has to come last. */
  #overtake(job: Waiting, command: DriverCommand): void {
    job.command = command
    this.#coalesced++
    const behind = this.#waiting.slice(this.#waiting.indexOf(job) + 1)
    if (!behind.some((other) => isEntangled(other.command, command))) return
    this.#remove(job)
    this.#waiting.push(job)
  }

  #join(job: Waiting): Promise<Ack> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.#limits.waitMs, () => this.#giveUp(job, waiter))
      const waiter: Waiter = { resolve, reject, timer }
      job.waiters.add(waiter)
    })
  }

  #giveUp(job: Waiting, waiter: Waiter): void {
    job.waiters.delete(waiter)
    // What nobody waits for is not done later, when nobody expects it.
    if (job.waiters.size === 0) this.#remove(job)
    waiter.reject(new Fault('driver_timeout', `${this.#name} was busy: no turn within ${this.#limits.waitMs} ms`))
  }

  #remove(job: Waiting): void {
    this.#waiting = this.#waiting.filter((other) => other !== job)
  }
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
