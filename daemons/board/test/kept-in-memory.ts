/** A state file without a disk. */
import type { Kept } from '../core/machine/ports.ts'

export function keptInMemory<T>(first: T): { file: Kept<T>; saved(): T; fail(fault: Error | undefined): void } {
  let value = first
  let failure: Error | undefined
  return {
    file: {
      load: async () => structuredClone(value),
      async save(next) {
        if (failure) throw failure
        value = structuredClone(next)
      },
    },
    saved: () => value,
    fail(fault) {
      failure = fault
    },
  }
}
