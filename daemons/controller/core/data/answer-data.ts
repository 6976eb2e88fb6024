/** Answers GET /api/data/:entity: who may read it, what may be asked, which rows, and how they are written. */
import { Fault } from '#kit/fault.ts'
import type { Query } from '../../wire/query/query.ts'
import { readQuery } from '../../wire/query/read-query.ts'
import type { AuditReason } from '../audit.ts'
import type { Outcome } from '../outcome.ts'
import type { Row } from '../row.ts'
import type { Session } from '../session.ts'
import { BLOCK_ROWS } from './blocks.ts'
import { candidatesOf } from './candidates.ts'
import { type Collector, createCollector } from './collecting.ts'
import type { Steps } from './data-turns.ts'
import type { DataWorld } from './data-world.ts'
import { emptyAnswerOf, refusalOf } from './guards.ts'
import { mergeOf } from './instance.ts'
import type { JsonPieces } from './json-pieces.ts'
import { columnFault } from './known-columns.ts'
import { type Cells, hasPattern, matcherOf, sizeOf, steppedMatcherOf } from './matching.ts'
import { projectionOf } from './projection.ts'
import type { TableFace } from './schema-face.ts'

/** A question that has passed all guards. */
interface Ask {
  readonly query: Query
  readonly table: TableFace
  readonly session: Session
}

/**
 * The whole answer. It comes at once unless there is much to do; then others have their turn in between.
 * Conditions, orders and counts see what the caller sees: what is hidden or null for them can decide nothing.
 * @param entity as in the path, decoded
 * @param rawQuery without the `?`, as in the request line
 * @returns rows, `{count}`, or `{error}` with the status of document 1
 * @source document 1, GET /api/data/:entity
 */
export function answerData(
  world: DataWorld,
  session: Session,
  entity: string,
  rawQuery: string,
): Outcome | Promise<Outcome> {
  const table = world.schema.table(entity)
  const about = (outcome: Outcome): Outcome =>
    table === undefined ? outcome : { ...outcome, target: `entity ${table.name}` }
  const outcome = answer(world, session, table, rawQuery)
  return outcome instanceof Promise ? outcome.then(about) : about(outcome)
}

function answer(
  world: DataWorld,
  session: Session,
  table: TableFace | undefined,
  rawQuery: string,
): Outcome | Promise<Outcome> {
  const { isElevated } = session
  if (!session.may('query')) return refused(403, 'unauthorized', 'role_denied')
  if (!isElevated && !table?.isReadable) return refused(403, 'unauthorized', 'elevated_table')
  if (table === undefined) return refused(200, 'unknown entity', 'unknown_entity')
  let query: Query
  try {
    query = readQuery(rawQuery, world.limits)
  } catch (error) {
    return unreadable(error)
  }
  const refusal = isElevated ? undefined : refusalOf(query, table, world.schema)
  if (refusal) return refusal
  const fault = columnFault(query, table)
  if (fault !== undefined) return refused(200, fault, 'bad_query')
  const empty = isElevated ? undefined : emptyAnswerOf(query, table, world.schema)
  if (empty) return empty
  if (world.turns.isFull(session.userId)) return tooMany(session)
  const ask = { query, table, session }
  if (table.isHistory) return answerHistory(world, ask)
  return world.turns.run(session.userId, isWholePage(query) ? answerPage(world, ask) : answerBook(world, ask))
}

/** Whether rows are wanted as they stand in the table. */
function isWholePage({ where, order, fields, count, isInstance }: Query): boolean {
  return sizeOf(where) === 0 && order.length === 0 && fields === undefined && count === false && !isInstance
}

/** A page of a table, put together of the pieces that stand ready. */
function* answerPage(world: DataWorld, { query, table, session: { isElevated } }: Ask): Steps<Outcome> {
  const rows = world.book.rows(table.name)
  const viewAt = world.views.byPlace(table, rows, isElevated)
  const blockAt = world.blocks.byPlace(table, rows, isElevated, viewAt)
  const pieces: Uint8Array[] = []
  let skip = query.offset
  let wanted = query.limit
  for (let at = 0; at < rows.length && wanted > 0; at += BLOCK_ROWS) {
    yield
    const block = blockAt(at)
    const from = Math.min(skip, block.shown)
    const to = Math.min(block.shown, from + wanted)
    if (to > from) pieces.push(block.bytes(from, to))
    skip -= from
    wanted -= to - from
  }
  return grantedPieces(pieces)
}

/** Rows in memory: one array that does not change while it is read, as a table that changes gets another. */
function* answerBook(world: DataWorld, ask: Ask): Steps<Outcome> {
  const { query, table, session } = ask
  const hasName = table.columns.get('name')?.type === 'text'
  const rows = candidatesOf(world.book, table.name, query.where, hasName)
  const viewAt = world.views.byPlace(table, rows, session.isElevated)
  const trial = trialOf(ask)
  const collector = createCollector(query, query.order.length === 0)
  const rowsAStep = rowsAStepFor(query)
  const out = world.room.open(session.userId)
  try {
    for (let at = 0; at < rows.length && !out.isGivenUp; at++) {
      if (at % rowsAStep === 0) {
        out.keep(collector.kept() * BOOK_ROW_BYTES)
        yield
      }
      const view = viewAt(at)
      if (view.isHidden) continue
      const holds = trial.steps ? yield* trial.steps(view.cells) : trial.isMatch(view.cells)
      if (holds && !collector.take(view)) break
    }
    return yield* written(world, ask, collector, out)
  } finally {
    out.close()
  }
}

