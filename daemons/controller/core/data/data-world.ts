/** What answering GET /api/data/:entity needs of the world. */
import type { QueryLimits } from '../../wire/query/query.ts'
import type { LiveBook } from '../live.ts'
import type { Book, Row } from '../row.ts'
import type { Blocks } from './blocks.ts'
import type { DataTurns } from './data-turns.ts'
import type { AnswerRoom } from './json-pieces.ts'
import type { SchemaFace } from './schema-face.ts'
import type { Views } from './views.ts'

/** Tables that are not in memory. */
export interface History {
  /**
   * A table's rows, some hundreds at a time, each read when it is asked for.
   * @param isNewestFirst by id descending; else ascending
   */
  pieces(table: string, isNewestFirst: boolean): AsyncIterable<readonly Row[]>
}

/** What a query may cost. All are settings. */
export interface DataLimits extends QueryLimits {
  /** Of a table of history: rows that may be kept while they are put in order, which is offset and limit together. */
  readonly orderedRows: number
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
  readonly turns: DataTurns
  /** For answers while they are made. */
  readonly room: AnswerRoom
}
