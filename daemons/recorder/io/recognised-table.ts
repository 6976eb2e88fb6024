/** What was recognised of events, in their database: a table of its own, by the same names. */
import { createHash } from 'node:crypto'
import type { SqlValue, Writer } from '#kit/store/sqlite-writer.ts'
import { isNear, SURE_CONFIDENCE } from '../core/recognition/identities.ts'
import type { Certainty } from '../core/recognition/plates.ts'
import { foldedPlate } from '../core/recognition/plates.ts'
import { certaintyOf, type MatchedBook, type Recognised, type RecognisedStore } from '../core/recognition/recognised.ts'
import type { EventWish } from '../core/sight/events.ts'

/** A stretch is 2^21 ms long, 35 minutes: a month has some 1200, and a busy road some hundred plates in each. */
const STRETCH_BITS = 21
const STRETCH_START = `(stretch << ${STRETCH_BITS})`
const STRETCH_END = `((stretch + 1) << ${STRETCH_BITS})`
const OF_STRETCH = `recognised INDEXED BY recognised_when WHERE began_at >= ${STRETCH_START} AND began_at < ${STRETCH_END}`

/** What is written of a stretch holds no more: it is gone through as it stands, until it is written again. */
function outdates(row: 'new' | 'old'): string {
  return `BEGIN INSERT INTO reading_stretch (stretch) VALUES (${row}.began_at >> ${STRETCH_BITS})
    ON CONFLICT (stretch) DO UPDATE SET plates = NULL, labels = NULL, cameras = NULL WHERE plates IS NOT NULL; END`
}
const IS_READ = `EXISTS (SELECT 1 FROM recognised
  WHERE camera = new.camera AND began_at = new.began_at AND number = new.number)`

export const RECOGNISED_SCHEMA = [
  `CREATE TABLE IF NOT EXISTS recognised (id INTEGER PRIMARY KEY, camera TEXT NOT NULL, began_at INTEGER NOT NULL,
    number INTEGER NOT NULL, who INTEGER NOT NULL, identity TEXT, method TEXT, plate TEXT, folded TEXT,
    plate_state INTEGER, confidence REAL) STRICT`,
  'CREATE UNIQUE INDEX IF NOT EXISTS recognised_event ON recognised (camera, began_at, number)',
  // In the order of the answer, so that the newest are found without reading the whole table.
  `CREATE INDEX IF NOT EXISTS recognised_when ON recognised (began_at DESC, camera, number DESC, folded)`,
  'CREATE INDEX IF NOT EXISTS recognised_who ON recognised (who, began_at DESC, camera, number DESC, folded)',
  'CREATE INDEX IF NOT EXISTS recognised_identity ON recognised (identity, began_at DESC, camera, number DESC, folded)',
  'CREATE INDEX IF NOT EXISTS recognised_plate ON recognised (folded, identity)',
  // Which plates, labels and cameras a stretch of time has, once it is over: one without what is asked for is passed over.
  `CREATE TABLE IF NOT EXISTS reading_stretch (stretch INTEGER PRIMARY KEY, plates TEXT, labels TEXT, cameras TEXT) STRICT`,
  'CREATE INDEX IF NOT EXISTS reading_stretch_open ON reading_stretch (stretch) WHERE plates IS NULL',
  `INSERT INTO reading_stretch (stretch) SELECT DISTINCT began_at >> ${STRETCH_BITS} FROM recognised
    WHERE NOT EXISTS (SELECT 1 FROM reading_stretch)`,
  // By which book of identities readings are matched.
  'CREATE TABLE IF NOT EXISTS reading_match (one INTEGER PRIMARY KEY CHECK (one = 1), book TEXT) STRICT',
  `CREATE TRIGGER IF NOT EXISTS reading_made AFTER INSERT ON recognised ${outdates('new')}`,
  `CREATE TRIGGER IF NOT EXISTS reading_changed AFTER UPDATE OF folded ON recognised
    WHEN old.folded IS NOT new.folded ${outdates('new')}`,
  `CREATE TRIGGER IF NOT EXISTS reading_gone AFTER DELETE ON recognised ${outdates('old')}`,
  `CREATE TRIGGER IF NOT EXISTS reading_seen AFTER INSERT ON event WHEN ${IS_READ} ${outdates('new')}`,
  `CREATE TRIGGER IF NOT EXISTS reading_relabelled AFTER UPDATE OF label ON event
    WHEN old.label IS NOT new.label AND ${IS_READ} ${outdates('new')}`,
]

