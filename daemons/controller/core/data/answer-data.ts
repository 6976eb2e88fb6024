/** Answers GET /api/data/:entity: who may read it, what may be asked, which rows, and how they are written. */
import { Fault } from '#kit/fault.ts'
import type { Query } from '../../wire/query/query.ts'
import { readQuery } from '../../wire/query/read-query.ts'
import type { AuditReason } from '../audit.ts'
import type { Outcome } from '../outcome.ts'
import type { Session } from '../session.ts'
import { BLOCK_ROWS } from './blocks.ts'
import { candidatesOf } from './candidates.ts'
import { type Collector, createCollector } from './collecting.ts'
import type { DataWorld } from './data-world.ts'
import { emptyAnswerOf, refusalOf } from './guards.ts'
import { type Merge, mergeOf } from './instance.ts'
import { columnFault } from './known-columns.ts'
import { matcherOf, sizeOf } from './matching.ts'
import { projectionOf } from './projection.ts'
import type { TableFace } from './schema-face.ts'
import { jsonOf } from './views.ts'

/** A question that has passed all guards. */
interface Ask {
  readonly query: Query
  readonly table: TableFace
  readonly isElevated: boolean
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
  const ask = { query, table, isElevated }
  if (table.isHistory) return answerHistory(world, ask)
  return inTurns(world, isWholePage(query) ? answerPage(world, ask) : answerBook(world, ask))
}

/** Whether rows are wanted as they stand in the table. */
function isWholePage({ where, order, fields, count, isInstance }: Query): boolean {
  return sizeOf(where) === 0 && order.length === 0 && fields === undefined && count === false && !isInstance
}

/** A page of a table, put together of blocks where it covers whole ones. */
function* answerPage(world: DataWorld, { query, table, isElevated }: Ask): Generator<void, Outcome> {
  const rows = world.book.rows(table.name)
  const viewAt = world.views.byPlace(table, rows, isElevated)
  const blockAt = world.blocks.byPlace(table, rows, isElevated, viewAt)
  const page = createText()
  let skip = query.offset
  let turnEnd = world.limits.rowsWrittenAtOnce
  for (let at = 0; at < rows.length && page.count() < query.limit; ) {
    if (at >= turnEnd) {
      turnEnd = at + world.limits.rowsWrittenAtOnce
      yield
    }
    if (skip === 0 && at % BLOCK_ROWS === 0 && query.limit - page.count() >= BLOCK_ROWS) {
      const { json, shown } = blockAt(at)
      page.add(json, shown)
      at += BLOCK_ROWS
      continue
    }
    const view = viewAt(at++)
    if (view.isHidden) continue
    if (skip > 0) skip--
    else page.add(jsonOf(view, table), 1)
  }
  return granted(page.end())
}

/** Rows in memory: one array that does not change while it is read, as a table that changes gets another. */
function* answerBook(world: DataWorld, ask: Ask): Generator<void, Outcome> {
  const { query, table, isElevated } = ask
  const hasName = table.columns.get('name')?.type === 'text'
  const rows = candidatesOf(world.book, table.name, query.where, hasName)
  const viewAt = world.views.byPlace(table, rows, isElevated)
  const isMatch = matcherOf(query.where, table)
  const collector = createCollector(query, query.order.length === 0)
  const rowsAtOnce = rowsFor(world, query)
  for (let at = 0; at < rows.length; at++) {
    if (at > 0 && at % rowsAtOnce === 0) yield
    const view = viewAt(at)
    if (view.isHidden || !isMatch(view.cells)) continue
    if (!collector.take(view)) break
  }
  return yield* written(world, ask, collector)
}

/** Rows on the disk. By id they come as they are asked for; by other columns the best so far are kept. */
async function answerHistory(world: DataWorld, ask: Ask): Promise<Outcome> {
  const { query, table, isElevated } = ask
  const [first] = query.order
  const isById = first === undefined || first.column === 'id'
  if (!isById && query.count === false && query.offset + query.limit > world.limits.orderedRows)
    return refused(200, `in this order ${table.name} is read up to row ${world.limits.orderedRows}`, 'bad_query')
  const isMatch = matcherOf(query.where, table)
  const collector = createCollector(query, isById)
  await world.history.scan(table.name, isById && first?.isDescending === true, (rows) =>
    rows.every((row) => {
      const view = world.views.view(table, row, isElevated)
      return view.isHidden || !isMatch(view.cells) || collector.take(view)
    }),
  )
  return inTurns(world, written(world, ask, collector))
}

function* written(world: DataWorld, { query, table, isElevated }: Ask, collector: Collector): Generator<void, Outcome> {
  if (query.count !== false) return granted(`{"count":${collector.count()}}`)
  const projection = projectionOf(table, query.fields?.columns)
  const write: Merge = query.isInstance ? mergeOf(world, table, projection, isElevated) : projection.json
  const text = createText()
  for (const view of collector.views()) {
    if (text.count() > 0 && text.count() % world.limits.rowsWrittenAtOnce === 0) yield
    text.add(write(view), 1)
  }
  return granted(text.end())
}

/** A list as JSON. It is added up: what is joined and then put in brackets is copied once more. */
function createText() {
  let text = ''
  let count = 0
  return {
    count: () => count,
    add(json: string, rows: number): void {
      if (rows === 0) return
      text += count === 0 ? '[' : ','
      text += json
      count += rows
    },
    end: () => (count === 0 ? '[]' : `${text}]`),
  }
}

/** Takes the steps at once where there is one only, else with a pause after each. */
function inTurns(world: DataWorld, steps: Generator<void, Outcome>): Outcome | Promise<Outcome> {
  const first = steps.next()
  return first.done ? first.value : rest(world, steps)
}

async function rest(world: DataWorld, steps: Generator<void, Outcome>): Promise<Outcome> {
  for (;;) {
    await world.breathe()
    const step = steps.next()
    if (step.done) return step.value
  }
}

function rowsFor({ limits }: DataWorld, { where, order }: Query): number {
  return Math.max(1, Math.floor(limits.workAtOnce / (1 + sizeOf(where) + order.length)))
}

function granted(text: string): Outcome {
  return { status: 200, body: { text }, reason: null }
}

function refused(status: number, error: string, reason: AuditReason): Outcome {
  return { status, body: { json: { error } }, reason }
}

function unreadable(error: unknown): Outcome {
  if (!(error instanceof Fault)) throw error
  return refused(200, error.message, error.code === 'query_unknown_name' ? 'unknown_modifier' : 'bad_query')
}
