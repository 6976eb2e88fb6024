/** plantroom backup and restore: what goes in comes out, and nothing bad gets in. */
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Test, t } from 'tap'
import { version } from '#kit/run/arguments.ts'
import { lockState, writeWhole } from '#kit/run/state-folder.ts'
import { writeArchive } from '#kit/store/archive.ts'
import { packState } from '#kit/store/backup.ts'
import { commitRestore, makeNewState } from '#kit/store/restore.ts'
import { backup } from '../backup.ts'
import { restore } from '../restore.ts'
import { runCommand } from './world.ts'

const at = (t: Test, name: string) => join(t.testdirName, name)

t.beforeEach(
  (t) =>
    void t.testdir({
      state: { 'users.json': '{"version":1}', 'users.json.bak': '{}', 'x.json.tmp': 'half', sub: { a: 'A' } },
    }),
)

const save = (t: Test, state = 'state', more = ['--replace']) =>
  runCommand(backup, ['small', '--state', at(t, state), ...more, at(t, 'b.tar.gz')])
const put = (t: Test, state = 'state') => runCommand(restore, ['small', '--state', at(t, state), at(t, 'b.tar.gz')])

t.test('of an installation in a folder of its own, the state is in it', async (t) => {
  const base = t.testdir({ var: { lib: { plantroom: { small: { a: 'A' } } } } })
  const saved = await runCommand(backup, ['small', at(t, 'b.tar.gz')], { env: { PLANTROOM_BASE: base } })
  t.match(saved, { code: 0, out: /^1 files of small are in / })
})

t.test('puts everything back, and keeps what was there', async (t) => {
  t.match(await save(t), { code: 0, out: /^3 files of small are in / })
  t.equal((await stat(at(t, 'b.tar.gz'))).mode & 0o777, 0o600)
  await writeFile(join(at(t, 'state'), 'users.json'), 'changed')
  t.match(await put(t), {
    code: 0,
    out: /^3 files of small, backed up at .*, are in place\.\nWhat was there is in .*restore\/before\./,
  })
  t.equal(await readFile(join(at(t, 'state'), 'users.json'), 'utf8'), '{"version":1}')
  t.equal(await readFile(join(at(t, 'state'), 'sub/a'), 'utf8'), 'A')
  t.same((await readdir(at(t, 'state'))).sort(), ['daemon.lock', 'restore', 'sub', 'users.json', 'users.json.bak'])
  t.equal(await readFile(join(at(t, 'state'), 'restore/before/users.json'), 'utf8'), 'changed')
})

t.test('puts back what was there before, and takes no former state into a backup', async (t) => {
  const undo = () => runCommand(restore, ['small', '--state', at(t, 'state'), '--undo'])
  t.match(await undo(), { code: 'nothing_to_undo' })
  await save(t)
  await writeFile(join(at(t, 'state'), 'users.json'), '"changed"')
  await put(t)
  t.match(await save(t), { code: 0, out: /^3 files of small/ })
  t.match(await undo(), { code: 0, out: /is what it was before the last restore/ })
  t.equal(await readFile(join(at(t, 'state'), 'users.json'), 'utf8'), '"changed"')
  t.match(await undo(), { code: 0 })
  t.equal(await readFile(join(at(t, 'state'), 'users.json'), 'utf8'), '{"version":1}')
})

t.test('restores to a box that has no state yet', async (t) => {
  await save(t)
  t.match(await put(t, 'new'), { code: 0 })
  t.equal(await readFile(join(at(t, 'new'), 'users.json'), 'utf8'), '{"version":1}')
})

t.test('restores behind a link, as systemd makes it for DynamicUser', async (t) => {
  await save(t)
  await mkdir(at(t, 'private'))
  await symlink(at(t, 'private'), at(t, 'link'))
  t.match(await put(t, 'link'), { code: 0 })
  t.equal(await readFile(join(at(t, 'private'), 'users.json'), 'utf8'), '{"version":1}')
})

t.test('backs up while the daemon runs, and does not restore then', async (t) => {
  const lock = lockState(at(t, 'state'))
  t.match(await save(t), { code: 0 })
  t.match(await put(t), { code: 'state_locked', err: /stop that one first/ })
  lock.release()
})

