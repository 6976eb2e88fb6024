/** Waits for something, but not for ever. */
import type { Clock } from '#kit/clock.ts'

/**
 * @param running goes on if it takes longer; its failure within the time is told, and after it is its owner's
 * @returns when it is over, or after `ms`
 */
export async function atMost(clock: Clock, ms: number, running: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = clock.after(ms, late.resolve)
  try {
    await Promise.race([running, late.promise])
  } finally {
    timer.cancel()
  }
}