/** Those that are over. */
const STRETCHES_DUE = `SELECT stretch FROM reading_stretch
  WHERE plates IS NULL AND stretch < (SELECT max(stretch) FROM reading_stretch) ORDER BY stretch LIMIT ?`
/** A moment, for which others wait. */
const STRETCHES_AT_ONCE = 8
const FORGET_EMPTY = `DELETE FROM reading_stretch WHERE stretch = ? AND NOT EXISTS (SELECT 1 FROM ${OF_STRETCH})`
const listOf = (what: string, more = '') =>
  `(SELECT coalesce(group_concat(DISTINCT ${what}), '') FROM ${OF_STRETCH.replace(' WHERE', `${more} WHERE`)})`
const OF_EVENT = ' JOIN event USING (camera, began_at, number)'
const WRITE_STRETCH = `UPDATE reading_stretch SET plates = ${listOf('folded')}, cameras = ${listOf('camera')},
  labels = ',' || ${listOf('label', OF_EVENT)} || ',' || ${listOf(`'grp ' || grp`, OF_EVENT)} || ',' WHERE stretch = ?`

/** As numbers of the table. */
const CERTAINTIES: readonly Certainty[] = ['known', 'unsure', 'unknown']

/** Behind those of an event. */
export const RECOGNISED_COLUMNS = ', who, identity, method, plate, plate_state, confidence'
export const FORGET_RECOGNISED = 'DELETE FROM recognised WHERE camera = ? AND began_at >= ? AND began_at < ?'

const PUT = `INSERT INTO recognised (camera, began_at, number, who, identity, method, plate, folded, plate_state, confidence)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (camera, began_at, number) DO UPDATE SET who = excluded.who, identity = excluded.identity,
    method = excluded.method, plate = excluded.plate, folded = excluded.folded, plate_state = excluded.plate_state,
    confidence = excluded.confidence`
const MERGE = 'UPDATE recognised SET identity = ? WHERE identity = ?'
const HELD = 'SELECT DISTINCT folded FROM recognised INDEXED BY recognised_identity WHERE identity = ?'
const OF_ONE = 'WHERE folded = ? AND identity = ?'
const UNNAME = `UPDATE recognised SET identity = NULL, method = NULL, who = 2, plate_state = 2 ${OF_ONE}`
const UNSURE = `UPDATE recognised SET who = 1, plate_state = 1 ${OF_ONE} AND who <> 1`
const SURENESS = `iif(confidence >= ${SURE_CONFIDENCE}, 0, 1)`
/** What has the name already is not written again. */
const NAME = `UPDATE recognised SET identity = ?1, method = 'plate', who = ${SURENESS}, plate_state = ${SURENESS}
  WHERE folded = ?2 AND (identity IS NOT ?1 OR who <> ${SURENESS})`
const NEXT_HELD = 'SELECT min(identity) FROM recognised WHERE identity > ?'
const MATCHED = 'SELECT book FROM reading_match'
const SET_MATCHED =
  'INSERT INTO reading_match (one, book) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET book = excluded.book'
/** Of the newest 5000, so that it costs the same however many there are. The other columns are those of the last moment. */
const UNNAMED = `SELECT plate, count(*), max(began_at) AS last_at, camera, number FROM
  (SELECT plate, folded, began_at, camera, number FROM recognised INDEXED BY recognised_identity
    WHERE identity IS NULL AND folded IS NOT NULL ORDER BY began_at DESC LIMIT 5000)
  GROUP BY folded ORDER BY last_at DESC LIMIT ?`

