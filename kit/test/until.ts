/** Waits in end-to-end tests, which run in real time. */

/**
 * Polling interval: short for what comes soon, and an eighth of what was waited already. Each look at a daemon costs both
 * processes a millisecond, and slow things are not there sooner for being looked at forty times a second.
 */
const LEAST_STEP_MS = 5
const MOST_STEP_MS = 100
const STEP_OF_WAIT = 1 / 8
/** Reached only by failures: a virtual machine may lose a quarter of its time to others. */
const LIMIT_MS = 25_000

/** Resolves when `isTrue` returns true; fails with `what` after `limitMs`. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
  const beganMs = performance.now()
  while (!(await isTrue())) {
    const waitedMs = performance.now() - beganMs
    if (waitedMs > limitMs) throw new Error(`${what}: not within ${limitMs} ms`)
    const stepMs = Math.min(MOST_STEP_MS, Math.max(LEAST_STEP_MS, waitedMs * STEP_OF_WAIT))
    await new Promise((resolve) => setTimeout(resolve, stepMs))
  }
}
