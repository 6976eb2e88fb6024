/** The wait of an answer for its record: bounded, so that a disk that takes nothing holds up nobody for ever. */
import type { Clock } from '#kit/clock.ts'

/**
 * @param kept resolves once the record is on the disk; never rejects
 * @param recordMs config `audit.record_ms`
 * @returns whether it was there in time
 */
export function recordInTime(kept: Promise<void>, clock: Clock, recordMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.after(recordMs, () => resolve(false))
    void kept.then(() => {
      timer.cancel()
      resolve(true)
    })
  })
}
