/**
 * Records in PostgreSQL, shared by all update servers on one database. Each has all of them in memory, and follows what
 * others write; a change waits for its turn among all of them, and knows before it begins what others wrote.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { Backoff, createSerialTurn } from '#kit/pure/pace.ts'
import type { Seal } from '#kit/store/sealing.ts'
import { PAGE_RECORDS } from '../core/memory.ts'
import {
  type Connection,
  connectAtStart,
  connectPostgres,
  type PostgresParts,
  type Rows,
  unreachable,
} from './postgres.ts'
import type { RecordStore, Row } from './records.ts'

export interface SharedStoreParts extends PostgresParts {
  clock: Clock
  seal: Seal
  /** How often is looked what others wrote, where the database has not told it. */
  followMs: number
  /** Changes that wait for their turn. */
  waiting: number
  retryFirstMs: number
  retryMaxMs: number
  /** It does not answer any more, or does again. */
  onAway(fault: Fault): void
  onBack(): void
  /** This daemon cannot go on with what it has in memory. */
  onBroken(fault: Fault): void
}

/** What others wrote, in the order of writing. */
export type Follower = (rows: readonly Row[]) => void

export interface SharedStore extends RecordStore {
  /** Called once, when this daemon is ready to follow: others wait with their start until then. */
  follow(follower: Follower): Promise<void>
  /** Resolves when all that others have written until now is known here. @throws Fault `store_unreachable` */
  refresh(): Promise<void>
  isReachable(): boolean
  close(): Promise<void>
}

/** As that of the file updates.db. */
const SCHEMA_VERSION = 2
const CHANNEL = 'plantroom_updates'
/** Of the locks that all start with: `PLUP`, and which one. */
const LOCKS = { migration: '1347175760, 1', start: '1347175760, 2' } as const
/** How long the start of another daemon is waited for. */
const START_MS = 60_000
/** Each so many changes, what was removed over a day ago is forgotten. */
const TIDY_EVERY = 256
const SEALED = { text: 'plantroom', of: 'store' } as const

const TABLES = `
CREATE TABLE IF NOT EXISTS plantroom_updates_store (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  schema integer NOT NULL, revision bigint NOT NULL, forgotten bigint NOT NULL, seal text NOT NULL);
CREATE TABLE IF NOT EXISTS plantroom_updates_record (
  kind text NOT NULL, key text NOT NULL, record text, revision bigint NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (kind, key));
CREATE INDEX IF NOT EXISTS plantroom_updates_record_revision ON plantroom_updates_record (revision, kind, key);
CREATE INDEX IF NOT EXISTS plantroom_updates_record_removed ON plantroom_updates_record (written_at) WHERE record IS NULL`

const STATE = 'SELECT schema, revision, forgotten FROM plantroom_updates_store'
const WRITE = `INSERT INTO plantroom_updates_record (kind, key, record, revision)
  SELECT kind, key, record, $4 FROM unnest($1::text[], $2::text[], $3::text[]) AS new (kind, key, record)
  ON CONFLICT (kind, key) DO UPDATE SET record = excluded.record, revision = excluded.revision, written_at = now()`
const TIDY = `WITH gone AS (
  DELETE FROM plantroom_updates_record WHERE record IS NULL AND written_at < now() - interval '1 day' RETURNING revision)
  UPDATE plantroom_updates_store SET forgotten = greatest(forgotten, (SELECT max(revision) FROM gone))`

/** @throws Fault `store_unreachable`, `store_unusable`, `database_newer`, `seal_broken`, and those of the files named */
export async function openSharedStore(parts: SharedStoreParts): Promise<{ store: SharedStore; rows: Row[] }> {
  const reader = await connectAtStart({ ...parts, answerMs: START_MS })
  try {
    await migrate(reader, parts.seal)
    // Others wait, so that two that are new do not both make the first password.
    await reader.query(`${begin(START_MS)}; SELECT pg_advisory_xact_lock(${LOCKS.start})`)
    const revision = await revisionOf(reader)
    const rows: Row[] = []
    await readSince(reader, 0, (page) => rows.push(...page.filter(({ record }) => record !== null)))
    return { store: new Shared(parts, reader, revision), rows }
  } catch (fault) {
    reader.destroy()
    throw fault
  }
}

/** What a transaction may wait: a daemon that stands still in one holds up nobody for longer. */
function begin(ms: number, more = ''): string {
  const timeouts = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
  return [`BEGIN ${more}`, ...timeouts.map((name) => `SET LOCAL ${name} = ${ms}`)].join('; ')
}

