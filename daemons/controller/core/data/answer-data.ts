/** Answers GET /api/data/:entity: checks the caller and the query, selects the rows and writes the JSON. */
import { Fault } from '#kit/pure/fault.ts'
import type { Query, QueryLimits } from '../../wire/query.ts'
import { readQuery } from '../../wire/read-query.ts'
import type { Session } from '../access/accounts.ts'
import { type AuditReason, isTold, NOT_ALLOWED, type Outcome } from '../audit.ts'
import type { Json } from '../json.ts'
import type { LiveBook } from '../live/live-book.ts'
import type { LiveValues } from '../live/live-values.ts'
import type { Sight } from '../live/socket-feed.ts'
import { seenValue } from '../secrets.ts'
import type { Book, Row } from '../site/book.ts'
import { usualVerbs } from '../usual-verbs.ts'
import { candidateRows, conditionCount, hasPattern, matcherOf, steppedMatcherOf } from './matching.ts'
import {
  type Collector,
  columnFault,
  createCollector,
  emptyAnswerOf,
  guardRefusal,
  type Projection,
  projectionOf,
} from './query.ts'
import type { AnswerRoom, DataTurns, JsonPieces, Steps } from './turns.ts'
import {
  BLOCK_ROWS,
  type Blocks,
  type Cells,
  jsonOf,
  memberOf,
  type SchemaFace,
  type TableFace,
  type View,
  type Views,
} from './views.ts'

// What an answer needs from the rest of the controller.

/** Access to tables that are not in memory. */
export interface History {
  /**
   * The rows of a table, a few hundred at a time, each batch read only when it is requested.
   * @param isNewestFirst by id descending; else ascending
   */
  pieces(table: string, isNewestFirst: boolean): AsyncIterable<readonly Row[]>
}

/** Limits on the cost of a query. All are settings. */
export interface DataLimits extends QueryLimits {
  /** For a history table: most rows (offset plus limit) that may be kept while they are sorted. */
  readonly orderedRows: number
}

export interface DataWorld {
  readonly book: Book
  readonly live: LiveBook
  readonly values: Pick<LiveValues, 'attributesOf' | 'isCurrent' | 'zoneNow'>
  readonly schema: SchemaFace
  /** Created once for the schema, as blocks are, so that cached views are found again. */
  readonly views: Views
  readonly blocks: Blocks
  readonly history: History
  readonly limits: DataLimits
  readonly turns: DataTurns
  /** Memory for answers while they are written. */
  readonly room: AnswerRoom
  /** What a session may see, where reads are held to the scope of its UIs; undefined where they are not. */
  sightOf?(session: Session): Sight | undefined
}

// Rows with their live state (`_instance=true`), built from what the caller may see.

/** Writes a view as JSON. Yields after each attached row: one device may have every zone there is. */
type Merge = (view: View, out: JsonPieces) => Steps<void>

/** Attributes written before the next yield. */
const ATTRIBUTES_A_STEP = 64

/**
 * Returns the writer that adds live state to the rows of a table; rows of tables without live state are written as is.
 * A device gets state, ip_address (the current one, if known), last_seen, error and zones. A zone gets state, whatever
 * else it does, and attributes; what a secure attribute holds is null among it. An attribute gets `current`, an av_zone
 * the state of its zone and device. Live values never replace a column of the row, except those that mean the same
 * thing live: a device's ip_address, and the position of a zone that has one.
 * @source document 1, Entity rows, Guards 5
 */
function mergeOf(world: DataWorld, { table, sight, session: { isElevated } }: Ask, projection: Projection): Merge {
  if (table.name === 'device') return deviceMerge(world, projection, isElevated, sight)
  if (table.name === 'zone') return zoneMerge(world, table, projection, isElevated)
  if (table.name === 'attribute') return attributeMerge(world, projection)
  if (table.name === 'av_zone') return avMerge(world, projection, isElevated)
  return plainMerge(projection)
}

function plainMerge(projection: Projection): Merge {
  return function* (view, out) {
    yield
    out.add(projection.json(view))
  }
}

