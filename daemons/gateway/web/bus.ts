/** What can be read from the frames of the last minute: units, reply times, and who held the line. */
import type { Row } from './frame-row.ts'

/** One unit as the frames show it. */
export interface Unit {
  unit: number
  answers: number
  /** Questions without an answer in time. */
  misses: number
  late: number
  /** Those in answer to a scan not counted. */
  exceptions: number
  /** The newest thing seen of it was an answer in time. */
  isWell: boolean
  /** Middle reply time; null before the first answer. */
  middleMs: number | null
  /** Reply times, oldest first. */
  history: number[]
  /** Longest late reply, ms after its question; null where none was seen. */
  lateMs: number | null
}

/** How far back the page judges. */
export const JUDGED_MS = 60_000

/** Units seen since `fromMs`, by number. */
export function unitsOf(rows: readonly Row[], fromMs: number): Unit[] {
  const units = new Map<number, Unit>()
  let asked: Row | undefined
  for (const row of rows) {
    if (row.unit === null || row.at < fromMs) continue
    let unit = units.get(row.unit)
    if (!unit) {
      unit = {
        unit: row.unit,
        answers: 0,
        misses: 0,
        late: 0,
        exceptions: 0,
        isWell: true,
        middleMs: null,
        history: [],
        lateMs: null,
      }
      units.set(row.unit, unit)
    }
    if (row.kind === 'ask') asked = row
    note(unit, row, asked?.isScan === true && asked.unit === row.unit)
  }
  for (const unit of units.values()) unit.middleMs = quantile(unit.history, 0.5)
  return [...units.values()]
    .filter((unit) => unit.answers + unit.misses + unit.late > 0)
    .sort((a, b) => a.unit - b.unit)
}

function note(unit: Unit, row: Row, isScanned: boolean): void {
  if (row.kind === 'answer') {
    unit.answers += 1
    unit.isWell = true
    if (row.lit === 'warn' && !isScanned) unit.exceptions += 1
    if (row.tookMs !== null) unit.history.push(row.tookMs)
  } else if (row.kind === 'miss') {
    unit.misses += 1
    unit.isWell = false
  } else if (row.kind === 'late') {
    unit.late += 1
    if (row.tookMs !== null) unit.lateMs = Math.max(unit.lateMs ?? 0, row.tookMs)
  }
}

/** The value below which `share` of the values lie; null of none. */
export function quantile(values: readonly number[], share: number): number | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null
}

/** A piece of the bus strip; `x` and `width` in thousandths of its span. */
export interface Slot {
  kind: 'ask' | 'answer' | 'late' | 'noise' | 'wait' | 'miss'
  x: number
  width: number
}

/** What the strip shows. */
export interface Span {
  /** End of the strip, the gateway's epoch ms. */
  toMs: number
  spanMs: number
  /** How long one byte takes on the line. */
  msPerByte: number
}

/** A frame must be seen even when it is shorter than a pixel. */
const LEAST_WIDTH = 3.2

/** Who held the line, from the frames. */
export function slotsOf(rows: readonly Row[], { toMs, spanMs, msPerByte }: Span): Slot[] {
  const fromMs = toMs - spanMs
  const near = rows.filter((row) => row.at >= fromMs - spanMs && row.kind !== 'note')
  // The exact clock says how far frames lie apart; the smallest distance to wall time is the one with the least delay.
  const aheadMs = Math.min(...near.flatMap((row) => (row.monotonicMs === null ? [] : [row.at - row.monotonicMs])))
  const endOf = (row: Row): number => (row.monotonicMs === null ? row.at : row.monotonicMs + aheadMs)
  const place = (atMs: number): number => ((atMs - fromMs) / spanMs) * 1000
  const slots: Slot[] = []
  let askedAt: number | null = null
  let startedAt = fromMs - spanMs
  for (const row of near) {
    const end = endOf(row)
    if (row.kind === 'miss') {
      if (askedAt !== null) slots.push({ kind: 'wait', x: place(askedAt), width: place(end) - place(askedAt) })
      slots.push({ kind: 'miss', x: place(end), width: 2 })
      askedAt = null
    } else if (row.kind !== 'note') {
      const width = Math.max(LEAST_WIDTH, ((row.length * msPerByte) / spanMs) * 1000)
      // A write is stamped when it begins, a read when its last byte came.
      const x = row.kind === 'ask' ? place(end) : Math.max(place(end) - width, place(startedAt))
      slots.push({ kind: row.kind, x, width })
      if (row.kind === 'ask') startedAt = end
      askedAt = row.kind === 'ask' ? end + row.length * msPerByte : null
    }
  }
  return slots.filter((slot) => slot.x + slot.width > 0 && slot.x < 1000).map(clipped)
}

function clipped(slot: Slot): Slot {
  const x = Math.max(0, slot.x)
  return { ...slot, x, width: Math.max(0.5, Math.min(1000, slot.x + slot.width) - x) }
}