t.test('a file that is there stays as it is, and a link is not followed', async (t) => {
  await writeFile(at(t, 'b.tar.gz'), 'older')
  const refused = await save(t, 'state', [])
  t.match(refused, {
    code: 'backup_failed',
    err: /b\.tar\.gz is there already: name another file, or .* by --replace$/,
  })
  t.equal(await readFile(at(t, 'b.tar.gz'), 'utf8'), 'older')
  await symlink(at(t, 'elsewhere'), at(t, 'link'))
  const through = await runCommand(backup, ['small', '--state', at(t, 'state'), at(t, 'link')])
  t.match(through, { code: 'backup_failed', err: /is there already/ })
  t.same((await readdir(t.testdirName)).sort(), ['b.tar.gz', 'link', 'state'])
})

t.test('nor is a file replaced that somebody puts there meanwhile', async (t) => {
  const file = at(t, 'b.tar.gz')
  const write = async () => {
    writeFileSync(file, 'theirs')
    return true
  }
  await t.rejects(writeWhole(file, write, { keepsOlder: true }), { code: 'EEXIST' })
  t.equal(await readFile(file, 'utf8'), 'theirs')
  t.same((await readdir(t.testdirName)).sort(), ['b.tar.gz', 'state'])
})

t.test('replaces an older backup only by a whole new one', async (t) => {
  await writeFile(at(t, 'b.tar.gz'), 'older')
  t.match(await save(t, 'nowhere'), { code: 'backup_failed', err: /there is no state folder/ })
  t.equal(await readFile(at(t, 'b.tar.gz'), 'utf8'), 'older')
  t.match(await save(t), { code: 0 })
})

t.test('says so when the backup cannot be written', async (t) => {
  const outcome = await runCommand(backup, ['small', '--state', at(t, 'state'), at(t, 'no/such/b.tar.gz')])
  t.match(outcome, { code: 'backup_failed', err: /could not be written/ })
  t.match(outcome, { err: /no\/such\/b\.tar\.gz could not be written \(ENOENT\)/ })
  t.match(await put(t), { code: 'bad_backup', err: /there is no file .*b\.tar\.gz/ })
})

t.test('no backup is made of a state that a restore has not finished, or has replaced meanwhile', async (t) => {
  const state = at(t, 'state')
  await save(t)
  writeFileSync(join(makeNewState(state), 'users.json'), '"new"')
  const note = { by: 'ada', at: 1, what: 'backup', madeAt: 1 } as const
  commitRestore(state, note)
  t.match(await save(t), { code: 'backup_failed', err: /a restore is not finished there/ })
  const to = openSync(at(t, 'c.tar.gz'), 'w')
  lockState(state).release()
  writeFileSync(join(makeNewState(state), 'users.json'), '"newer"')
  const restart = () => {
    commitRestore(state, { ...note, at: 2 })
    lockState(state).release()
  }
  const about = { daemon: 'small', version, at: 1, secrets: 'all' } as const
  const packing = packState(to, { folder: state, staging: t.testdirName, about, onProgress: once(restart) })
  await t.rejects(packing, { code: 'backup_failed', message: /another state was put in place meanwhile/ })
  closeSync(to)
  t.match(await save(t), { code: 0 })
})

function once(call: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) call()
    isDone = true
  }
}

/** Packs files as if they were the state of a daemon. */
async function forge(t: Test, files: Record<string, string>, about: { daemon?: string; version?: string } = {}) {
  const folder = t.testdir({ forged: files, state: {} })
  const to = openSync(at(t, 'b.tar.gz'), 'w')
  await packState(to, {
    ...{ folder: join(folder, 'forged'), staging: folder },
    about: { ...{ daemon: 'small', version, at: 1, secrets: 'all' }, ...about },
  })
  closeSync(to)
}

for (const [what, sentence, files, about] of [
  ['is another daemon’s', /state of board, expected that of small/, {}, { daemon: 'board' }],
  [
    'is of a newer version',
    /made by version 999\.0\.0, and this is .*: install that one first/,
    {},
    { version: '999.0.0' },
  ],
  ['has damaged state', /a\.json in it is damaged/, { 'a.json': 'A' }, {}],
] as const)
  t.test(`refuses a backup that ${what}, and leaves the state alone`, async (t) => {
    await forge(t, files, about)
    await writeFile(join(at(t, 'state'), 'users.json'), 'mine')
    t.match(await put(t), { code: 'bad_backup', err: sentence })
    t.equal(await readFile(join(at(t, 'state'), 'users.json'), 'utf8'), 'mine')
    t.same((await readdir(at(t, 'state'))).sort(), ['daemon.lock', 'restore', 'users.json'])
    t.same(await readdir(join(at(t, 'state'), 'restore')), [])
  })

