/**
 * Events and tracks on the disk: a SQLite database beside the index of footage, which a thread of its own writes and reads.
 * What is in it may be spared: a damaged one is put aside, and a new one begins.
 */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type SqlValue, startWriter, type Work, type Writer } from '#kit/store/sqlite-writer.ts'
import type { RecognisedStore } from '../core/recognition/recognised.ts'
import type { Box } from '../core/sight/boxes.ts'
import type {
  DensityWish,
  EventSource,
  EventStore,
  EventWish,
  SightEvent,
  Sighting,
  Slice,
  TrackPiece,
} from '../core/sight/events.ts'
import { isLabelGroup, type LabelGroup, labelGroups } from '../core/sight/labels.ts'
import { EVENTS_HEAP_MIB } from '../core/sight/memory.ts'
import {
  FORGET_RECOGNISED,
  RECOGNISED_COLUMNS,
  RECOGNISED_SCHEMA,
  recognisedAmong,
  recognisedFind,
  recognisedOf,
  recognisedStore,
  recognisedTests,
  writeStretches,
} from './recognised-table.ts'

/** Marks our files: `PLRE`. */
const APPLICATION_ID = 0x504c5245
const SIGHT_FILE = 'sight.db'

/** An event that reaches into a span begins at most so long before it. Longer ones are looked for apart: `event_long`. */
const LONGEST_MS = 3_600_000
/** Which ones those are: the index is found by the same words. */
const IS_LONG = `last_at - began_at > ${LONGEST_MS}`

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, camera TEXT NOT NULL, began_at INTEGER NOT NULL,
    number INTEGER NOT NULL, label TEXT NOT NULL, grp INTEGER NOT NULL, source TEXT NOT NULL, score REAL NOT NULL,
    last_at INTEGER NOT NULL, ended_at INTEGER, best_at INTEGER NOT NULL, box BLOB) STRICT`,
  'CREATE INDEX IF NOT EXISTS event_place ON event (camera, began_at, number, last_at, grp)',
  'CREATE UNIQUE INDEX IF NOT EXISTS event_name ON event (camera, began_at, number)',
  'CREATE INDEX IF NOT EXISTS event_label ON event (camera, label, began_at, number, last_at)',
  'CREATE INDEX IF NOT EXISTS event_group ON event (camera, grp, began_at, number, last_at)',
  // Few: what a camera claims all day, somebody at a counter.
  `CREATE INDEX IF NOT EXISTS event_long ON event (camera, last_at) WHERE ${IS_LONG}`,
  'CREATE INDEX IF NOT EXISTS event_open ON event (ended_at) WHERE ended_at IS NULL',
  `CREATE TABLE IF NOT EXISTS piece (id INTEGER PRIMARY KEY, camera TEXT NOT NULL, from_at INTEGER NOT NULL,
    to_at INTEGER NOT NULL, track INTEGER NOT NULL, label TEXT NOT NULL, sightings BLOB NOT NULL) STRICT`,
  'CREATE INDEX IF NOT EXISTS piece_place ON piece (camera, from_at)',
  'CREATE TABLE IF NOT EXISTS offset (camera TEXT NOT NULL, at INTEGER NOT NULL, ms INTEGER NOT NULL, PRIMARY KEY (camera, at)) STRICT, WITHOUT ROWID',
  ...RECOGNISED_SCHEMA,
  // What was open at a kill ended when it was seen last.
  'UPDATE event SET ended_at = last_at WHERE ended_at IS NULL',
]

const COLUMNS = 'camera, began_at, number, label, grp, source, score, last_at, ended_at, best_at, box'
const PUT_EVENT = `INSERT INTO event (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (camera, began_at, number) DO UPDATE SET label = excluded.label, grp = excluded.grp, score = excluded.score,
    last_at = excluded.last_at, ended_at = excluded.ended_at, best_at = excluded.best_at, box = excluded.box`
const PUT_PIECE = 'INSERT INTO piece (camera, from_at, to_at, track, label, sightings) VALUES (?, ?, ?, ?, ?, ?)'
const FORGET_EVENTS = 'DELETE FROM event WHERE camera = ? AND began_at >= ? AND began_at < ?'
const FORGET_OFFSETS = 'DELETE FROM offset WHERE camera = ? AND at >= ? AND at < ?'
const PUT_OFFSET = 'INSERT OR REPLACE INTO offset (camera, at, ms) VALUES (?, ?, ?)'
/** Some on either side: one that is wrong is outvoted. */
const OFFSETS = `SELECT at, ms FROM (SELECT at, ms FROM offset WHERE camera = ? AND at < ? ORDER BY at DESC LIMIT 3)
  UNION ALL SELECT at, ms FROM (SELECT at, ms FROM offset WHERE camera = ? AND at >= ? ORDER BY at LIMIT 3)`
const FORGET_PIECES = 'DELETE FROM piece WHERE camera = ? AND from_at >= ? AND from_at < ?'

type Table = 'event' | 'piece' | 'recognised'

/** Ids grow in the order of writing. A thousand at once are a moment, for which others wait. */
const MOST_TRIMMED = 1000
const TRIM = (table: Table) => `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} ORDER BY id LIMIT ?)`
/** At most so many, and quick to tell; counting a million takes longer than others may wait each time. */
const SPAN = (table: Table) => `SELECT max(id) - min(id) + 1 FROM ${table}`
const COUNT = (table: Table) => `SELECT count(*) FROM ${table}`
const PUTS_UNTIL_TRIM = 64

const PIECES = `SELECT camera, track, label, from_at, sightings FROM piece
  WHERE camera = ? AND from_at >= ? AND from_at < ? AND to_at >= ? ORDER BY from_at, id LIMIT 20000`
/** Unpacked before others have their turn: some thousand boxes at most. */
const PIECES_A_TURN = 64
const ONE = `SELECT ${COLUMNS}${RECOGNISED_COLUMNS} FROM event LEFT JOIN recognised USING (camera, began_at, number) WHERE camera = ? AND began_at = ? AND number = ?`

/** As long as a piece of a track is at most, with room for cameras with few key frames. */
const LONGEST_PIECE_MS = 60_000
/** How much of the time is counted with one question: others do not wait for all of a month. */
const COUNTED_MS = 4 * 86_400_000

interface StoreOptions {
  /** Beside the state; exists. */
  folder: string
  limits: {
    /** Keys `events.max` and `events.tracks`. */
    events: number
    pieces: number
    /** Key `recognition.readings`. */
    readings: number
  }
  /** The database was damaged, and a new one was begun. */
  onPutAside(why: string): void
}

export function openEventStore({ folder, limits, onPutAside }: StoreOptions): EventStore & RecognisedStore {
  const writer = startWriter(join(folder, SIGHT_FILE), {
    ...{ busyMs: 5000, heapMib: EVENTS_HEAP_MIB, mayLoseNewest: true },
    spare: { applicationId: APPLICATION_ID, schema: SCHEMA, onPutAside },
  })

  let puts = 0

  const number = async (sql: string) => Number((await writer.read(sql, []))[0]?.[0] ?? 0)

  async function trim(table: Table, most: number): Promise<void> {
    if ((await number(SPAN(table))) <= most) return
    for (let over = (await number(COUNT(table))) - most; over > 0; over -= MOST_TRIMMED)
      await writer.write([{ sql: TRIM(table), values: [[Math.min(over, MOST_TRIMMED)]] }])
  }

  return {
    ...readersOf(writer),
    ...recognisedStore(writer),
    async put(events, pieces) {
      if (events.length + pieces.length === 0) return
      await writer.write([
        { sql: PUT_EVENT, values: events.map(eventValues) },
        { sql: PUT_PIECE, values: pieces.map(pieceValues) },
      ])
      puts++
      if (puts % PUTS_UNTIL_TRIM !== 1) return
      await trim('event', limits.events)
      await trim('piece', limits.pieces)
      await trim('recognised', limits.readings)
      await writeStretches(writer)
    },
    async forget(camera, from, to) {
      const values = [[camera, Math.floor(from), Math.ceil(to)]]
      const gone = [FORGET_EVENTS, FORGET_PIECES, FORGET_OFFSETS, FORGET_RECOGNISED]
      const work: Work[] = gone.map((sql) => ({ sql, values }))
      await writer.write(work)
    },
    putOffset: (camera, at, offsetMs) =>
      writer.write([{ sql: PUT_OFFSET, values: [[camera, Math.round(at), Math.round(offsetMs)]] }]),
    close: () => writer.close(),
  }
}

function readersOf(
  writer: Writer,
): Pick<EventStore, 'among' | 'cameras' | 'density' | 'find' | 'offsetNear' | 'one' | 'pieces'> {
  async function density({ bucketMs, camera, from, to }: DensityWish): Promise<Slice[]> {
    const slices = new Map<number, Slice>()
    for (let at = from; at < to; at += COUNTED_MS)
      for (const row of await writer.read(DENSITY, [from, bucketMs, camera, at, Math.min(to, at + COUNTED_MS)]))
        addTo(slices, row.map(Number))
    return [...slices.values()].toSorted((a, b) => a.bucket - b.bucket)
  }

  return {
    density,
    async cameras() {
      const found: string[] = []
      const next = async (sql: string, after: string) => String((await writer.read(sql, [after]))[0]?.[0] ?? '')
      for (const table of ['event', 'piece']) {
        const sql = `SELECT min(camera) FROM ${table} WHERE camera > ?`
        for (let one = await next(sql, ''); one !== ''; one = await next(sql, one)) found.push(one)
      }
      return [...new Set(found)]
    },
    async find(wish) {
      const { cameras, label, limit, plate, since = 0, until = Number.MAX_SAFE_INTEGER, who } = wish
      if (cameras.length === 0) return []
      const isRecognised = plate !== undefined || who !== undefined
      const named = labelTest(label)
      const spanned = { ...wish, since, until, longestMs: LONGEST_MS }
      const { sql, values } = isRecognised ? recognisedFind(spanned, named, COLUMNS) : newestOf(spanned, named)
      const rows = await writer.read(sql, values)
      if (since <= LONGEST_MS || rows.length >= limit) return rows.map(eventOf)
      const tests = recognisedTests({ plate, who }, named)
      const before = Math.min(since - LONGEST_MS, until + 1)
      const longer = [JSON.stringify(cameras), since, before, ...tests.values, limit - rows.length]
      rows.push(...(await writer.read(longText(tests.sql, isRecognised), longer)))
      return rows.map(eventOf)
    },
    async among(ids, wish) {
      if (ids.length === 0) return []
      const { sql, values } = recognisedAmong(
        ids.flatMap((id) => [keyOf(id) ?? []]),
        wish,
        COLUMNS,
      )
      return (await writer.read(sql, values)).map(eventOf)
    },
    async one(id) {
      const key = keyOf(id)
      const [row] = key ? await writer.read(ONE, key) : []
      return row && eventOf(row)
    },
    async offsetNear(camera, from, to) {
      const middle = Math.round((from + to) / 2)
      const rows = await writer.read(OFFSETS, [camera, middle, camera, middle])
      const near = rows
        .map(([at, ms]) => ({ at: Number(at), offsetMs: Number(ms) }))
        .toSorted((a, b) => Math.abs(a.at - middle) - Math.abs(b.at - middle))
        .slice(0, 3)
        .toSorted((a, b) => a.offsetMs - b.offsetMs)
      return near[Math.floor((near.length - 1) / 2)]
    },
    async pieces(camera, from, to) {
      const rows = await writer.read(PIECES, [camera, from - LONGEST_PIECE_MS, to, from])
      const pieces: TrackPiece[] = []
      for (const [place, row] of rows.entries()) {
        // The daemon goes on meanwhile.
        if (place % PIECES_A_TURN === PIECES_A_TURN - 1) await nextTurn()
        pieces.push(pieceOf(row))
      }
      return pieces
    },
  }
}

const DENSITY = `SELECT (began_at - CAST(? AS INTEGER)) / CAST(? AS INTEGER) AS bucket, grp, count(*), min(began_at) FROM event INDEXED BY event_place
  WHERE camera = ? AND began_at >= ? AND began_at < ? GROUP BY bucket, grp`

function addTo(slices: Map<number, Slice>, [bucket = 0, group = 0, count = 0, firstAt = 0]: readonly number[]): void {
  const slice = slices.get(bucket) ?? { bucket, total: 0, firstAt, person: 0, vehicle: 0, animal: 0, other: 0 }
  slice[labelGroups[group] ?? 'other'] += count
  slice.total += count
  slice.firstAt = Math.min(slice.firstAt, firstAt)
  slices.set(bucket, slice)
}

function labelTest(label: EventWish['label']): { column: 'label' | 'grp'; value: string | number } | undefined {
  if (label === undefined) return undefined
  return isLabelGroup(label) ? { column: 'grp', value: labelGroups.indexOf(label) } : { column: 'label', value: label }
}

/** A few texts of the question serve all accounts: what there is not is asked for with an empty id. */
function newestOf(
  { cameras, limit, longestMs, since, until }: EventWish & { since: number; until: number; longestMs: number },
  named: ReturnType<typeof labelTest>,
): { sql: string; values: SqlValue[] } {
  const places = 2 ** Math.ceil(Math.log2(cameras.length))
  const one = [since - longestMs, until, since, ...(named ? [named.value] : []), limit]
  const values = Array.from({ length: places }, (_, at) => [cameras[at] ?? '', ...one]).flat()
  return { sql: findText(places, named?.column), values: [...values, limit] }
}

/**
 * The newest of each camera by their index alone, and of these the newest: as quick for one camera as for all, and for a
 * label that is rare.
 */
function findText(places: number, column: 'label' | 'grp' | undefined): string {
  const index = { label: 'event_label', grp: 'event_group', none: 'event_place' }[column ?? 'none']
  const one = `SELECT * FROM (SELECT id, began_at FROM event INDEXED BY ${index} WHERE camera = ? AND began_at >= ?
    AND began_at <= ? AND last_at >= ? ${column ? `AND ${column} = ?` : ''} ORDER BY began_at DESC, number DESC LIMIT ?)`
  const ids = `SELECT id FROM (${Array.from({ length: places }, () => one).join(' UNION ALL ')})
    ORDER BY began_at DESC LIMIT ?`
  return `SELECT ${COLUMNS}${RECOGNISED_COLUMNS} FROM event LEFT JOIN recognised USING (camera, began_at, number)
    WHERE event.id IN (${ids}) ORDER BY began_at DESC, camera, number DESC`
}

/** Those that last so long that they began before what else is looked at. */
function longText(tests: string, isRecognised: boolean): string {
  return `SELECT ${COLUMNS}${RECOGNISED_COLUMNS} FROM event INDEXED BY event_long
    ${isRecognised ? 'CROSS' : 'LEFT'} JOIN recognised USING (camera, began_at, number)
    WHERE camera IN (SELECT value FROM json_each(?)) AND ${IS_LONG} AND last_at >= ? AND began_at < ?${tests}
    ORDER BY began_at DESC, camera, number DESC LIMIT ?`
}

function keyOf(id: string): [camera: string, beganAt: number, number: number] | undefined {
  const parts = /^([0-9a-f]{8})-(\d{1,15})-(\d{1,9})$/.exec(id)
  return parts ? [parts[1] ?? '', Number(parts[2]), Number(parts[3])] : undefined
}

function eventValues(event: SightEvent): SqlValue[] {
  const [camera = '', beganAt = 0, number = 0] = keyOf(event.id) ?? []
  return [
    ...[camera, beganAt, number, event.label, labelGroups.indexOf(event.group), event.source, event.score],
    ...[Math.round(event.lastAt), event.endedAt === null ? null : Math.round(event.endedAt), Math.round(event.bestAt)],
    event.box && packedBox(event.box),
  ]
}

function eventOf(row: SqlValue[]): SightEvent {
  const [camera, beganAt, number, label, group, source, score, lastAt, endedAt, bestAt, box, ...more] = row
  return {
    ...{ id: `${camera}-${beganAt}-${number}`, cameraId: String(camera), label: String(label), score: Number(score) },
    group: labelGroups[Number(group)] as LabelGroup,
    source: source as EventSource,
    ...{ beganAt: Number(beganAt), lastAt: Number(lastAt), bestAt: Number(bestAt) },
    endedAt: endedAt === null ? null : Number(endedAt),
    box: box instanceof Uint8Array ? unpackedBox(box, 0) : null,
    recognised: recognisedOf(more),
  }
}

/** Fractions of the picture, in 65535ths. */
const SIDE = 65_535
const BOX_BYTES = 8

function packedBox(box: Box, into = new Uint8Array(BOX_BYTES), at = 0): Uint8Array {
  const view = new DataView(into.buffer)
  for (const [place, side] of box.entries()) view.setUint16(at + place * 2, Math.round(side * SIDE))
  return into
}

function unpackedBox(bytes: Uint8Array, at: number): Box {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  // As many digits as it was told with.
  const side = (place: number) => Math.round((view.getUint16(at + place * 2) / SIDE) * 1e4) / 1e4
  return [side(0), side(1), side(2), side(3)]
}

/** Milliseconds since the first, the score in 255ths, the box. */
const SIGHTING_BYTES = 4 + 1 + BOX_BYTES

function pieceValues({ cameraId, label, sightings, trackId }: TrackPiece): SqlValue[] {
  const fromAt = Math.round(sightings[0]?.at ?? 0)
  const bytes = new Uint8Array(sightings.length * SIGHTING_BYTES)
  const view = new DataView(bytes.buffer)
  for (const [place, { at, box, score }] of sightings.entries()) {
    view.setUint32(place * SIGHTING_BYTES, Math.max(0, Math.round(at) - fromAt))
    view.setUint8(place * SIGHTING_BYTES + 4, Math.round(score * 255))
    packedBox(box, bytes, place * SIGHTING_BYTES + 5)
  }
  return [cameraId, fromAt, Math.round(sightings.at(-1)?.at ?? fromAt), trackId, label, bytes]
}

function pieceOf([camera, track, label, fromAt, bytes]: SqlValue[]): TrackPiece {
  const packed = bytes instanceof Uint8Array ? bytes : new Uint8Array()
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length)
  const sightings = Array.from({ length: Math.floor(packed.length / SIGHTING_BYTES) }, (_, place): Sighting => {
    const score = Math.round((view.getUint8(place * SIGHTING_BYTES + 4) / 255) * 100) / 100
    const at = Number(fromAt) + view.getUint32(place * SIGHTING_BYTES)
    return { at, score, box: unpackedBox(packed, place * SIGHTING_BYTES + 5) }
  })
  return { cameraId: String(camera), trackId: Number(track), label: String(label), sightings }
}
