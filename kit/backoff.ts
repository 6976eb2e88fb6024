/** Waits between tries that grow and stay bounded. */

export interface BackoffLimits {
  /** Wait before the first retry, in milliseconds. */
  firstMs: number
  /** The longest wait, in milliseconds. */
  maxMs: number
}

/** @returns a function that gives the wait before the next try (doubling each time), and `reset` for after a success */
export function createBackoff(limits: BackoffLimits) {
  let nextMs = limits.firstMs
  return {
    next(): number {
      const waitMs = nextMs
      nextMs = Math.min(limits.maxMs, nextMs * 2)
      return waitMs
    },
    reset(): void {
      nextMs = limits.firstMs
    },
  }
}
