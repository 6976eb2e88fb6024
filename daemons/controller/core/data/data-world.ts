/** What answering GET /api/data/:entity needs of the world. */
import type { QueryLimits } from '../../wire/query/query.ts'
import type { LiveBook } from '../live.ts'
import type { Book, Row } from '../row.ts'
import type { Blocks } from './blocks.ts'
import type { SchemaFace } from './schema-face.ts'
import type { Views } from './views.ts'

/** Tables that are not in memory. */
export interface History {
  /**
   * Shows a table's rows, some hundreds at a time, and lets others have their turn in between.
   * @param isNewestFirst by id descending; else ascending
   * @param visit @returns whether it wants more
   */
  scan(table: string, isNewestFirst: boolean, visit: (rows: readonly Row[]) => boolean): Promise<void>
}

/** What a query may cost. All are settings. */
export interface DataLimits extends QueryLimits {
  /** Of a table of history: rows that may be kept while they are put in order, which is offset and limit together. */
  readonly orderedRows: number
  /** Comparisons before others have their turn: rows, times one more than the query's conditions and orders. */
  readonly workAtOnce: number
  /** Rows written out before others have their turn. */
  readonly rowsWrittenAtOnce: number
}

export interface DataWorld {
  readonly book: Book
  readonly live: LiveBook
  readonly schema: SchemaFace
  /** Made once for the schema, as blocks are: so what was built of a row is found again. */
  readonly views: Views
  readonly blocks: Blocks
  readonly history: History
  readonly limits: DataLimits
  /** Resolves when others have had their turn of the event loop. */
  breathe(): Promise<void>
}