/** What a row takes that is kept until it is written: of the book its place in the order, of a history the row itself. */
const BOOK_ROW_BYTES = 128
const HISTORY_ROW_BYTES = 640

/** Patterns pause in between. The rest of a row is a moment, and a generator for each would be most of it. */
type Trial = { isMatch(cells: Cells): boolean; steps?: never } | { steps(cells: Cells): Steps<boolean> }

function trialOf({ query: { where }, table }: Ask): Trial {
  return hasPattern(where) ? { steps: steppedMatcherOf(where, table) } : { isMatch: matcherOf(where, table) }
}

/** Rows on the disk. By id they come as they are asked for; by other columns the best so far are kept. */
async function answerHistory(world: DataWorld, ask: Ask): Promise<Outcome> {
  const { query, table, session } = ask
  const [first] = query.order
  const isById = first === undefined || first.column === 'id'
  if (!isById && query.count === false && query.offset + query.limit > world.limits.orderedRows)
    return refused(200, `in this order ${table.name} is read up to row ${world.limits.orderedRows}`, 'bad_query')
  const trial = trialOf(ask)
  const collector = createCollector(query, isById)
  const out = world.room.open(session.userId)
  function* taken(rows: readonly Row[]): Steps<boolean> {
    for (const row of rows) {
      yield
      const view = world.views.passing(table, row, session.isElevated)
      if (view.isHidden) continue
      const holds = trial.steps ? yield* trial.steps(view.cells) : trial.isMatch(view.cells)
      if (holds && !collector.take(view)) return false
    }
    out.keep(collector.kept() * HISTORY_ROW_BYTES)
    return !out.isGivenUp
  }
  try {
    for await (const rows of world.history.pieces(table.name, isById && first?.isDescending === true))
      if (!(await world.turns.run(session.userId, taken(rows)))) break
    return await world.turns.run(session.userId, written(world, ask, collector, out))
  } finally {
    out.close()
  }
}

function* written(
  world: DataWorld,
  { query, table, session }: Ask,
  collector: Collector,
  out: JsonPieces,
): Steps<Outcome> {
  if (out.isGivenUp) return noRoom(session)
  if (query.count !== false) return granted(`{"count":${collector.count()}}`)
  const projection = projectionOf(table, query.fields?.columns)
  const merge = query.isInstance ? mergeOf(world, table, projection, session.isElevated) : undefined
  let count = 0
  for (const view of yield* collector.views()) {
    if (count % ROWS_A_STEP === 0) yield
    if (out.isGivenUp) break
    out.add(count++ === 0 ? '[' : ',')
    if (merge) yield* merge(view, out)
    else out.add(projection.json(view))
  }
  out.add(count === 0 ? '[]' : ']')
  const body = out.end()
  return out.isGivenUp ? noRoom(session) : { status: 200, body, reason: null }
}

/** Questions that are asked of rows, and rows that are written, before others may have their turn. */
const QUESTIONS_A_STEP = 128
const ROWS_A_STEP = 16

function rowsAStepFor({ where, order }: Query): number {
  return Math.max(1, Math.floor(QUESTIONS_A_STEP / (1 + sizeOf(where) + order.length)))
}

/** As a sign-in is answered where too many wait: the query is not judged. */
function tooMany({ username }: Session): Outcome {
  const message = `as many queries of ${username} as are allowed are under way: try again when one has ended`
  return { status: 503, body: { json: { error: 'busy', message } }, reason: 'busy' }
}

/** Its rows are in no answer: whoever asks for less, or later, gets them. */
function noRoom({ username }: Session): Outcome {
  const message = `answers that are being made take more room than there is, and those of ${username} take most: ask for fewer rows at once`
  return { status: 503, body: { json: { error: 'busy', message } }, reason: 'busy' }
}

function granted(text: string): Outcome {
  return { status: 200, body: { text }, reason: null }
}

const OPEN = new TextEncoder().encode('[')
const CLOSE = new TextEncoder().encode(']')

/** @param pieces rows with a comma before each */
function grantedPieces([first, ...rest]: readonly Uint8Array[]): Outcome {
  if (first === undefined) return granted('[]')
  return { status: 200, body: { pieces: [OPEN, first.subarray(1), ...rest, CLOSE] }, reason: null }
}

function refused(status: number, error: string, reason: AuditReason): Outcome {
  return { status, body: { json: { error } }, reason }
}

function unreadable(error: unknown): Outcome {
  if (!(error instanceof Fault)) throw error
  return refused(200, error.message, error.code === 'query_unknown_name' ? 'unknown_modifier' : 'bad_query')
}
