import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { isDamaged, startWriter } from '../../store/sqlite-writer.ts'

const INSERT = 'INSERT INTO note (text) VALUES (?)'
const SELECT = 'SELECT text FROM note ORDER BY id LIMIT ?'

/** A database that can be spared; it is closed with the test. */
function open(t: Test, path: string) {
  const told: string[] = []
  const schema = ['CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT']
  const spare = { applicationId: 77, schema, onPutAside: (why: string) => void told.push(why) }
  const writer = startWriter(path, { busyMs: 1000, heapMib: { old: 64, young: 16 }, spare })
  t.teardown(() => writer.close())
  return { ...writer, told, add: (text: string | null) => writer.write([{ sql: INSERT, values: [[text]] }]) }
}

t.test('a damaged file is distinguished from other trouble, whatever extended code SQLite gives', async (t) => {
  // SQLITE_CORRUPT, SQLITE_CORRUPT_INDEX, SQLITE_NOTADB
  for (const code of [11, 779, 26]) t.equal(isDamaged(code), true, String(code))
  // none, SQLITE_BUSY, SQLITE_IOERR_WRITE, SQLITE_FULL
  for (const code of [undefined, 0, 5, 778, 13]) t.equal(isDamaged(code), false, String(code))
})

t.test('what was written is read, also after a new start', async (t) => {
  const path = join(t.testdir(), 'notes.db')
  const notes = open(t, path)
  for (const text of ['a', 'b', 'c']) await notes.add(text)
  t.same(await notes.read(SELECT, [2]), [['a'], ['b']])
  await notes.close()
  const again = open(t, path)
  t.same(await again.read(SELECT, [9]), [['a'], ['b'], ['c']])
  t.same(again.told, [])
})

t.test('no thread is started before the first request, and none by closing', async (t) => {
  let threads = 0
  const count = () => void threads++
  process.on('worker', count)
  t.teardown(() => process.off('worker', count))
  const unused = open(t, join(t.testdir(), 'notes.db'))
  await unused.close()
  await t.rejects(unused.add('late'), { code: 'store_write_failed' })
  t.equal(threads, 0)
  const used = open(t, join(t.testdir(), 'notes.db'))
  await Promise.all([used.add('a'), used.add('b')])
  t.equal(threads, 1)
})

t.test('a refused write leaves nothing behind, and the next one works', async (t) => {
  const notes = open(t, join(t.testdir(), 'notes.db'))
  await t.rejects(notes.write([{ sql: INSERT, values: [['a'], [null]] }]), { code: 'store_write_failed' })
  await t.rejects(notes.read('SELECT nothing', []), { code: 'store_read_failed' })
  await notes.add('b')
  t.same(await notes.read(SELECT, [9]), [['b']])
})

t.test('a file that is damaged, or of another kind, is put aside and a new one begun', async (t) => {
  const folder = t.testdir({ 'noise.db': 'this is no database, however long one looks at it'.repeat(100) })
  const other = new DatabaseSync(join(folder, 'other.db'))
  other.exec('CREATE TABLE theirs (id INTEGER)')
  other.close()
  for (const name of ['noise.db', 'other.db']) {
    const path = join(folder, name)
    const before = readFileSync(path)
    const notes = open(t, path)
    await notes.add('new')
    t.same(await notes.read(SELECT, [9]), [['new']])
    t.equal(notes.told.length, 1, `${name}: ${notes.told}`)
    t.same(readFileSync(`${path}.damaged`), before)
  }
})

t.test('damage that is met later is put aside too', async (t) => {
  const path = join(t.testdir(), 'notes.db')
  const first = open(t, path)
  // More than SQLite keeps in memory.
  const values = Array.from({ length: 4000 }, (_, n) => [`note ${n} ${'.'.repeat(2000)}`])
  await first.write([{ sql: INSERT, values }])
  await first.close()
  const notes = open(t, path)
  await notes.read(SELECT, [1])
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.fill(0x5a, 8192))
  t.same(await notes.read('SELECT count(*), max(text) FROM note', []), [[0, null]])
  t.equal(notes.told.length, 1)
  t.ok(existsSync(`${path}.damaged`))
  await notes.add('after')
  t.same(await notes.read(SELECT, [9]), [['after']])
})

t.test('a full disk is named', async (t) => {
  const notes = open(t, join(t.testdir(), 'notes.db'))
  await notes.read('PRAGMA max_page_count = 4', [])
  const many = Array.from({ length: 100 }, () => ['x'.repeat(1000)])
  await t.rejects(notes.write([{ sql: INSERT, values: many }]), {
    code: 'store_write_failed',
    message: /the disk is full/,
  })
})
