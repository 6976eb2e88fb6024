/** The silence before each request. */
import type { Clock, Timer } from '#kit/clock.ts'

export interface SilenceParts {
  clock: Clock
  /** When the line has been silent long enough, by the monotonic clock; moves on with each byte. */
  silentAtMs(): number
  /** How long silence is waited for. */
  limitMs: number
  onSilent(): void
  onBusy(waitedMs: number): void
}

/**
 * Waits for silence. Even where the line was silent for long, input that lies in the driver is read before the send, so
 * that an old reply is never found behind a new request.
 */
export function awaitSilence(parts: SilenceParts): Timer {
  const { clock } = parts
  const sinceMs = clock.monotonicMs()
  let timer = next()

  function next(): Timer {
    const leftMs = parts.silentAtMs() - clock.monotonicMs()
    return leftMs > 0 ? clock.after(leftMs, waitOn) : clock.soon(look)
  }

  function look(): void {
    if (clock.monotonicMs() >= parts.silentAtMs()) parts.onSilent()
    else waitOn()
  }

  function waitOn(): void {
    const waitedMs = clock.monotonicMs() - sinceMs
    if (waitedMs >= parts.limitMs && clock.monotonicMs() < parts.silentAtMs()) parts.onBusy(Math.round(waitedMs))
    else timer = next()
  }

  return { cancel: () => timer.cancel() }
}
