/** The matrix by keyboard: arrows walk the crosspoints, letters act on one, and typing jumps to a name. */
import { areOff, type Key } from '#kit/web/keys.ts'
import type { Column, Row } from './routing.ts'

/** What keys can do at a crosspoint. */
export interface GridHands {
  why: (row: Row) => void
  mute: (row: Row) => void
  step: (row: Row, step: 1 | -1) => void
  stop: (row: Row) => void
}

/** For the list of keys; what they do hangs on where the focus is, so the table itself listens. */
export const GRID_KEYS: readonly (readonly [key: string, what: string])[] = [
  ['ArrowDown', 'to the crosspoints; arrows walk them'],
  ['Enter', 'routes, or asks why'],
  ['w', 'why it is silent'],
  ['m', 'mutes the decoder, and lets it be heard again'],
  ['+', '1 dB up'],
  ['-', '1 dB down'],
  ['Delete', 'stops the decoder'],
  ['A', 'a name, typed, is jumped to; one that begins with such a letter, with Shift'],
]

/** Keys as the list of keys shows them. */
export function gridKeys(): Key[] {
  return GRID_KEYS.map(([key, what]) => ({ key, what, run: () => key === 'ArrowDown' && focusAt(0, 1) }))
}

const STEPS: Readonly<Record<string, readonly [down: number, right: number]>> = {
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
}

/** A pause that long ends a name that is being typed. */
const TYPED_MS = 1200
let typed = ''
let typedMs = 0

/** Keys with the focus in the table. */
export function gridKey(
  event: KeyboardEvent,
  { rows, columns }: { rows: readonly Row[]; columns: readonly Column[] },
  hands: GridHands,
): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const here = placeOf(event.target)
  const row = here && rows[here.row]
  if (!here || !row) return
  const step = STEPS[event.key]
  const isDone = step
    ? focusAt(here.row + step[0], here.cell + step[1])
    : acts(event.key, row, hands) || jumps(event.key, here, { rows, columns })
  if (isDone) event.preventDefault()
}

function acts(key: string, row: Row, { why, mute, step, stop }: GridHands): boolean {
  if (key === 'Delete') return done(() => stop(row))
  if (areOff.value || Date.now() - typedMs < TYPED_MS) return false
  if (key === 'w') return done(() => why(row))
  if (key === 'm') return done(() => mute(row))
  if (key === '+' || key === '-') return done(() => step(row, key === '+' ? 1 : -1))
  return false
}

function done(run: () => void): true {
  run()
  return true
}

/** Letters name a decoder, or a stream; `g`, `/` and `?` are keys of every page. */
function jumps(
  key: string,
  here: { row: number; cell: number },
  { rows, columns }: { rows: readonly Row[]; columns: readonly Column[] },
): boolean {
  if (areOff.value || key.length !== 1 || !/[\p{L}\p{N}]/u.test(key)) return false
  const isNew = Date.now() - typedMs >= TYPED_MS
  if (isNew && key === 'g') return false
  typed = (isNew ? '' : typed) + key.toLowerCase()
  typedMs = Date.now()
  const begins = ({ name }: { name: string }): boolean => name.toLowerCase().startsWith(typed)
  const row = rows.findIndex(begins)
  const column = columns.findIndex(begins)
  if (row >= 0) return focusAt(row, here.cell)
  return column >= 0 && focusAt(here.row, column + 1)
}

function bodyRows(): HTMLTableRowElement[] {
  return [...(document.querySelector<HTMLTableElement>('.matrix')?.tBodies[0]?.rows ?? [])]
}

/** Where the focus is: the row, and the cell in it; 0 is the name. */
function placeOf(target: EventTarget | null): { row: number; cell: number } | undefined {
  const cell = target instanceof Element ? target.closest<HTMLTableCellElement>('tbody td, tbody th') : null
  const row = cell ? bodyRows().indexOf(cell.parentElement as HTMLTableRowElement) : -1
  return cell && row >= 0 ? { row, cell: cell.cellIndex } : undefined
}

/** Gives the focus to a crosspoint; at the ends it stays. @returns false where there is none */
export function focusAt(row: number, cell: number): boolean {
  const rows = bodyRows()
  const cells = rows[Math.min(rows.length - 1, Math.max(0, row))]?.cells
  const wanted = cells?.[Math.min(cells.length - 1, Math.max(0, cell))]
  const button = wanted?.querySelector<HTMLButtonElement>('button')
  if (!button) return false
  // One of them is in the order of Tab: the last that had the focus.
  document.querySelector('.matrix tbody button[tabindex="0"]')?.setAttribute('tabindex', '-1')
  button.setAttribute('tabindex', '0')
  button.focus()
  return true
}
