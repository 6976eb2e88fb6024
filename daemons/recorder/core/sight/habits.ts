/**
 * Places in the pictures of one camera where something small changes minute after minute by itself: the clock that a camera
 * writes into its picture, or a lamp that blinks.
 */

/** Cells of the picture that hang together, by their number, and the strip in which they lie. */
export interface Patch {
  cells: readonly number[]
  left: number
  top: number
  right: number
  bottom: number
}

export interface Habits {
  /** Something has changed there, however often it does. @param at epoch milliseconds, of the picture */
  note(patches: readonly Patch[], at: number): void
  /** Whether it is small, and touches a place that changes all the time. */
  isHabit(patch: Patch): boolean
}

/** What is higher or wider is no line of text, and no habit. */
const MOST_ROWS = 3
const MOST_COLUMNS = 14
/** Whether a place has changed is counted once in so long, as the last digit of a clock without seconds does. */
const SLOT_MS = 60_000
/** Nine such minutes, one after the other, make a habit, and two without end it. */
const RATE = 0.15
const HABIT = 0.75
/** Of all cells; where more change all the time, those that do so most. */
const MOST_PART = 0.05
/** Digits beside those that change all the time belong to them. */
const BESIDE = 2

export function createHabits({ columns, rows }: { columns: number; rows: number }): Habits {
  const share = new Float32Array(columns * rows)
  const hasChanged = new Uint8Array(columns * rows)
  let least = HABIT
  let slotAt = 0

  function endSlot(): void {
    for (let cell = 0; cell < share.length; cell++)
      share[cell] = (share[cell] ?? 0) + RATE * ((hasChanged[cell] ?? 0) - (share[cell] ?? 0))
    hasChanged.fill(0)
    const beyond = share.toSorted()[share.length - 1 - Math.floor(MOST_PART * share.length)] ?? 0
    least = Math.max(HABIT, beyond)
  }

  return {
    note(patches, at) {
      if (at - slotAt >= SLOT_MS || at < slotAt) {
        if (slotAt > 0) endSlot()
        slotAt = at
      }
      for (const patch of patches) if (isSmall(patch)) for (const cell of patch.cells) hasChanged[cell] = 1
    },
    isHabit(patch) {
      if (!isSmall(patch)) return false
      const { bottom, left, right, top } = patch
      for (let y = Math.max(0, top - 1); y <= Math.min(rows - 1, bottom + 1); y++)
        for (let x = Math.max(0, left - BESIDE); x <= Math.min(columns - 1, right + BESIDE); x++)
          if ((share[y * columns + x] ?? 0) > least) return true
      return false
    },
  }
}

function isSmall({ bottom, left, right, top }: Patch): boolean {
  return bottom - top < MOST_ROWS && right - left < MOST_COLUMNS
}
