/** The log of one port: events folded into lines, bounded, each told once. */
import type { PortEvent } from '../core/lines/ports.ts'
import { type Row, rowOf } from './frame-row.ts'

/** The log of one port. */
export interface FrameLog {
  /** Adds an event; after `replayed`, those that are already there change nothing, up to the first new one. */
  add(event: PortEvent): void
  /** The feed begins again: what comes first may be here already. */
  replayed(): void
  /** Says in the log that frames were left out before they came here. */
  skipped(many: number, atMs: number): void
  /** The lines kept, oldest first. A new array after every change. */
  rows(): readonly Row[]
  /** Events taken since the start. */
  taken(): number
}

/** @param most lines kept; the oldest go first */
export function createFrameLog(most: number): FrameLog {
  let rows: Row[] = []
  let shown: readonly Row[] = rows
  let isFresh = true
  let taken = 0
  const ids = new Set<string>()
  let isReplay = false

  function push(row: Row): void {
    if (isReplay && ids.has(row.id)) return
    isReplay = false
    ids.add(row.id)
    taken += 1
    rows.push({ ...row, serial: taken })
    isFresh = false
    if (rows.length < most * 2) return
    for (const old of rows.slice(0, -most)) ids.delete(old.id)
    rows = rows.slice(-most)
  }

  return {
    add(event) {
      const row = rowOf(event)
      if (row) push(row)
    },
    replayed() {
      isReplay = true
    },
    skipped(many, atMs) {
      push({
        serial: 0,
        id: `${atMs} skipped ${many}`,
        at: atMs,
        monotonicMs: null,
        kind: 'note',
        direction: null,
        unit: null,
        value: '',
        what: `${many} frames left out here: they came faster than this page takes them`,
        hex: '',
        length: 0,
        tookMs: null,
        lit: 'warn',
      })
    },
    rows() {
      if (!isFresh) shown = rows.slice(-most)
      isFresh = true
      return shown
    },
    taken: () => taken,
  }
}

/** Which lines are shown: those that hold every word of the filter, and only bad ones when asked. */
export function matching(rows: readonly Row[], filter: string, errorsOnly: boolean): readonly Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0 && !errorsOnly) return rows
  return rows.filter((row) => {
    if (errorsOnly && !isBad(row)) return false
    const text = `${row.unit === null ? '' : `unit ${row.unit}`} ${row.value} ${row.what} ${row.hex}`.toLowerCase()
    return holds(text, words)
  })
}

/** `unit 1` must not find unit 17: a number is a whole word. Other words may stand anywhere. */
function holds(text: string, words: readonly string[]): boolean {
  const whole = new Set(text.split(/[^\p{L}\p{N}.]+/u))
  return words.every((word) => (/^\d+$/.test(word) ? whole.has(word) : text.includes(word)))
}

/** Whether a line shows something that is not well. */
export function isBad(row: Row): boolean {
  return row.lit === 'warn' || row.lit === 'fault' || row.lit === 'gone'
}
