/** What is under way on one device: one command or poll, its deadline, and how long its driver may take to let go. */
import { durationText } from '#kit/bytes/words.ts'
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { Ack } from './driver.ts'
import type { HeldSession } from './driver-session.ts'

export interface TurnLimits {
  /** Deadline of one command or poll. */
  deadlineMs: number
  /** How long a driver may take to let go of one that is late, before its session is given up. */
  graceMs: number
}

/** A command with who waits for it, or a poll. */
export interface Task {
  run(session: HeldSession, signal: AbortSignal): Promise<Ack>
  resolve(ack: Ack): void
  /** The driver threw. */
  failed(error: unknown): void
  /** The deadline, or the loss of the device. */
  dropped(fault: Fault): void
}

/** What the lane does about it. */
export interface TurnHooks {
  /** The driver is done, in time or not, and the task is answered. */
  settled(): void
  late(): void
  /** The driver does not let go: its session is worth nothing. */
  stuck(): void
}

export interface Turn {
  /** Only where nothing is under way. */
  start(task: Task, session: HeldSession): void
  /** Ends what is under way: it is told, its driver too, and what comes of it is nobody's. */
  drop(fault: Fault): void
}

/** @param name as sentences name the device */
export function createTurn(clock: Clock, limits: TurnLimits, name: string, hooks: TurnHooks): Turn {
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