async function migrate(connection: Connection, seal: Seal): Promise<void> {
  await connection.query(`${begin(START_MS)}; SELECT pg_advisory_xact_lock(${LOCKS.migration})`)
  const [encoding] = await connection.query('SHOW server_encoding')
  if (encoding?.server_encoding !== 'UTF8')
    throw new Fault('store_unusable', `The database is encoded as ${encoding?.server_encoding}, expected UTF8.`)
  await connection.query(TABLES)
  const first = [SCHEMA_VERSION, seal.close(SEALED.text, SEALED.of)]
  await connection.query(
    'INSERT INTO plantroom_updates_store (schema, revision, forgotten, seal) VALUES ($1, 1, 0, $2) ON CONFLICT DO NOTHING',
    first,
  )
  const [state] = await connection.query('SELECT schema, seal FROM plantroom_updates_store')
  refuseNewer(Number(state?.schema))
  // Older servers that still run see it with the next change, and end.
  await connection.query('UPDATE plantroom_updates_store SET schema = $1 WHERE schema < $1', [SCHEMA_VERSION])
  try {
    seal.open(String(state?.seal), SEALED.of)
  } catch (cause) {
    const sentence =
      'The records of the database are sealed with another key: give this update server the sealing.key of the others.'
    throw new Fault('seal_broken', sentence, { cause })
  }
  await connection.query('COMMIT')
}

/** @throws Fault `database_newer` */
function refuseNewer(schema: number): void {
  if (schema > SCHEMA_VERSION)
    throw new Fault(
      'database_newer',
      `The database was written by a newer version (schema ${schema}, this one knows ${SCHEMA_VERSION}): install that here too.`,
    )
}

async function revisionOf(connection: Connection): Promise<number> {
  const [state] = await connection.query(STATE)
  refuseNewer(Number(state?.schema))
  return Number(state?.revision)
}

/** Reads what was written after a revision, in pages, in the order of writing. */
async function readSince(connection: Connection, revision: number, take: (rows: Row[]) => void): Promise<void> {
  let after: unknown[] = [revision + 1, '', '']
  for (;;) {
    const page: Rows = await connection.query(
      `SELECT kind, key, record, revision FROM plantroom_updates_record
        WHERE (revision, kind, key) > ($1, $2, $3) ORDER BY revision, kind, key LIMIT ${PAGE_RECORDS}`,
      after,
    )
    take(page as unknown as Row[])
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_RECORDS) return
    after = [last.revision, last.kind, last.key]
  }
}

/** A change under way. */
interface Turn {
  connection: Connection
  revision: number
  isOver: boolean
}

class Shared implements SharedStore {
  readonly #parts: SharedStoreParts
  readonly #inTurn = createSerialTurn()
  readonly #backoff: Backoff
  #reader: Connection
  #writer: Connection | undefined
  #turn: Turn | undefined
  /** All that was written until it is known here. */
  #revision: number
  /** The database tells a change to all before it answers who made it. */
  #committing: Promise<void> = Promise.resolve()
  #waiting = 0
  /** What others write before this daemon is ready to follow. */
  #early: Row[] = []
  #follower: Follower = (rows) => this.#early.push(...rows)
  #away: Fault | undefined
  #looking: Promise<void> = Promise.resolve()
  #nextLook: Promise<void> | undefined
  #timer: Timer | undefined
  #retry: Timer | undefined
  #isClosed = false

  constructor(parts: SharedStoreParts, reader: Connection, revision: number) {
    this.#parts = parts
    this.#reader = reader
    this.#revision = revision
    this.#backoff = new Backoff({ firstMs: parts.retryFirstMs, maxMs: parts.retryMaxMs })
  }

  isReachable(): boolean {
    return this.#away === undefined
  }

