/** Waits in end-to-end tests, which run in real time. */

/**
 * Polling interval: it starts short for what comes soon, and grows so that slow things are not polled two hundred times
 * a second.
 */
const FIRST_STEP_MS = 5
const MOST_STEP_MS = 25
const STEP_GROWTH = 1.2
/** Reached only by failures: a virtual machine may lose a quarter of its time to others. */
const LIMIT_MS = 25_000

/** Resolves when `isTrue` returns true; fails with `what` after `limitMs`. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
  const endMs = performance.now() + limitMs
  for (let stepMs = FIRST_STEP_MS; !(await isTrue()); stepMs = Math.min(MOST_STEP_MS, stepMs * STEP_GROWTH)) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${limitMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, stepMs))
  }
}
