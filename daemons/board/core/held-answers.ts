/** Answers to wrong passwords, which take longer and longer, so that guessing does too. */
import type { SlowDown } from '#kit/auth/slow-down.ts'
import { type Clock, wait } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'

/** One network gets this part of the places: the others are there for the rest of the world. */
const SHARE = 1 / 8

export interface HeldAnswers {
  /**
   * Before a password of this network is looked at.
   * @throws Fault `slow_down` with `details.retryAfterMs`, where as many of its answers wait already as may
   */
  check(network: string): void
  /** After a wrong one: counts it, and resolves when it may be answered. */
  hold(network: string): Promise<void>
  /** After a right one: forgets what this network did wrong. */
  forget(network: string): void
}

/** @param by `most` answers wait at once, of all networks */
export function createHeldAnswers(by: { clock: Clock; wrong: SlowDown; most: number }): HeldAnswers {
  const { clock, wrong, most } = by
  const waiting = new Map<string, number>()

  function count(network: string, step: number): void {
    const now = (waiting.get(network) ?? 0) + step
    if (now > 0) waiting.set(network, now)
    else waiting.delete(network)
  }

  return {
    check(network) {
      const waitMs = wrong.check(network)
      if (waitMs === 0) return
      const all = [...waiting.values()].reduce((sum, one) => sum + one, 0)
      if (all < most && (waiting.get(network) ?? 0) < Math.max(1, most * SHARE)) return
      throw new Fault('slow_down', 'as many wrong passwords as may are waiting for their answer: try again soon', {
        details: { retryAfterMs: waitMs },
      })
    },
    async hold(network) {
      wrong.failed(network)
      const waitMs = wrong.check(network)
      if (waitMs === 0) return
      count(network, 1)
      await wait(clock, waitMs)
      count(network, -1)
    },
    forget: (network) => wrong.succeeded(network),
  }
}