/** Writes which plates are in stretches of time that are over: seldom, and not with each plate. */
export async function writeStretches(writer: Writer): Promise<void> {
  for (;;) {
    const due = await writer.read(STRETCHES_DUE, [STRETCHES_AT_ONCE])
    await writer.write([
      { sql: FORGET_EMPTY, values: due },
      { sql: WRITE_STRETCH, values: due },
    ])
    if (due.length < STRETCHES_AT_ONCE) return
  }
}

export function recognisedStore(writer: Writer): RecognisedStore {
  const heldBy = async (identity: string) => (await writer.read(HELD, [identity])).map(([reading]) => String(reading))

  return {
    async recognise(eventId, recognised) {
      const [camera = '', beganAt = '', number = ''] = eventId.split('-')
      await writer.write([{ sql: PUT, values: [[camera, Number(beganAt), Number(number), ...valuesOf(recognised)]] }])
    },
    async rejudge(identityId, folded, merged) {
      if (merged !== undefined) await writer.write([{ sql: MERGE, values: [[identityId, merged]] }])
      const own = new Set(folded)
      const others = (await heldBy(identityId)).filter((reading) => !own.has(reading))
      const isNearOne = (reading: string) => folded.some((plate) => isNear(plate, reading))
      const valuesOfAll = (readings: readonly string[]) => readings.map((reading) => [reading, identityId])
      await writer.write([
        { sql: UNNAME, values: valuesOfAll(others.filter((reading) => !isNearOne(reading))) },
        { sql: UNSURE, values: valuesOfAll(others.filter(isNearOne)) },
        { sql: NAME, values: folded.map((one) => [identityId, one]) },
      ])
    },
    readingsOf: heldBy,
    async held() {
      const found: string[] = []
      const next = async (after: string) => String((await writer.read(NEXT_HELD, [after]))[0]?.[0] ?? '')
      for (let one = await next(''); one !== ''; one = await next(one)) found.push(one)
      return found
    },
    isMatchedBy: async (book) => (await writer.read(MATCHED, []))[0]?.[0] === digestOf(book),
    setMatched: (book) => writer.write([{ sql: SET_MATCHED, values: [[book ? digestOf(book) : null]] }]),
    async unnamed(limit) {
      const rows = await writer.read(UNNAMED, [limit])
      return rows.map(([text, count, lastAt, camera, number]) => ({
        ...{ text: String(text), count: Number(count), lastAt: Number(lastAt) },
        eventId: `${camera}-${lastAt}-${number}`,
      }))
    },
  }
}

/** Names are not in it: nothing is matched by them. */
function digestOf(book: MatchedBook): string {
  const plates = book.map(({ id, plates: theirs }) => [id, ...theirs])
  return createHash('sha256').update(JSON.stringify(plates)).digest('hex')
}

function valuesOf(recognised: Recognised): SqlValue[] {
  const { identityId, method, plate } = recognised
  const who = CERTAINTIES.indexOf(certaintyOf(recognised))
  const read = plate && [plate.text, foldedPlate(plate.text), CERTAINTIES.indexOf(plate.state), plate.confidence]
  return [who, identityId, method, ...(read ?? [null, null, null, null])]
}

/** @param row the columns that this adds */
export function recognisedOf([who, identity, method, text, state, confidence]: SqlValue[]): Recognised | undefined {
  if (who === null || who === undefined) return undefined
  return {
    identityId: typeof identity === 'string' ? identity : null,
    method: method === 'plate' ? method : null,
    plate:
      typeof text === 'string'
        ? { text, state: CERTAINTIES[Number(state)] ?? 'unknown', confidence: Number(confidence) }
        : null,
  }
}

interface Asked extends EventWish {
  since: number
  until: number
  longestMs: number
}

type LabelTest = { column: 'label' | 'grp'; value: string | number } | undefined

/** What is asked of what was recognised, as tests of SQL: each begins with AND. */
export function recognisedTests(
  { plate, who }: Pick<EventWish, 'plate' | 'who'>,
  label?: LabelTest,
): { sql: string; values: SqlValue[] } {
  const tests: [string, SqlValue][] = []
  if (who && 'certainty' in who) tests.push(['who = ?', CERTAINTIES.indexOf(who.certainty)])
  if (who && 'identityId' in who) tests.push(['identity = ?', who.identityId])
  if (plate !== undefined) tests.push(['instr(folded, ?) > 0', plate])
  if (label) tests.push([`event.${label.column} = ?`, label.value])
  return { sql: tests.map(([sql]) => ` AND ${sql}`).join(''), values: tests.map(([, value]) => value) }
}

