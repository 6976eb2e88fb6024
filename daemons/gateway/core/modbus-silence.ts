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
 * Waits for silence. A timer is set even where the line was silent for long: between it and the send, input that lies
 * in the driver is read, so that an old reply is never found behind a new request.
 */
export function awaitSilence(parts: SilenceParts): Timer {
  const { clock } = parts
  const sinceMs = clock.monotonicMs()
  let timer = again()

  function again(): Timer {
    return clock.after(Math.max(1, parts.silentAtMs() - clock.monotonicMs()), look)
  }

  function look(): void {
    const waitedMs = clock.monotonicMs() - sinceMs
    if (clock.monotonicMs() >= parts.silentAtMs()) parts.onSilent()
    else if (waitedMs >= parts.limitMs) parts.onBusy(Math.round(waitedMs))
    else timer = again()
  }

  return { cancel: () => timer.cancel() }
}
