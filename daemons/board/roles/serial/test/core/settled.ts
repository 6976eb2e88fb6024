/** Lets ready promises settle. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
