/** So many at once, the others in order behind them. */
import type { Clock } from '#kit/clock.ts'

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
