/** Who goes when: one after another by key, a limited number at once, a wait with a time limit. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { createTurn, type InTurn } from '#kit/pure/pace.ts'

// One after another, by key.

interface Turns<Key> {
  /** Runs after what was asked for the same key before, whatever came of it. */
  run<Result>(key: Key, change: () => Promise<Result>): Promise<Result>
}

/** Keys that nobody waits for are forgotten. */
export function createTurns<Key>(): Turns<Key> {
  const lines = new Map<Key, { inTurn: InTurn; waiting: number }>()
  return {
    async run(key, change) {
      const line = lines.get(key) ?? { inTurn: createTurn(), waiting: 0 }
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

// A limited number at once, the others in order behind them.

/** Runs a task when its turn has come. */
export type InSlots = <Result>(task: () => Promise<Result>) => Promise<Result>

/**
 * Between one task and the next in its slot requests are read: ten thousand tasks that wait for nothing would keep the
 * process to themselves for a second (measured).
 * @param most how many run at once. Who waits is bounded by the caller: one opening for each device.
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
      // The slot goes from hand to hand: a newcomer does not slip in between.
      const next = waiting.shift()
      if (next) clock.soon(next)
      else running--
    }
  }
}

// A wait with a time limit.

interface End {
  clock: Clock
  limitMs: number
  /** What is said of a task that takes longer. */
  late(): Fault
  /** Ends the wait early, with its reason. */
  stop?: AbortSignal
}

/** Settles as `task` does, or rejects at the end; what comes of the task then is nobody's. */
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