/** `current` is false for a value from before the start, or from before its device was lost. */
function attributeMerge({ values }: DataWorld, projection: Projection): Merge {
  return function* (view, out) {
    yield
    const json = projection.json(view)
    const isTaken = projection.names.has('current')
    out.add(isTaken ? json : withMembers(json, [memberOf('current', values.isCurrent(view.row))]))
  }
}

function avMerge({ book, live, schema, values }: DataWorld, projection: Projection, isElevated: boolean): Merge {
  return function* (view, out) {
    yield
    const zone = typeof view.row.zone_id === 'number' ? book.row('zone', view.row.zone_id) : undefined
    const { values: now, secure } = zone ? values.zoneNow(zone.id) : NOTHING
    const said = !isElevated && secure.has('state') ? null : isElevated ? now.state : seenValue(schema, now.state)
    const device = typeof zone?.device_id === 'number' ? live.device(zone.device_id).state : 'unknown'
    const facts = Object.entries({ state: said, device_state: device }).flatMap(([name, value]) =>
      projection.names.has(name) ? [] : [memberOf(name, value)],
    )
    out.add(withMembers(projection.json(view), facts))
  }
}

const NOTHING = { values: { state: 'unknown' }, secure: new Set<string>() }

function deviceMerge(world: DataWorld, projection: Projection, isElevated: boolean, sight: Sight | undefined): Merge {
  const table = world.schema.table('zone')
  if (table === undefined) return plainMerge(projection)
  const mergeZone = zoneMerge(world, table, projectionOf(table, undefined), isElevated)
  const zonesOf = zonesOnDevice(world.book.rows('zone'))
  return function* (view, out) {
    const { state, ipAddress, lastSeenAt, error } = world.live.device(view.row.id)
    const said = isElevated ? error : seenValue(world.schema, error)
    const isSecure = ({ name, secure }: Row) => name === 'error' && secure !== false
    const isErrorHidden = !isElevated && world.values.attributesOf('device', view.row.id).some(isSecure)
    const facts = {
      ...{ state, ip_address: ipAddress ?? view.cells.ip_address ?? null, last_seen: lastSeenAt },
      error: isErrorHidden ? null : said,
    }
    const isMoved = ipAddress !== null && projection.names.has('ip_address')
    const base = isMoved ? projection.jsonWithout(view, 'ip_address') : projection.json(view)
    const isTaken = (name: string) => projection.names.has(name) && !(isMoved && name === 'ip_address')
    const members = Object.entries(facts).flatMap(([name, value]) => (isTaken(name) ? [] : [memberOf(name, value)]))
    const json = withMembers(base, members)
    if (isTaken('zones')) {
      out.add(json)
      return
    }
    out.add(openedFor(json, 'zones'))
    const zones = zonesOf(view.row.id).filter(({ id }) => sight?.zone(id) !== false)
    for (const [at, row] of zones.entries()) {
      if (at > 0) out.add(',')
      yield* mergeZone(world.views.view(table, row, isElevated), out)
      yield
    }
    out.add(']}')
  }
}

function zoneMerge(
  { values, schema, views }: DataWorld,
  table: TableFace,
  projection: Projection,
  isElevated: boolean,
): Merge {
  const attributes = schema.table('attribute')
  const isTaken = (name: string) => projection.names.has(name) || table.columns.has(name) || name === 'attributes'
  const isAsked = projection.names.has(POSITION)
  /** Secret-bearing names are null for everyone; sensitive names are null for callers who are not elevated. */
  const seen = (facts: Readonly<Record<string, Json>>) =>
    Object.entries(isElevated ? facts : (schema.withoutSecrets(facts) ?? {})).map(([name, value]): [string, Json] => [
      name,
      schema.isSecretName(name) ? null : isElevated ? value : seenValue(schema, value),
    ])
  return function* (view, out) {
    const { values: now, secure } = values.zoneNow(view.row.id)
    const own = values.attributesOf('zone', view.row.id)
    const isPlaced = hasPosition(view.row, now, own)
    const all = isPlaced && !Object.hasOwn(now, POSITION) ? { ...now, [POSITION]: null } : now
    const facts = seen(all).flatMap(([name, value]) =>
      isTaken(name) && !(isPlaced && name === POSITION)
        ? []
        : [memberOf(name, !isElevated && secure.has(name) ? null : value)],
    )
    const json = withMembers(
      isPlaced && isAsked ? projection.jsonWithout(view, POSITION) : projection.json(view),
      facts,
    )
    if (!attributes || projection.names.has('attributes')) {
      out.add(json)
      return
    }
    out.add(openedFor(json, 'attributes'))
    for (const [at, row] of own.entries()) {
      const json = jsonOf(views.view(attributes, row, isElevated), attributes)
      out.add(`${at > 0 ? ',' : ''}${withMembers(json, [memberOf('current', values.isCurrent(row))])}`)
      if ((at + 1) % ATTRIBUTES_A_STEP === 0) yield
    }
    out.add(']}')
  }
}

