/** Hosts that were told to go, and may not come back for a while: many clients do so at once. */
import type { Clock } from '#kit/clock.ts'

/** More than anybody detaches by hand within a minute; beyond it the oldest is forgotten. */
const MOST_HOSTS = 64

/** Who is held off. */
export interface HoldOff {
  hold(address: string): void
  isHeld(address: string): boolean
  /** Epoch ms at which the last of them may come again; null where nobody is held off. */
  untilAt(): number | null
}

/** @param holdMs how long; 0 holds nobody off */
export function createHoldOff(clock: Clock, holdMs: number): HoldOff {
  const untilMs = new Map<string, number>()

  function forgetOld(): void {
    for (const [address, until] of untilMs) if (until <= clock.monotonicMs()) untilMs.delete(address)
  }

  return {
    hold(address) {
      forgetOld()
      untilMs.delete(address)
      untilMs.set(address, clock.monotonicMs() + holdMs)
      for (const oldest of untilMs.keys()) {
        if (untilMs.size <= MOST_HOSTS) break
        untilMs.delete(oldest)
      }
    },
    isHeld(address) {
      forgetOld()
      return untilMs.has(address)
    },
    untilAt() {
      forgetOld()
      const last = Math.max(...untilMs.values())
      return untilMs.size === 0 ? null : Math.ceil(clock.epochMs() + last - clock.monotonicMs())
    },
  }
}
