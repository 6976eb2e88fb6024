/** Scheduling helpers: a queue per key, a limited number of tasks at once, a wait with a timeout. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn, type InTurn } from '#kit/pure/pace.ts'

// A queue per key.

interface Turns<Key> {
  /** Runs after everything requested earlier for the same key has ended, successfully or not. */
  run<Result>(key: Key, change: () => Promise<Result>): Promise<Result>
}

/** Keys without waiting tasks are removed. @param make how those of one key wait; default: one after another */
export function createTurnsByKey<Key>(make: () => InTurn = createSerialTurn): Turns<Key> {
  const lines = new Map<Key, { inTurn: InTurn; waiting: number }>()
  return {
    async run(key, change) {
      const line = lines.get(key) ?? { inTurn: make(), waiting: 0 }
      lines.set(key, line)
      line.waiting++
      try {
        return await line.inTurn(change)
      } finally {
        if (--line.waiting === 0) lines.delete(key)
      }
    },
  }
}

// A limited number of tasks at once; the others wait in order.

/** Runs a task when a slot is free. */
export type InSlots = <Result>(task: () => Promise<Result>) => Promise<Result>

/**
 * Between two tasks in a slot the event loop gets to run: ten thousand tasks that wait for nothing would otherwise
 * block the process for a second (measured).
 * @param most how many run at once. The queue is bounded by the caller: one opening per device.
 */
export function createSlots(most: number, clock: Clock): InSlots {
  const waiting: (() => void)[] = []
  let running = 0
  return async (task) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await task()
    } finally {
      // The slot is handed over directly, so that a newcomer cannot take it.
      const next = waiting.shift()
      if (next) clock.soon(next)
      else running--
    }
  }
}

// A wait with a timeout.

interface End {
  clock: Clock
  limitMs: number
  /** The error for a task that takes longer. */
  late(): Fault
  /** Ends the wait early, with its reason. */
  stop?: AbortSignal
}

/** Settles as `task` does, or rejects at the timeout; the task's later result is then ignored. */
export function within<Result>(task: Promise<Result>, { clock, limitMs, late, stop }: End): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stopped = () => done(() => reject(stop?.reason))
    const timer = clock.after(limitMs, () => done(() => reject(late())))
    const done = (settle: () => void) => {
      timer.cancel()
      stop?.removeEventListener('abort', stopped)
      settle()
    }
    stop?.addEventListener('abort', stopped, { once: true })
    task.then(
      (result) => done(() => resolve(result)),
      (error) => done(() => reject(error)),
    )
    if (stop?.aborted) stopped()
  })
}