/** In a row of `zone` its place in a list; live, how far a blind is down. */
const POSITION = 'position'

/**
 * Whether the zone itself has a position: it says one, has an attribute for it, or is of a type that can stop halfway.
 * While that is unknown it is null: the place in a list would be taken for it.
 */
function hasPosition({ type }: Row, now: Readonly<Record<string, Json>>, attributes: readonly Row[]): boolean {
  return (
    Object.hasOwn(now, POSITION) ||
    attributes.some(({ name }) => name === POSITION) ||
    usualVerbs(type).includes('stop')
  )
}

/** @param json an object, which may be `{}` */
function withMembers(json: string, members: readonly string[]): string {
  if (members.length === 0) return json
  const own = json.slice(1, -1)
  return `{${own === '' ? '' : `${own},`}${members.join(',')}}`
}

/** The object without its closing brace, followed by the start of a list. */
function openedFor(json: string, name: string): string {
  return `${json.slice(0, -1)}${json === '{}' ? '' : ','}"${name}":[`
}

const zonesKept = new WeakMap<readonly Row[], Map<Json | undefined, Row[]>>()

/** Groups zones by device. Made again when the table changes, since its array is then a new one. */
function zonesOnDevice(rows: readonly Row[]): (id: number) => readonly Row[] {
  const index = zonesKept.get(rows) ?? Map.groupBy(rows, (row) => row.device_id)
  zonesKept.set(rows, index)
  return (id) => index.get(id) ?? []
}

// The answer.
/** A query that has passed all guards. */
interface Ask {
  readonly query: Query
  readonly table: TableFace
  readonly session: Session
  readonly sight: Sight | undefined
}

/**
 * Answers the query: at once if there is little to do, else in pieces, taking turns with other queries. Conditions,
 * orders and counts use only what the caller may see: hidden and nulled values cannot influence the result.
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
  const refusal = isElevated ? undefined : guardRefusal(query, table, world.schema)
  if (refusal) return refusal
  const fault = columnFault(query, table)
  if (fault !== undefined) return refused(200, fault, 'bad_query')
  const empty = isElevated ? undefined : emptyAnswerOf(query, table, world.schema)
  if (empty) return empty
  if (world.turns.isFull(session.userId)) return tooMany(session)
  const sight = isElevated ? undefined : world.sightOf?.(session)
  const ask = { query, table, session, sight }
  if (table.isHistory) return answerHistory(world, ask)
  return world.turns.run(
    session.userId,
    isWholePage(query) && sight === undefined ? answerPage(world, ask) : answerBook(world, ask),
  )
}

/** Whether the query asks for plain rows in table order. */
function isWholePage({ where, order, fields, count, isInstance }: Query): boolean {
  return conditionCount(where) === 0 && order.length === 0 && fields === undefined && count === false && !isInstance
}

/** Whether a row belongs to what is in sight; rows that belong to no zone are. */
function isInSight(table: string, row: Row, sight: Sight | undefined): boolean {
  if (sight === undefined) return true
  if (table === 'zone') return sight.zone(row.id)
  if (table === 'device') return sight.device(row.id)
  if (table === 'attribute') return sight.attribute(row.id) !== undefined
  const { zone_id: zone, device_id: device } = row
  if (typeof zone === 'number') return sight.zone(zone)
  return typeof device !== 'number' || sight.device(device)
}