  async inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const { retryMs, waiting } = this.#parts
    if (this.#away) throw unreachable(retryMs)
    if (this.#waiting >= waiting)
      throw new Fault('store_busy', `${waiting} changes wait for the database, as many as may. Try again soon.`, {
        details: { retryAfterMs: retryMs },
      })
    this.#waiting++
    try {
      return await this.#inTurn(() => this.#run(change))
    } finally {
      this.#waiting--
    }
  }

  async put(rows: readonly Row[]): Promise<void> {
    const turn = this.#turn
    if (!turn || turn.isOver) throw new TypeError('a record is written outside of a turn')
    const { connection, revision } = turn
    turn.isOver = true
    try {
      for (let at = 0; at < rows.length; at += PAGE_RECORDS) {
        const page = rows.slice(at, at + PAGE_RECORDS)
        const columns = [page.map(({ kind }) => kind), page.map(({ key }) => key), page.map(({ record }) => record)]
        await connection.query(WRITE, [...columns, revision])
      }
      if (revision % TIDY_EVERY === 0) await connection.query(TIDY)
      await connection.query('SELECT pg_notify($1, $2)', [CHANNEL, String(revision)])
    } catch (fault) {
      connection.destroy()
      throw this.#forCallers(fault)
    }
    this.#committing = this.#commit(connection).then(() => {
      this.#revision = revision
    })
    await this.#committing
  }

  async follow(follower: Follower): Promise<void> {
    follower(this.#early)
    this.#early = []
    this.#follower = follower
    await this.#reader.query('COMMIT')
    this.#reader.destroy()
    await this.#connectReader()
    this.#timer = this.#parts.clock.every(this.#parts.followMs, () => this.#lookSoon())
  }

  /** Whoever comes while a look waits shares it. */
  refresh(): Promise<void> {
    if (this.#away) return Promise.reject(unreachable(this.#parts.retryMs))
    this.#nextLook ??= this.#looking
      .catch(() => {})
      .then(() => {
        this.#nextLook = undefined
        this.#looking = this.#look()
        return this.#looking
      })
    return this.#nextLook
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#retry?.cancel()
    // What is under way is written.
    await this.#inTurn(async () => {})
    this.#reader.destroy()
    this.#writer?.destroy()
  }

  async #run<Result>(change: () => Promise<Result>): Promise<Result> {
    const turn = await this.#beginTurn().catch((fault) => {
      this.#writer?.destroy()
      this.#lookSoon()
      throw this.#forCallers(fault)
    })
    this.#turn = turn
    try {
      return await change()
    } finally {
      this.#turn = undefined
      if (!turn.isOver) await turn.connection.query('ROLLBACK').catch(() => turn.connection.destroy())
    }
  }

  async #beginTurn(): Promise<Turn> {
    if (!this.#writer?.isOpen()) this.#writer = await connectPostgres(this.#parts)
    const connection = this.#writer
    const { answerMs } = this.#parts
    // Whoever has the row has the turn, among all daemons, until the end of the transaction.
    const next = 'UPDATE plantroom_updates_store SET revision = revision + 1 RETURNING schema, revision, forgotten'
    const [state = {}] = await connection.query(`${begin(answerMs)}; ${next}`)
    const revision = Number(state.revision)
    this.#refuseBroken({ ...state, revision: revision - 1 })
    await this.#catchUp(connection, revision - 1)
    return { connection, revision, isOver: false }
  }

  /** The answer of a commit may be lost on its way. */
  async #commit(connection: Connection): Promise<void> {
    try {
      await connection.query('COMMIT')
    } catch (cause) {
      const isSure = connection.isOpen()
      connection.destroy()
      if (isSure) throw this.#forCallers(cause)
      throw new Fault(
        'store_unsure',
        'The database went away while it was written to: look whether the change is there, and make it again if not.',
        { cause, details: { retryAfterMs: this.#parts.retryMs } },
      )
    }
  }

  async #look(): Promise<void> {
    const reader = this.#reader
    const [state = {}] = await reader.query(STATE)
    this.#refuseBroken(state)
    if (Number(state.revision) === this.#revision) return
    await reader.query(begin(this.#parts.answerMs, 'ISOLATION LEVEL REPEATABLE READ READ ONLY'))
    await this.#catchUp(reader, await revisionOf(reader))
    await reader.query('COMMIT')
  }

  #lookSoon(): void {
    // A lost connection says so itself.
    this.refresh().catch(() => {})
  }

  /** @param until what is written by now; what is known here meanwhile, from the other connection, is left out */
  async #catchUp(connection: Connection, until: number): Promise<void> {
    if (until <= this.#revision) return
    const rows: Row[] = []
    await readSince(connection, this.#revision, (page) => rows.push(...page))
    await this.#committing.catch(() => {})
    if (until <= this.#revision) return
    const known = this.#revision
    this.#revision = until
    try {
      this.#follower(rows.filter(({ revision = 0 }) => Number(revision) > known))
    } catch (cause) {
      this.#break(new Fault('database_damaged', 'What another update server wrote cannot be read here.', { cause }))
    }
  }

  /** What is in memory has to come from this very database, and from no later state of it. */
  #refuseBroken(state: Record<string, unknown>): void {
    if (Number(state.schema) > SCHEMA_VERSION) {
      const sentence = 'A newer version has changed the database: install that here too.'
      this.#break(new Fault('database_newer', sentence))
    }
    if (Number(state.revision) < this.#revision || Number(state.forgotten) > this.#revision)
      this.#break(
        new Fault(
          'store_replaced',
          'The database is not as this update server knew it: a backup was put back, or it was out of reach for over a day. It starts anew.',
        ),
      )
  }

  #break(fault: Fault): never {
    this.#parts.onBroken(fault)
    throw fault
  }

  async #connectReader(): Promise<void> {
    const reader = await connectPostgres(this.#parts)
    this.#reader = reader
    reader.onNotification(() => this.#lookSoon())
    reader.onLost((fault) => this.#lose(fault))
    await reader.query(`LISTEN ${CHANNEL}`)
    await this.#look()
  }

  #lose(fault: Fault): void {
    if (this.#isClosed) return
    if (!this.#away) this.#parts.onAway(fault)
    this.#away = fault
    this.#retry?.cancel()
    this.#retry = this.#parts.clock.after(this.#backoff.next(), () => void this.#return())
  }

  async #return(): Promise<void> {
    try {
      await this.#connectReader()
      this.#away = undefined
      this.#backoff.reset()
      this.#parts.onBack()
    } catch (fault) {
      this.#reader.destroy()
      this.#lose(fault as Fault)
    }
  }

  /** Who calls learns no more than that it does not answer; the log has the cause. */
  #forCallers(fault: unknown): unknown {
    const isFor = fault instanceof Fault && fault.code !== 'store_unusable'
    return isFor ? fault : unreachable(this.#parts.retryMs, '', fault)
  }
}
