/** Waits in end-to-end tests, where the time is the world's. */

/** Between two looks: what comes soon is seen soon, and what takes seconds is not asked for two hundred times in each. */
const FIRST_STEP_MS = 5
const MOST_STEP_MS = 25
const STEP_GROWTH = 1.2
/** Only what fails waits so long: a virtual machine may be robbed of a quarter of its time. */
const LIMIT_MS = 25_000

/** Resolves when `isTrue` is; fails with `what` after `limitMs`. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
  const endMs = performance.now() + limitMs
  for (let stepMs = FIRST_STEP_MS; !(await isTrue()); stepMs = Math.min(MOST_STEP_MS, stepMs * STEP_GROWTH)) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${limitMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, stepMs))
  }
}
