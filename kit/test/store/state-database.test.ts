/** Tests of store/state-database.ts: copies of a database that is being written to. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { type Test, t } from 'tap'
import { until } from '#kit/test/until.ts'
import { copyDatabase, faultOfDatabase, isDatabase, isPartOfDatabase } from '../../store/state-database.ts'

const ROWS = 2000

function makeDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA application_id = 42; PRAGMA user_version = 3;
    CREATE TABLE one (id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER, text TEXT);
    CREATE TABLE other (n INTEGER); INSERT INTO other VALUES (0); BEGIN`)
  const insert = database.prepare('INSERT INTO one (n, text) VALUES (0, ?)')
  for (let i = 0; i < ROWS; i++) insert.run('x'.repeat(400))
  database.exec('COMMIT')
  return database
}

/** Sets every row of both tables to the next number, one transaction each, as fast as it can. */
function startWriter(t: Test, path: string): Int32Array {
  const shared = new Int32Array(new SharedArrayBuffer(8))
  const script = `
    const { DatabaseSync } = require('node:sqlite')
    const { path, shared } = require('node:worker_threads').workerData
    const database = new DatabaseSync(path, { timeout: 5000 })
    database.exec('PRAGMA synchronous = OFF')
    for (let n = 1; Atomics.load(shared, 1) === 0; n++) {
      database.exec('BEGIN IMMEDIATE; UPDATE one SET n = ' + n + '; UPDATE other SET n = ' + n + '; COMMIT')
      Atomics.store(shared, 0, n)
    }
    database.close()`
  const worker = new Worker(script, { eval: true, workerData: { path, shared } })
  t.teardown(async () => {
    Atomics.store(shared, 1, 1)
    await new Promise((resolve) => worker.once('exit', resolve))
  })
  return shared
}

t.test('each of twenty copies of a database that is written to is whole, and one state', async (t) => {
  const path = join(t.testdir(), 'live.db')
  const database = makeDatabase(path)
  const shared = startWriter(t, path)
  const written = () => Atomics.load(shared, 0)
  await until('the first write', () => written() > 0)
  let meanwhile = 0
  for (let round = 0; round < 20; round++) {
    const copy = join(t.testdirName, `copy-${round}.db`)
    const before = written()
    t.equal(copyDatabase(path, copy), true)
    meanwhile += written() - before
    t.equal(faultOfDatabase(copy), undefined)
    const opened = new DatabaseSync(copy, { readOnly: true })
    const { least, most, rows } =
      opened.prepare('SELECT min(n) AS least, max(n) AS most, count(*) AS rows FROM one').get() ?? {}
    const { n } = opened.prepare('SELECT n FROM other').get() ?? {}
    t.same({ rows, least, most }, { rows: ROWS, least: n, most: n }, 'both tables are of one transaction')
    t.ok(Number(n) >= before, 'nothing that was written before is missing')
    opened.close()
  }
  t.ok(meanwhile > 0, 'who writes goes on meanwhile')
  database.close()
})

t.test('a copy says whose it is and remembers ids, and holds nothing that was deleted', async (t) => {
  const path = join(t.testdir(), 'live.db')
  const database = makeDatabase(path)
  database.exec(`INSERT INTO one (text) VALUES ('an old secret'); DELETE FROM one WHERE text = 'an old secret'`)
  const copy = join(t.testdirName, 'copy.db')
  copyDatabase(path, copy)
  database.close()
  const opened = new DatabaseSync(copy)
  t.match(opened.prepare('PRAGMA application_id').get(), { application_id: 42 })
  t.match(opened.prepare('PRAGMA user_version').get(), { user_version: 3 })
  t.match(opened.prepare('SELECT seq FROM sqlite_sequence').get(), { seq: ROWS + 1 })
  opened.close()
  t.notMatch(readFileSync(copy, 'latin1'), 'an old secret')
  t.equal(statSync(copy).mode & 0o777, 0o600)
})

t.test('one that is gone is left out and not made anew; one that cannot be read is a fault', async (t) => {
  const folder = t.testdir({ 'bad.db': 'no database '.repeat(1000) })
  const copy = join(folder, 'copy.db')
  t.equal(copyDatabase(join(folder, 'gone.db'), copy), false)
  t.notOk(existsSync(join(folder, 'gone.db')) || existsSync(copy))
  t.throws(() => copyDatabase(join(folder, 'bad.db'), copy), {
    code: 'backup_failed',
    message: /bad\.db cannot be copied/,
  })
  t.match(faultOfDatabase(join(folder, 'bad.db')), /not a database/)
  t.match(faultOfDatabase(join(folder, 'gone.db')), /unable to open/)
  writeFileSync(join(folder, 'empty.db'), '')
  t.equal(faultOfDatabase(join(folder, 'empty.db')), undefined)
})

t.test('a database is known by its name, and so is what lies beside it', async (t) => {
  for (const path of ['controller.db', 'sub/audit.db']) t.ok(isDatabase(path), path)
  for (const path of ['controller.db-wal', 'audit.db.broken', 'db', 'x.json']) t.notOk(isDatabase(path), path)
  for (const path of ['a.db-wal', 'a.db-shm', 'a.db-journal', 'a.db.new', 'a.db.new-wal'])
    t.ok(isPartOfDatabase(path), path)
  for (const path of ['a.db', 'a.db.broken', 'pin-wal', 'a.json']) t.notOk(isPartOfDatabase(path), path)
})