t.test(
  'refuses what could not be put in place, so that every start would fail: a folder in place of the lock',
  async (t) => {
    const folder = t.testdir({ lock: 'x', state: {} })
    const to = openSync(at(t, 'b.tar.gz'), 'w')
    const descriptor = openSync(join(folder, 'lock'), 'r')
    const about = { daemon: 'small', version, at: 1, secrets: 'all' } as const
    await writeArchive(to, [{ path: 'daemon.lock/x', descriptor, sizeBytes: 1 }], about)
    for (const each of [to, descriptor]) closeSync(each)
    t.match(await put(t), { code: 'bad_backup', err: /holds "daemon\.lock\/x", which no backup holds/ })
    lockState(at(t, 'state')).release()
  },
)

t.test('an older version is taken', async (t) => {
  await forge(t, { 'a.json': '{}' }, { version: '0.0.1' })
  t.match(await put(t), { code: 0 })
})

t.test('refuses what is no backup, and a pipe', async (t) => {
  await writeFile(at(t, 'b.tar.gz'), 'nonsense')
  t.match(await put(t), {
    code: 'bad_backup',
    err: /b\.tar\.gz is not restored, and nothing was changed: it is no backup/,
  })
})

/** A database with a log ahead and one row, held open so that the row is in the log alone. */
function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path)
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE house (name TEXT); INSERT INTO house VALUES ('mill')")
  return database
}

t.test('a database is backed up with what is in its log, and without the log', async (t) => {
  const database = openDatabase(join(at(t, 'state'), 'site.db'))
  await writeFile(join(at(t, 'state'), 'old.db.broken'), 'kept as it is')
  t.match(await save(t), { code: 0, out: /^5 files of small are in / })
  database.close()
  t.match(await put(t, 'new'), { code: 0 })
  t.same((await readdir(at(t, 'new'))).sort(), [
    ...['daemon.lock', 'old.db.broken', 'restore', 'site.db', 'sub', 'users.json', 'users.json.bak'],
  ])
  const restored = new DatabaseSync(join(at(t, 'new'), 'site.db'))
  t.match(restored.prepare('SELECT name FROM house').all(), [{ name: 'mill' }])
  restored.close()
})

t.test('a damaged database is not backed up over a good backup, and is not restored', async (t) => {
  await writeFile(at(t, 'b.tar.gz'), 'older')
  await writeFile(join(at(t, 'state'), 'site.db'), 'no database '.repeat(1000))
  t.match(await save(t), { code: 'backup_failed', err: /site\.db cannot be copied/ })
  t.equal(await readFile(at(t, 'b.tar.gz'), 'utf8'), 'older')
})

t.test('a damaged database in a whole backup is not restored', async (t) => {
  const database = openDatabase(join(at(t, 'state'), 'site.db'))
  database.close()
  const folder = t.testdirName
  const to = openSync(at(t, 'b.tar.gz'), 'w')
  await packState(to, {
    ...{ folder: join(folder, 'state'), staging: folder },
    about: { daemon: 'small', version, at: 1, secrets: 'all' },
    onCopied: (copy) => writeFileSync(copy, 'no database '.repeat(1000)),
  })
  closeSync(to)
  t.match(await put(t), { code: 'bad_backup', err: /site\.db in it is damaged: .*not a database/ })
})

t.test('a daemon that could not start with a backup has the last word', async (t) => {
  await writeFile(join(at(t, 'state'), 'small.txt'), 'of the next version')
  t.match(await save(t), { code: 0 })
  await writeFile(join(at(t, 'state'), 'small.txt'), 'mine')
  t.match(await put(t), { code: 'bad_backup', err: /small\.txt in the backup is of the next version/ })
  t.equal(await readFile(join(at(t, 'state'), 'small.txt'), 'utf8'), 'mine')
})
