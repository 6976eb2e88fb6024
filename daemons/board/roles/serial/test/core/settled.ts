/** Lets promises that are ready run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
