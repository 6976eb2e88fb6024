/** Tells of changes at once, and of those that follow closely together: whoever is told has a price. */
import type { Clock, Timer } from '#kit/clock.ts'

/**
 * @param apartMs least time from one call of `run` to the next; the last change is always told
 * @returns to be called with each change; a timer of at most `apartMs` may be left behind
 */
export function gathered(clock: Clock, apartMs: number, run: () => void): () => void {
  let timer: Timer | undefined
  let isDue = false

  function tell(): void {
    timer = clock.after(apartMs, () => {
      timer = undefined
      if (isDue) tell()
    })
    isDue = false
    run()
  }

  return () => {
    if (timer) isDue = true
    else tell()
  }
}
