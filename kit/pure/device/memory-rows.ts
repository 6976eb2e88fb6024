/** What device definitions may hold, as rows of a daemon's memory plan. */
import { KIB, type MemoryRow } from '../memory-plan.ts'

/** A definition in memory, by the bytes of its file without blanks. @source measured: 16 */
const GROWTH = 24

/**
 * A session with 256 questions of its own, their timers, 8 commands that wait, and what one of them may say.
 * @source measured: 43 KiB
 */
const SESSION_BYTES = 96 * KIB

/** @param bytes setting of the files in use; @param many setting of how many devices may be spoken with at once */
export function definitionRows(bytes: string, many: string): MemoryRow[] {
  return [
    {
      ...{ what: 'device definitions in use', isHeap: true },
      all: (setting) => GROWTH * setting(bytes),
      shownBy: 'kit/test/device/memory.test.ts',
    },
    {
      ...{ what: 'sessions of devices by definition, with their polls', of: 'device', isHeap: true },
      each: SESSION_BYTES,
      many,
      shownBy: 'kit/test/device/memory.test.ts',
    },
  ]
}
