/** What happened, on the disk: events of cameras, and what rules did. A thread writes and reads; nobody waits for a write. */
import { join } from 'node:path'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { faultOf } from '#kit/pure/fault.ts'
import { type SqlValue, startWriter, type Writer } from '#kit/store/sqlite-writer.ts'
import type { CameraEvent } from '../core/camera-events/camera-events.ts'
import type { CameraEventKind, CameraEventPhase } from '../core/camera-events/meaning.ts'
import { HAPPENED_HEAP } from '../core/memory.ts'
import type { Alert } from '../core/rules/rules.ts'

/** For the ledger. */
export const HAPPENED_FILE = 'happened.db'
/** `plhp` */
const APPLICATION_ID = 0x706c_6870

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS camera_event (id INTEGER PRIMARY KEY, camera TEXT NOT NULL, kind TEXT NOT NULL,
    phase TEXT NOT NULL, topic TEXT NOT NULL, at INTEGER NOT NULL, summary TEXT NOT NULL) STRICT`,
  'CREATE INDEX IF NOT EXISTS camera_event_at ON camera_event (camera, at)',
  // Which cameras it has to do with, beside the one at which it happened; the rest is text.
  `CREATE TABLE IF NOT EXISTS alert (id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, camera TEXT, others TEXT NOT NULL,
    body TEXT NOT NULL) STRICT`,
  'CREATE INDEX IF NOT EXISTS alert_at ON alert (at)',
]
const PUT_ALERT = `INSERT INTO alert (id, at, camera, others, body) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET body = excluded.body`
const DROP_ALERTS = 'DELETE FROM alert WHERE rowid <= (SELECT max(rowid) FROM alert) - ?'
const LIST_ALL_ALERTS = 'SELECT body FROM alert ORDER BY at DESC, rowid DESC LIMIT ?'
/** As `isToldTo` says. */
const LIST_ALERTS = `WITH seen AS (SELECT value FROM json_each(?)) SELECT body FROM alert
  WHERE camera IN seen OR (camera IS NULL AND others <> '[]' AND json_extract(body, '$.triggerType') <> 'fault'
    AND NOT EXISTS (SELECT 1 FROM json_each(others) WHERE value NOT IN seen))
  ORDER BY at DESC, rowid DESC LIMIT ?`
const PUT_EVENT = 'INSERT INTO camera_event (camera, kind, phase, topic, at, summary) VALUES (?, ?, ?, ?, ?, ?)'
const DROP_EVENTS = 'DELETE FROM camera_event WHERE id <= (SELECT max(id) FROM camera_event) - ?'
const LIST_EVENTS = `SELECT camera, kind, phase, topic, at, summary FROM camera_event
  WHERE camera IN (SELECT value FROM json_each(?)) AND at < ? ORDER BY at DESC, id DESC LIMIT ?`

/** What comes within this time is written together: a card wears with each write. */
const GATHER_MS = 1000

/** Bounds, by the names of their settings. */
interface HappenedLimits {
  /** Events, and alerts, that are kept. */
  events: number
  alerts: number
  /** What waits for the disk. */
  waiting: number
}

interface HappenedParts {
  stateFolder: string
  clock: Clock
  log: Log
  limits: HappenedLimits
  /** Why it could not be written; undefined: it can be again. */
  onDisk(fault: Error | undefined): void
}

/** A search; the newest first. */
export interface HappenedQuery {
  cameras: readonly string[]
  /** Before this instant, epoch ms. */
  before: number
  limit: number
}

export interface HappenedStore {
  addEvent(event: CameraEvent): void
  /** With those that wait. @throws Fault `store_read_failed` */
  events(query: HappenedQuery): Promise<CameraEvent[]>
  /** Again, with what came of it meanwhile. */
  putAlert(alert: Alert): void
  /** Newest first. @param query.cameras null: all. @throws Fault `store_read_failed` */
  alerts(query: { cameras: readonly string[] | null; limit: number }): Promise<Alert[]>
  /** Writes what waits. */
  close(): Promise<void>
}

export function openHappened({ clock, limits, log, onDisk, stateFolder }: HappenedParts): HappenedStore {
  const writer = writerOf(stateFolder, log)
  let waiting: SqlValue[][] = []
  let alerts = new Map<string, SqlValue[]>()
  let lost = 0
  let gathering: Timer | undefined
  let writing: Promise<void> = Promise.resolve()

  async function flush(): Promise<void> {
    gathering?.cancel()
    gathering = undefined
    writing = writing.then(write)
    await writing
  }

  /** Never rejects: what cannot be written is reported, and gone. */
  async function write(): Promise<void> {
    const [rows, alertRows] = [waiting, [...alerts.values()]]
    waiting = []
    alerts = new Map()
    if (rows.length + alertRows.length === 0) return
    try {
      await writer.write([
        { sql: PUT_EVENT, values: rows },
        { sql: DROP_EVENTS, values: [[limits.events]] },
        { sql: PUT_ALERT, values: alertRows },
        { sql: DROP_ALERTS, values: [[limits.alerts]] },
      ])
      if (lost > 0) log.warning('what happened is lost: the disk is behind', { events: lost })
      lost = 0
      onDisk(undefined)
    } catch (fault) {
      onDisk(faultOf(fault, 'store_write_failed', `${HAPPENED_FILE} was not written`))
    }
  }

  return {
    addEvent({ at, camera, kind, phase, summary, topic }) {
      if (waiting.length >= limits.waiting) {
        lost++
        return
      }
      waiting.push([camera, kind, phase, topic, at, summary])
      gathering ??= clock.after(GATHER_MS, () => void flush())
    },
    async events({ before, cameras, limit }) {
      await flush()
      const rows = await writer.read(LIST_EVENTS, [JSON.stringify(cameras), before, limit])
      return rows.map(eventOf)
    },
    putAlert(alert) {
      const { at, camera, id, results } = alert
      if (!alerts.has(id) && alerts.size >= limits.waiting) {
        lost++
        return
      }
      const others = results.flatMap((one) => (one.camera === null ? [] : [one.camera]))
      alerts.set(id, [id, at, camera, JSON.stringify([...new Set(others)]), JSON.stringify(alert)])
      gathering ??= clock.after(GATHER_MS, () => void flush())
    },
    async alerts({ cameras, limit }) {
      await flush()
      const rows = await (cameras === null
        ? writer.read(LIST_ALL_ALERTS, [limit])
        : writer.read(LIST_ALERTS, [JSON.stringify(cameras), limit]))
      return rows.map(([body]) => JSON.parse(String(body)) as Alert)
    },
    async close() {
      await flush()
      await writer.close()
    },
  }
}

function writerOf(stateFolder: string, log: Log): Writer {
  const path = join(stateFolder, HAPPENED_FILE)
  return startWriter(path, {
    busyMs: 5000,
    heapMib: HAPPENED_HEAP,
    spare: {
      applicationId: APPLICATION_ID,
      schema: SCHEMA,
      onPutAside: (why) => log.error('what happened is put aside', { file: `${path}.damaged`, why }),
    },
  })
}

function eventOf([camera, kind, phase, topic, at, summary]: SqlValue[]): CameraEvent {
  return {
    ...{ camera: String(camera), topic: String(topic), at: Number(at), summary: String(summary) },
    ...{ kind: kind as CameraEventKind, phase: phase as CameraEventPhase },
  }
}
