/** Waits in end-to-end tests, where the time is the world's. */

const STEP_MS = 5
/** Only what fails waits so long: a virtual machine may be robbed of a quarter of its time. */
const LIMIT_MS = 25_000

/** Resolves when `isTrue` is; fails with `what` after `limitMs`. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>, limitMs = LIMIT_MS): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${limitMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, STEP_MS))
  }
}