/** So many cameras are looked for in a stretch before it is gone through. */
const FEW_CAMERAS = 4

/** Tests by which a stretch is passed over. */
function stretchTests({ cameras, plate }: Pick<EventWish, 'cameras' | 'plate'>, label: LabelTest) {
  const tests: string[] = []
  const values: SqlValue[] = []
  if (plate !== undefined) {
    tests.push('instr(plates, ?) > 0')
    values.push(plate)
  }
  if (label) {
    tests.push('instr(labels, ?) > 0')
    values.push(`,${label.column === 'grp' ? 'grp ' : ''}${label.value},`)
  }
  if (cameras.length <= FEW_CAMERAS) {
    const places = Array.from({ length: FEW_CAMERAS }, (_, at) => cameras[at] ?? cameras[0] ?? '')
    tests.push(`(${places.map(() => 'instr(cameras, ?) > 0').join(' OR ')})`)
    values.push(...places)
  }
  return { sql: tests.length > 0 ? ` AND (plates IS NULL OR ${tests.join(' AND ')})` : '', values }
}

/**
 * The newest of all cameras: stretch by stretch, of what was recognised by one of its indices alone. So neither a plate that
 * was never read nor a label that no vehicle has takes all that there is.
 */
export function recognisedFind(
  { cameras, limit, longestMs, since, until, ...wish }: Asked,
  label: LabelTest,
  columns: string,
): { sql: string; values: SqlValue[] } {
  const tests = recognisedTests(wish, label)
  const stretches = stretchTests({ cameras, plate: wish.plate }, label)
  const { who } = wish
  const index = who ? ('certainty' in who ? 'recognised_who' : 'recognised_identity') : 'recognised_when'
  const eventIndex = { label: 'event_label', grp: 'event_group', none: 'event_place' }[label?.column ?? 'none']
  const from = Math.max(0, since - longestMs)
  const isWhole = stretches.sql === ''
  const outer = isWhole ? '' : `reading_stretch CROSS JOIN `
  const within = isWhole
    ? ''
    : `stretch >= (? >> ${STRETCH_BITS}) AND stretch <= (? >> ${STRETCH_BITS})${stretches.sql}
    AND began_at >= ${STRETCH_START} AND began_at < ${STRETCH_END} AND `
  const sql = `SELECT ${columns}${RECOGNISED_COLUMNS} FROM ${outer}recognised INDEXED BY ${index}
    CROSS JOIN event INDEXED BY ${eventIndex} USING (camera, began_at, number)
    WHERE ${within}began_at >= ? AND began_at <= ?${tests.sql}
    AND event.last_at >= ? AND camera IN (SELECT value FROM json_each(?))
    ORDER BY ${isWhole ? '' : 'stretch DESC, '}began_at DESC, camera, number DESC LIMIT ?`
  const stretchValues = isWhole ? [] : [from, until, ...stretches.values]
  return { sql, values: [...stretchValues, from, until, ...tests.values, since, JSON.stringify(cameras), limit] }
}

/** Of these events, whenever they were. @param keys camera, beginning and number of each */
export function recognisedAmong(
  keys: readonly (readonly SqlValue[])[],
  wish: Pick<EventWish, 'plate' | 'who'>,
  columns: string,
): { sql: string; values: SqlValue[] } {
  const { sql: tests, values } = recognisedTests(wish)
  const sql = `SELECT ${columns}${RECOGNISED_COLUMNS} FROM json_each(?) AS asked CROSS JOIN recognised
    ON camera = asked.value ->> 0 AND began_at = asked.value ->> 1 AND number = asked.value ->> 2
    CROSS JOIN event USING (camera, began_at, number) WHERE true${tests}`
  return { sql, values: [JSON.stringify(keys), ...values] }
}
