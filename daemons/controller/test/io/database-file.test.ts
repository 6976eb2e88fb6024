/** Tests of io/database-file.ts: files and logs in various states when they are opened. */
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { t } from 'tap'
import { openDatabase, readSite } from '../../io/database-file.ts'
import { importInto } from '../../io/site-import.ts'
import { bytesOf, parts, versioned } from './store-parts.ts'
import { now, open, site, stage } from './store-stage.ts'

t.test('a file that is not a database, or is damaged, is refused with what to do, and left unchanged', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'controller.db')
  const store = open(folder)
  await importInto(store, bytesOf(versioned(1)), parts, now)
  await store.close()
  const good = readFileSync(path)
  for (const [what, bytes] of [
    ['text', Buffer.from('no database at all, '.repeat(500))],
    ['a head of zeros', Buffer.concat([Buffer.alloc(100), good.subarray(100)])],
    [
      'rubbish in the middle',
      Buffer.concat([good.subarray(0, 8192), Buffer.alloc(60_000, 0xa5), good.subarray(68_192)]),
    ],
    ['half of it', good.subarray(0, good.length / 2)],
  ] as const) {
    writeFileSync(path, bytes)
    t.throws(() => open(folder), { code: 'database_damaged', message: /plantroom restore/ }, what)
    t.same(readFileSync(path), bytes, `${what} is unchanged`)
  }
})

t.test('a site is read as of one instant, whatever is written to it meanwhile', async (t) => {
  const { folder } = await stage(t)
  const path = join(folder, 'controller.db')
  const database = openDatabase(path, 0, 5000)
  const writing = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
    const db = new (require('node:sqlite').DatabaseSync)(workerData, { timeout: 5000 })
    db.exec('PRAGMA synchronous = OFF')
    const pause = new Int32Array(new SharedArrayBuffer(4))
    for (let n = 1; n < 5000; n++) {
      db.exec('BEGIN; UPDATE site SET latitude = ' + (n % 90) + '; UPDATE zone SET max = ' + (n % 90) + '; COMMIT')
      if (n === 1) parentPort.postMessage('both are alike')
      Atomics.wait(pause, 0, 0, 1)
    }`,
    { eval: true, workerData: path },
  )
  t.teardown(() => writing.terminate())
  await once(writing, 'message')
  const torn = []
  for (let at = 0; at < 120; at++) {
    const { rows } = readSite(database, path, 10)
    const [one, other] = [rows.get('site')?.[0]?.latitude, rows.get('zone')?.[0]?.max]
    if (one !== other) torn.push([one, other])
  }
  t.same(torn, [])
  database.close()
})

t.test('JSON that cannot be read is damage, not a missing value', async (t) => {
  const folder = t.testdir()
  const store = open(folder)
  await importInto(store, bytesOf(site), parts, now)
  await store.close()
  const database = new DatabaseSync(join(folder, 'controller.db'))
  database.exec(`UPDATE device SET config = '{"half'`)
  database.close()
  t.throws(() => open(folder), { code: 'database_damaged', message: /a row of device/ })
})

t.test('a database of another program, and of a newer version, is refused', async (t) => {
  const folder = t.testdir({ newer: {} })
  const path = join(folder, 'controller.db')
  const foreign = new DatabaseSync(path)
  foreign.exec('CREATE TABLE zone (x)')
  foreign.close()
  t.throws(() => open(folder), { code: 'database_foreign' })
  await open(join(folder, 'newer')).close()
  const newer = new DatabaseSync(join(folder, 'newer', 'controller.db'))
  newer.exec('PRAGMA user_version = 99')
  newer.close()
  t.throws(() => open(join(folder, 'newer')), { code: 'database_newer', message: /schema 99/ })
})

t.test('tables and columns that an older database lacks are added, with their defaults', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'controller.db')
  const store = open(folder)
  await importInto(store, bytesOf(site), parts, now)
  await store.close()
  const old = new DatabaseSync(path)
  old.exec(
    'ALTER TABLE zone DROP COLUMN elevated; ALTER TABLE zone DROP COLUMN overrides; DROP TABLE ui_macro; DROP TABLE ui_zone',
  )
  old.close()
  const again = open(folder)
  t.match(again.book.row('zone', 1), { name: 'Hall', elevated: false, overrides: null })
  await importInto(again, bytesOf({ ui: [{ name: 'u' }], ui_zone: [{ ui_id: 'u', zone_id: 'Hall' }] }), parts, now)
  await again.close()
  const database = new DatabaseSync(path)
  t.equal(database.prepare('SELECT count(*) AS n FROM schema_migration').get()?.n, 2)
  database.close()
})

t.test('a log with a corrupt end loses no more than that end', async (t) => {
  const { folder, store } = await stage(t)
  await store.keeper.change('zone', 1, { max: 1 })
  const wal = readFileSync(join(folder, 'controller.db-wal'))
  await store.keeper.change('zone', 1, { max: 2 })
  const longer = readFileSync(join(folder, 'controller.db-wal'))
  t.ok(longer.length > wal.length)
  const image = readFileSync(join(folder, 'controller.db'))
  const torn = longer.subarray(0, longer.length - 1000)
  const garbled = Buffer.concat([
    longer.subarray(0, wal.length + 50),
    Buffer.alloc(longer.length - wal.length - 50, 0x5a),
  ])
  for (const [what, log, max] of [
    ['whole', longer, 2],
    ['torn', torn, 1],
    ['garbled', garbled, 1],
    ['cut to the log before', wal, 1],
  ] as const) {
    const place = join(folder, what)
    mkdirSync(place)
    writeFileSync(join(place, 'controller.db'), image)
    writeFileSync(join(place, 'controller.db-wal'), log)
    const recovered = open(place)
    t.equal(recovered.book.row('zone', 1)?.max, max, what)
    await recovered.keeper.change('zone', 1, { max: 5 })
    await recovered.close()
  }
})

t.test('a log of nothing but rubbish leaves the contents of the database file', async (t) => {
  const folder = t.testdir()
  const store = open(folder)
  await importInto(store, bytesOf(site), parts, now)
  await store.close()
  writeFileSync(join(folder, 'controller.db-wal'), Buffer.alloc(50_000, 0x17))
  const again = open(folder)
  t.equal(again.book.rows('zone').length, 2)
  await again.close()
})

t.test('a state folder that is not a folder is a fault with its path', async (t) => {
  const folder = t.testdir({ file: '' })
  t.throws(() => open(join(folder, 'file')), { code: 'database_unusable', message: /controller\.db/ })
})