/** A page of a table, assembled from cached blocks. */
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

/** Reads rows in memory: the array cannot change while it is read, because a table that changes gets a new one. */
function* answerBook(world: DataWorld, ask: Ask): Steps<Outcome> {
  const { query, table, session } = ask
  const hasName = table.columns.get('name')?.type === 'text'
  const rows = candidateRows(world.book, table.name, query.where, hasName)
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
      if (view.isHidden || !isInSight(table.name, view.row, ask.sight)) continue
      const holds = trial.steps ? yield* trial.steps(view.cells) : trial.isMatch(view.cells)
      if (holds && !collector.take(view)) break
    }
    return yield* written(world, ask, collector, out)
  } finally {
    out.close()
  }
}

/** Memory of a row that is kept until it is written: for the book a place in the order, for history the row itself. */
const BOOK_ROW_BYTES = 128
const HISTORY_ROW_BYTES = 640

/**
 * Tests with patterns yield in between. Other tests are so quick that a generator for each would cost more than the
 * test.
 */
type Trial = { isMatch(cells: Cells): boolean; steps?: never } | { steps(cells: Cells): Steps<boolean> }

function trialOf({ query: { where }, table }: Ask): Trial {
  return hasPattern(where) ? { steps: steppedMatcherOf(where, table) } : { isMatch: matcherOf(where, table) }
}

/** Reads rows on disk. In order of id they are streamed; in any other order only the best so far are kept. */
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
      if (!isTold({ reason: row.reason }, session)) continue
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

function* written(world: DataWorld, ask: Ask, collector: Collector, out: JsonPieces): Steps<Outcome> {
  const { query, table, session } = ask
  if (out.isGivenUp) return noRoom(session)
  if (query.count !== false) return granted(`{"count":${collector.count()}}`)
  const projection = projectionOf(table, query.fields?.columns)
  const merge = query.isInstance ? mergeOf(world, ask, projection) : undefined
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

/** Conditions tested, and rows written, before the next yield. */
const QUESTIONS_A_STEP = 128
const ROWS_A_STEP = 16

function rowsAStepFor({ where, order }: Query): number {
  return Math.max(1, Math.floor(QUESTIONS_A_STEP / (1 + conditionCount(where) + order.length)))
}

/** Answered like a sign-in when too many are waiting: the query is not judged. */
function tooMany({ username }: Session): Outcome {
  const message = `as many queries of ${username} as are allowed are under way: try again when one has ended`
  return { status: 503, body: { json: { error: 'busy', message } }, reason: 'busy' }
}

/** The answer was given up because memory ran out; asking for fewer rows, or later, works. */
function noRoom({ username }: Session): Outcome {
  const message = `answers that are being made take more room than there is, and those of ${username} take most: ask for fewer rows at once`
  return { status: 503, body: { json: { error: 'busy', message } }, reason: 'busy' }
}

function granted(text: string): Outcome {
  return { status: 200, body: { text }, reason: null }
}

const OPEN = new TextEncoder().encode('[')
const CLOSE = new TextEncoder().encode(']')

/** @param pieces rows, each preceded by a comma */
function grantedPieces([first, ...rest]: readonly Uint8Array[]): Outcome {
  if (first === undefined) return granted('[]')
  return { status: 200, body: { pieces: [OPEN, first.subarray(1), ...rest, CLOSE] }, reason: null }
}

function refused(status: number, error: string, reason: AuditReason): Outcome {
  return { status, body: { json: { error, message: MESSAGES[error] ?? error } }, reason }
}

/** The sentence beside `error`; what is no fixed text is a sentence itself. */
const MESSAGES: Readonly<Record<string, string>> = {
  unauthorized: NOT_ALLOWED,
  'unknown entity': 'There is no such table.',
}

function unreadable(error: unknown): Outcome {
  if (!(error instanceof Fault)) throw error
  return refused(200, error.message, error.code === 'query_unknown_name' ? 'unknown_modifier' : 'bad_query')
}
