import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { openSeal } from '#kit/store/sealing.ts'
import type { ArtifactRecord } from '../../core/ports.ts'
import { DATABASE_FILE, openUpdatesDatabase } from '../../io/database.ts'
import { delta, file, installation, release } from '../core/records.ts'

const artifact: ArtifactRecord = {
  ...{ type: 'command_set', filename: 'a.json', name: 'A', description: '', version: '', tags: ['x'], user: 'admin' },
  ...{ rating: null, sizeBytes: 1, modifiedAt: 1, file: 'f', checksum: 'c' },
}

t.test('what was saved is there again, the newest of each, and what was removed is not', async (t) => {
  const folder = t.testdir({})
  const seal = await openSeal(folder)
  const database = openUpdatesDatabase(folder, seal, 1000)
  const [one, other] = [installation({ id: '1' }), installation({ id: '2' })]
  const { keeper } = database
  await keeper.saveInstallations({ changed: [one, other], removed: [] })
  await keeper.saveInstallations({ changed: [{ ...one, name: 'Roof' }], removed: ['2'] })
  const releases = [release('1.0.0', { installer: file() }), release('2.0.0', { update: null })]
  await keeper.saveReleases({ changed: releases, removed: [] })
  await keeper.saveReleases({ changed: [], removed: ['2.0.0'] })
  await keeper.saveArtifact(artifact)
  await keeper.saveArtifact({ ...artifact, filename: 'b.json' })
  await keeper.removeArtifact({ type: 'command_set', filename: 'b.json' })
  await database.close()
  const again = openUpdatesDatabase(folder, seal, 1000)
  t.same(again.stored.installation, [{ ...one, name: 'Roof' }])
  t.same(again.stored.release, [release('1.0.0', { installer: file() })])
  t.same(again.stored.artifact, [artifact])
  await again.close()
})

t.test('keys of archives are sealed, each for its own release', async (t) => {
  const folder = t.testdir({ other: {} })
  const seal = await openSeal(folder)
  const key = '0123456789abcdef'.repeat(4)
  const database = openUpdatesDatabase(folder, seal, 1000)
  const whole = release('1.0.0', { update: { ...file(), encryptionKey: key } })
  await database.keeper.saveReleases({ changed: [whole], removed: [] })
  await database.close()
  t.notMatch(readFileSync(join(folder, DATABASE_FILE), 'latin1'), key)
  const other = await openSeal(join(folder, 'other'))
  t.throws(() => openUpdatesDatabase(folder, other, 1000), { code: 'seal_broken' })
  const raw = new DatabaseSync(join(folder, DATABASE_FILE))
  raw.exec(`UPDATE release SET key = '2.0.0', record = replace(record, '"version":"1.0.0"', '"version":"2.0.0"')`)
  raw.close()
  t.throws(() => openUpdatesDatabase(folder, seal, 1000), { code: 'seal_broken' })
})

t.test('a database of before there were deltas gets a place for them, and its program still reads it', async (t) => {
  const folder = t.testdir({})
  const seal = await openSeal(folder)
  const first = openUpdatesDatabase(folder, seal, 1000)
  await first.keeper.saveReleases({ changed: [release('1.0.0')], removed: [] })
  await first.close()
  const raw = new DatabaseSync(join(folder, DATABASE_FILE))
  raw.exec('DROP TABLE delta')
  raw.close()
  const database = openUpdatesDatabase(folder, seal, 1000)
  t.same([database.stored.release.length, database.stored.delta], [1, []])
  await database.keeper.saveDeltas({ changed: [delta('1.0.0', '0.9.0')], removed: [] })
  await database.close()
  const again = openUpdatesDatabase(folder, seal, 1000)
  t.same(again.stored.delta, [delta('1.0.0', '0.9.0')])
  t.same(again.stored.release, [release('1.0.0')], 'which says nothing of deltas')
  await again.close()
})

t.test('a database that is damaged, foreign or newer is told and left alone', async (t) => {
  const folder = t.testdir({})
  const path = join(folder, DATABASE_FILE)
  const seal = await openSeal(folder)
  const open = () => openUpdatesDatabase(folder, seal, 0)
  writeFileSync(path, 'this is no database, but a text that is long enough to be taken for one')
  t.throws(open, { code: 'database_damaged' })
  writeFileSync(path, '')
  const other = new DatabaseSync(path)
  other.exec('CREATE TABLE t (x)')
  t.throws(open, { code: 'database_foreign' })
  other.exec('DROP TABLE t')
  other.close()
  await open().close()
  const raw = new DatabaseSync(path)
  raw.exec(`INSERT INTO installation VALUES ('x', '{"id":"x"}')`)
  t.throws(open, { code: 'database_damaged', message: /installation x/ })
  raw.exec('PRAGMA user_version = 99')
  raw.close()
  t.throws(open, { code: 'database_newer' })
})

t.test('a database of the schema before is read as it is, and is of this one from then on', async (t) => {
  const folder = t.testdir({})
  const path = join(folder, DATABASE_FILE)
  const seal = await openSeal(folder)
  const database = openUpdatesDatabase(folder, seal, 1000)
  await database.keeper.saveReleases({ changed: [release('1.0.0')], removed: [] })
  await database.keeper.saveInstallations({ changed: [installation()], removed: [] })
  await database.close()
  const raw = new DatabaseSync(path)
  // What schema 1 wrote had the same records, without a kind of board in any of them.
  raw.exec('PRAGMA user_version = 1')
  raw.close()
  const image = release('1.0.0', { compatible: 'panel' })
  const again = openUpdatesDatabase(folder, seal, 1000)
  t.same(again.stored.release, [release('1.0.0')])
  t.same(again.stored.installation, [installation()])
  await again.keeper.saveReleases({ changed: [image], removed: [] })
  await again.close()
  const now = new DatabaseSync(path)
  t.match(now.prepare('PRAGMA user_version').get(), { user_version: 2 })
  now.close()
  const last = openUpdatesDatabase(folder, seal, 1000)
  t.same(last.stored.release, [release('1.0.0'), image])
  await last.close()
})
