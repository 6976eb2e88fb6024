/** A send that has a limit: what the driver did not take in time must not go out later, when nobody expects it. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/fault.ts'
import type { Line } from '#kit/line/line.ts'

export interface SendLimit {
  clock: Clock
  line: Pick<Line, 'flush'>
  limitMs: number
  /** What the sender is told. @param waitedMs whole milliseconds since the send began */
  late(waitedMs: number): Fault
}

/** Resolves when `send` does; past the limit the line throws away what it holds, and everyone who waits is told. */
export function sendWithin({ clock, line, limitMs, late }: SendLimit, send: () => Promise<void>): Promise<void> {
  const startMs = clock.monotonicMs()
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => {
      reject(late(Math.round(clock.monotonicMs() - startMs)))
      line.flush().catch(() => {}) // a line that is gone has nothing left to throw away
    })
    send()
      .then(resolve, reject)
      .finally(() => timer.cancel())
  })
}
