/** Rows that follow each other as JSON in bytes, so that a page of a table is a handful of pieces that stand ready. */
import type { Row } from '../row.ts'
import type { Ready } from './ready.ts'
import type { TableFace } from './schema-face.ts'
import { jsonOf, type View } from './views.ts'

/** Rows of a block: a row that changes costs its block, a page costs a piece for each block. */
export const BLOCK_ROWS = 128

/** Rows from one place on, as one kind of caller sees them. */
export interface Block {
  /** How many of them are shown. */
  readonly shown: number
  /**
   * @param from counted among those that are shown, as is `to`, which is above it and is itself not among them
   * @returns their JSON as UTF-8, with a comma before each; kept, and never changed
   */
  bytes(from: number, to: number): Uint8Array
}

/** The blocks of one table for one kind of caller. @param at a multiple of BLOCK_ROWS */
export type BlockAt = (at: number) => Block

/** Blocks of all tables, each kept while its rows are the very same. */
export interface Blocks {
  /** @param viewAt of these rows, for this kind of caller */
  byPlace(table: TableFace, rows: readonly Row[], isElevated: boolean, viewAt: (at: number) => View): BlockAt
}

const encoder = new TextEncoder()

/** There is one list of blocks for each table and kind of caller: no more than twice the tables. */
export function createBlocks(ready: Ready): Blocks {
  const byKind = new Map<string, Kept[]>()

  return {
    byPlace(table, rows, isElevated, viewAt) {
      const kind = `${table.name} ${isElevated}`
      const kept = byKind.get(kind) ?? []
      byKind.set(kind, kept)
      return (at) => {
        const place = at / BLOCK_ROWS
        const known = kept[place]
        if (known !== undefined && isStill(known.rows, rows, at)) return known
        const made = blockOf({
          rows: rows.slice(at, at + BLOCK_ROWS),
          viewAt: (index) => viewAt(at + index),
          table,
          ready,
        })
        kept[place] = made
        return made
      }
    },
  }
}

interface Kept extends Block {
  readonly rows: readonly Row[]
}

function isStill(kept: readonly Row[], rows: readonly Row[], at: number): boolean {
  if (Math.min(BLOCK_ROWS, rows.length - at) !== kept.length) return false
  for (let index = 0; index < kept.length; index++) if (kept[index] !== rows[at + index]) return false
  return true
}

interface Seen {
  rows: readonly Row[]
  viewAt: (index: number) => View
  table: TableFace
  ready: Ready
}

function blockOf({ rows, viewAt, table, ready }: Seen): Kept {
  const views = rows.map((_, index) => viewAt(index)).filter(({ isHidden }) => !isHidden)
  const kept: { json: Written | undefined } = { json: undefined }
  return {
    rows,
    shown: views.length,
    // Not before somebody asks: who looks for the last page goes by all others.
    bytes(from, to) {
      let written = kept.json
      if (written === undefined) {
        written = write(views.map((view) => `,${jsonOf(view, table)}`))
        kept.json = written
        ready.keep(kept, written.bytes.length + written.ends.length * END_BYTES)
      }
      return written.bytes.subarray(from === 0 ? 0 : written.ends[from - 1], written.ends[to - 1])
    },
  }
}

/** Of a place where a text ends. */
const END_BYTES = 8

interface Written {
  bytes: Uint8Array
  /** Where each text ends. */
  ends: readonly number[]
}

function write(texts: readonly string[]): Written {
  let end = 0
  const ends = texts.map((text) => (end += text.length))
  const bytes = encoder.encode(texts.join(''))
  if (bytes.length === end) return { bytes, ends }
  // Not all of it is ASCII: texts are longer as bytes.
  end = 0
  return { bytes, ends: texts.map((text) => (end += encoder.encode(text).length)) }
}
