/** Waits in end-to-end tests, where the time is the world's. */

const STEP_MS = 5

/** Resolves when `isTrue` is; fails with `what` after `limitMs`. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>, limitMs = 10_000): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${limitMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, STEP_MS))
  }
}
