/** How many new ids an address may bring: without a bound one client would fill the list of those that wait. */
import type { Clock } from '#kit/clock.ts'

export interface RegistrationBounds {
  perAddressPerHour: number
  /** Addresses that are counted; where all are, ids of further ones are not taken. */
  addresses: number
}

const HOUR_MS = 3_600_000

export function createRegistrations(clock: Pick<Clock, 'monotonicMs'>, bounds: RegistrationBounds) {
  const counted = new Map<string, { sinceMs: number; many: number }>()

  function makeRoom(nowMs: number): boolean {
    if (counted.size < bounds.addresses) return true
    for (const [share, { sinceMs }] of counted) if (nowMs - sinceMs >= HOUR_MS) counted.delete(share)
    return counted.size < bounds.addresses
  }

  return {
    /** @param share who the address counts as @returns whether it may bring one more */
    take(share: string): boolean {
      const nowMs = clock.monotonicMs()
      const known = counted.get(share)
      if (known && nowMs - known.sinceMs < HOUR_MS) return known.many++ < bounds.perAddressPerHour
      if (!known && !makeRoom(nowMs)) return false
      counted.set(share, { sinceMs: nowMs, many: 1 })
      return true
    },
  }
}
