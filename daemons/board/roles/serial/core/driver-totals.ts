/** What the driver counted of a port, over every time it was opened. */
import type { DriverCounts } from '#kit/line/line.ts'

/** Names as the API has them. */
export interface DriverTotals {
  overruns: number
  framing: number
  parity: number
  breaks: number
}

const NONE: DriverTotals = { overruns: 0, framing: 0, parity: 0, breaks: 0 }

/** Counts of one port. */
export interface DriverCounter {
  /** @param counts since the line was opened; null where the driver keeps none */
  read(counts: DriverCounts | null): void
  /** The line was closed: the next counts begin at 0. */
  closed(): void
  /** Null while no driver has counted anything. */
  totals(): DriverTotals | null
}

export function createDriverCounter(): DriverCounter {
  let before = NONE
  let now: DriverTotals | null = null
  let isKnown = false
  return {
    read(counts) {
      if (counts === null) return
      isKnown = true
      const { overrun, buf_overrun: kernelOverrun, frame: framing, parity, brk: breaks } = counts
      now = { overruns: overrun + kernelOverrun, framing, parity, breaks }
    },
    closed() {
      before = sum(before, now ?? NONE)
      now = null
    },
    totals: () => (isKnown ? sum(before, now ?? NONE) : null),
  }
}

function sum(one: DriverTotals, other: DriverTotals): DriverTotals {
  return {
    overruns: one.overruns + other.overruns,
    framing: one.framing + other.framing,
    parity: one.parity + other.parity,
    breaks: one.breaks + other.breaks,
  }
}
