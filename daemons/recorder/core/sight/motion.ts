/**
 * What moves in the pictures of one camera: each point is compared with what it usually shows, and by how much it usually
 * changes. It says where, and never what.
 */
import type { Box } from './boxes.ts'

/** A picture in shades of gray. */
export interface GrayPicture {
  width: number
  height: number
  /** A byte for each pixel, row by row from the top. */
  gray: Uint8Array
}

export interface MotionModel {
  /**
   * Looks at the next picture.
   * @returns where something moves, the largest first; nothing in the first pictures, nor where all of it changed, as by a lamp
   */
  look(picture: GrayPicture): Box[]
}

/** A point that is off by less is noise, whatever the camera; 0 to 255. */
const LEAST_CHANGE = 14
/** Times by which a point usually wobbles. */
const TIMES_USUAL = 4
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

export function createMotionModel(): MotionModel {
  let usual: { width: number; height: number; shade: Float32Array; wobble: Float32Array } | undefined
  let seen = 0

  function begin({ gray, height, width }: GrayPicture): Box[] {
    usual = { width, height, shade: Float32Array.from(gray), wobble: new Float32Array(gray.length).fill(4) }
    seen = 1
    return []
  }

  return {
    look(picture) {
      const { gray, height, width } = picture
      if (usual?.width !== width || usual.height !== height) return begin(picture)
      const { shade, wobble } = usual
      const changed = new Uint8Array(gray.length)
      let changes = 0
      for (let at = 0; at < gray.length; at++) {
        const off = Math.abs((gray[at] ?? 0) - (shade[at] ?? 0))
        if (off > Math.max(LEAST_CHANGE, TIMES_USUAL * (wobble[at] ?? 0))) {
          changed[at] = 1
          changes++
        }
      }
      if (changes > ALL_PART * gray.length) return begin(picture)
      for (let at = 0; at < gray.length; at++) {
        const off = (gray[at] ?? 0) - (shade[at] ?? 0)
        const rate = changed[at] ? MOVING_RATE : RATE
        shade[at] = (shade[at] ?? 0) + rate * off
        wobble[at] = (wobble[at] ?? 0) + WOBBLE_RATE * (Math.min(Math.abs(off), MOST_WOBBLE) - (wobble[at] ?? 0))
      }
      seen++
      return seen > LEARNING ? boxesOf(changed, width, height) : []
    },
  }
}

/** Boxes around cells that touch each other. */
function boxesOf(changed: Uint8Array, width: number, height: number): Box[] {
  const [columns, rows] = [Math.ceil(width / CELL), Math.ceil(height / CELL)]
  const open = openCells(changed, width, { columns, rows })
  const found: { box: Box; cells: number }[] = []
  for (let at = 0; at < open.length; at++) {
    if (!open[at]) continue
    const { bottom, cells, left, right, top } = around(open, at, { columns, rows })
    if (cells < LEAST_CELLS) continue
    const side = (cell: number, size: number) => Math.min(1, (cell * CELL) / size)
    found.push({ cells, box: [side(left, width), side(top, height), side(right + 1, width), side(bottom + 1, height)] })
  }
  found.sort((a, b) => b.cells - a.cells)
  return found.slice(0, MOST_BOXES).map(({ box }) => box)
}

interface Grid {
  columns: number
  rows: number
}

function openCells(changed: Uint8Array, width: number, { columns, rows }: Grid): Uint8Array {
  const counts = new Uint16Array(columns * rows)
  for (let at = 0; at < changed.length; at++) {
    if (!changed[at]) continue
    const cell = Math.floor(Math.floor(at / width) / CELL) * columns + Math.floor((at % width) / CELL)
    counts[cell] = (counts[cell] ?? 0) + 1
  }
  return Uint8Array.from(counts, (count) => (count >= CELL_PART * CELL * CELL ? 1 : 0))
}

/** Closes all cells that hang together with one, a gap of one cell included: a coat has folds that do not change. */
function around(open: Uint8Array, first: number, { columns, rows }: Grid) {
  const extent = { left: columns, top: rows, right: 0, bottom: 0, cells: 0 }
  const waiting = [first]
  open[first] = 0
  for (let cell = waiting.pop(); cell !== undefined; cell = waiting.pop()) {
    const [x, y] = [cell % columns, Math.floor(cell / columns)]
    extent.cells++
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
  return extent
}
