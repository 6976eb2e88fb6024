/**
 * What moves in the pictures of one camera: each point is compared with what it usually shows, and by how much it usually
 * changes. It says where, and never what.
 */
import type { Shades } from '../ports.ts'
import type { Box } from './boxes.ts'
import { createHabits, type Habits, type Patch } from './habits.ts'

export interface MotionModel {
  /**
   * Looks at the next picture.
   * @param at when it was taken, epoch milliseconds
   * @returns where something moves, the largest first; nothing in the first pictures, nor where all of it changed, as by a lamp
   */
  look(picture: Shades, at: number): Box[]
}

/** A point that is off by less is noise, whatever the camera; 0 to 255. */
const LEAST_CHANGE = 14
/** Times by which a point usually wobbles. */
const TIMES_USUAL = 4
/** A point that is off by so much counts for habits, however much it wobbles: digits stand out. */
const STARK = 40
/** Points of a cell that have to change. */
const CELL_PART = 0.3
const CELL = 4
/** Cells of the least that counts: two, so that a single one that flickers is none. */
const LEAST_CELLS = 2
/** Where more of a picture changes at once, the light or the camera moved. */
const ALL_PART = 0.6
/** Pictures that are learned from before anything is said. */
const LEARNING = 3
/** How fast it learns what a point shows: while nothing moves there, and while something does. */
const RATE = 0.1
const MOVING_RATE = 0.01
/** How fast it learns how much a point wobbles, which what sways does and what passes by does hardly. */
const WOBBLE_RATE = 0.02
const MOST_WOBBLE = 60
const MOST_BOXES = 32

interface Usual extends Grid {
  width: number
  height: number
  shade: Float32Array
  wobble: Float32Array
  habits: Habits
}

export function createMotionModel(): MotionModel {
  let usual: Usual | undefined
  let seen = 0

  /** @param habits what is known of the same size already: light that changes is no reason to forget them */
  function begin({ bytes, height, width }: Shades, habits?: Habits): Box[] {
    const grid = { columns: Math.ceil(width / CELL), rows: Math.ceil(height / CELL) }
    const [shade, wobble] = [Float32Array.from(bytes), new Float32Array(bytes.length).fill(4)]
    usual = { ...grid, width, height, shade, wobble, habits: habits ?? createHabits(grid) }
    seen = 1
    return []
  }

  return {
    look(picture, at) {
      if (usual?.width !== picture.width || usual.height !== picture.height) return begin(picture)
      const { all, changed, stark } = changesOf(picture, usual)
      if (all > ALL_PART * changed.length) return begin(picture, usual.habits)
      learn(picture, usual, changed)
      seen++
      if (seen <= LEARNING) return []
      const { habits } = usual
      habits.note(patchesOf(stark, usual), at)
      const moving = patchesOf(changed, usual).filter((patch) => !habits.isHabit(patch))
      return boxesOf(moving, picture)
    },
  }
}

/** Points that are other than usual, and those that stand out. */
function changesOf({ bytes }: Shades, { shade, wobble }: Usual) {
  const [changed, stark] = [new Uint8Array(bytes.length), new Uint8Array(bytes.length)]
  let all = 0
  for (let at = 0; at < bytes.length; at++) {
    const off = Math.abs((bytes[at] ?? 0) - (shade[at] ?? 0))
    if (off > STARK) stark[at] = 1
    if (off <= Math.max(LEAST_CHANGE, TIMES_USUAL * (wobble[at] ?? 0))) continue
    changed[at] = 1
    all++
  }
  return { changed, stark, all }
}

function learn({ bytes }: Shades, { shade, wobble }: Usual, changed: Uint8Array): void {
  for (let at = 0; at < bytes.length; at++) {
    const off = (bytes[at] ?? 0) - (shade[at] ?? 0)
    const rate = changed[at] ? MOVING_RATE : RATE
    shade[at] = (shade[at] ?? 0) + rate * off
    wobble[at] = (wobble[at] ?? 0) + WOBBLE_RATE * (Math.min(Math.abs(off), MOST_WOBBLE) - (wobble[at] ?? 0))
  }
}

/** Cells that touch each other. */
function patchesOf(changed: Uint8Array, usual: Usual): Patch[] {
  const open = openCells(changed, usual)
  const patches: Patch[] = []
  for (let at = 0; at < open.length; at++) {
    if (!open[at]) continue
    const patch = around(open, at, usual)
    if (patch.cells.length >= LEAST_CELLS) patches.push(patch)
  }
  return patches
}

function boxesOf(patches: readonly Patch[], { height, width }: Shades): Box[] {
  const largest = patches.toSorted((a, b) => b.cells.length - a.cells.length).slice(0, MOST_BOXES)
  const side = (cell: number, size: number) => Math.min(1, (cell * CELL) / size)
  return largest.map(({ bottom, left, right, top }) => {
    return [side(left, width), side(top, height), side(right + 1, width), side(bottom + 1, height)]
  })
}

interface Grid {
  columns: number
  rows: number
}

function openCells(changed: Uint8Array, { columns, rows, width }: Usual): Uint8Array {
  const counts = new Uint16Array(columns * rows)
  for (let at = 0; at < changed.length; at++) {
    if (!changed[at]) continue
    const cell = Math.floor(Math.floor(at / width) / CELL) * columns + Math.floor((at % width) / CELL)
    counts[cell] = (counts[cell] ?? 0) + 1
  }
  return Uint8Array.from(counts, (count) => (count >= CELL_PART * CELL * CELL ? 1 : 0))
}

/** Closes all cells that hang together with one, a gap of one cell included: a coat has folds that do not change. */
function around(open: Uint8Array, first: number, { columns, rows }: Grid): Patch {
  const extent = { left: columns, top: rows, right: 0, bottom: 0 }
  const cells: number[] = []
  const waiting = [first]
  open[first] = 0
  for (let cell = waiting.pop(); cell !== undefined; cell = waiting.pop()) {
    const [x, y] = [cell % columns, Math.floor(cell / columns)]
    cells.push(cell)
    extent.left = Math.min(extent.left, x)
    extent.right = Math.max(extent.right, x)
    extent.top = Math.min(extent.top, y)
    extent.bottom = Math.max(extent.bottom, y)
    for (let nextY = Math.max(0, y - 2); nextY <= Math.min(rows - 1, y + 2); nextY++)
      for (let nextX = Math.max(0, x - 2); nextX <= Math.min(columns - 1, x + 2); nextX++) {
        const next = nextY * columns + nextX
        if (!open[next]) continue
        open[next] = 0
        waiting.push(next)
      }
  }
  return { ...extent, cells }
}
