/** Tests of io/site-import.ts. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import type { Log } from '#kit/log.ts'
import { openSiteStore } from '../../io/database.ts'
import { importAtStart, importFirstSite, importInto, readSiteFile, stageRows } from '../../io/site-import.ts'
import { bytesOf, parts } from './store-parts.ts'

const site = { zone: [{ name: 'Hall' }], auth_user: [{ username: 'Ada', password: 'hunter2hunter2' }] }

function notes() {
  const said: string[] = []
  return { said, log: { notice: (event: string) => void said.push(event) } as unknown as Log }
}

t.test(
  '--import creates the site in an empty state folder, and is ignored with a notice if there is one',
  async (t) => {
    const folder = t.testdir({ 'site.json': JSON.stringify(site), 'other.json': '{"zone": [{"name": "Other"}]}' })
    const state = join(folder, 'state')
    const { said, log } = notes()
    await importAtStart(state, join(folder, 'site.json'), { ...parts, log })
    await importAtStart(state, join(folder, 'other.json'), { ...parts, log })
    t.same(said, ['site file imported', 'site file not imported, there is a database'])
    const store = openSiteStore(state, parts.clock, parts.store)
    t.same(
      store.book.rows('zone').map(({ name }) => name),
      ['Hall'],
    )
    await store.close()
    t.same(readdirSync(state), ['controller.db'])
    t.notMatch(readFileSync(join(state, 'controller.db'), 'latin1'), 'hunter2')
  },
)

t.test(
  'a file with faults leaves the state folder without a database, so that the corrected one is imported',
  async (t) => {
    const folder = t.testdir()
    await t.rejects(importFirstSite(folder, bytesOf({ zone: [{ nam: 1 }] }), parts), { code: 'site_faults' })
    t.same(readdirSync(folder), [])
    t.equal(await importFirstSite(folder, bytesOf(site), parts), 2)
    await t.rejects(importFirstSite(folder, bytesOf(site), parts), { code: 'site_exists' })
  },
)

t.test('leftovers of a crash do not get into a first site', async (t) => {
  const folder = t.testdir({ other: {} })
  const old = openSiteStore(folder, parts.clock, parts.store)
  await importInto(old, bytesOf({ zone: [{ name: 'Old' }] }), parts, {
    mode: 'replace',
    becomes: 'now',
    author: 'test',
  })
  const wal = readFileSync(join(folder, 'controller.db-wal'))
  const other = join(folder, 'other')
  await old.close()
  for (const name of ['controller.db-wal', 'controller.db.new-wal']) writeFileSync(join(other, name), wal)
  writeFileSync(join(other, 'controller.db.new'), 'half a database')
  await importFirstSite(other, bytesOf(site), parts)
  const store = openSiteStore(other, parts.clock, parts.store)
  t.same(
    store.book.rows('zone').map(({ name }) => name),
    ['Hall'],
  )
  await store.close()
})

t.test('a password is never stored in clear, neither while it is pending nor afterwards', async (t) => {
  const folder = t.testdir()
  await importFirstSite(folder, bytesOf({ zone: [] }), parts)
  const store = openSiteStore(folder, parts.clock, parts.store)
  await importInto(store, bytesOf(site), parts, { mode: 'replace', becomes: 'pending', author: 'test' })
  t.notMatch(JSON.stringify(store.pending.list()), /hunter2|hashed/)
  for (const name of readdirSync(folder)) t.notMatch(readFileSync(join(folder, name), 'latin1'), 'hunter2', name)
  t.equal(await store.pending.applyAll(), 2)
  t.equal(store.book.row('auth_user', 1)?.hash, 'hashed 14')
  await store.close()
})

t.test('a file that is missing or too large is refused before it is read', async (t) => {
  const folder = t.testdir({ 'site.json': JSON.stringify(site) })
  await t.rejects(readSiteFile(join(folder, 'none.json'), parts.limits), { code: 'site_unreadable', message: /ENOENT/ })
  await t.rejects(readSiteFile(folder, parts.limits), { code: 'site_unreadable' })
  await t.rejects(readSiteFile(join(folder, 'site.json'), { ...parts.limits, bytes: 10 }), { code: 'site_too_large' })
})

t.test('what changes while rows are checked is not taken back by them', async (t) => {
  const folder = t.testdir()
  await importFirstSite(folder, bytesOf({ ...site, zone: [{ name: 'Hall' }, { name: 'Bar' }] }), parts)
  const store = openSiteStore(folder, parts.clock, parts.store)
  t.teardown(() => store.close())
  const [ada] = store.book.rows('auth_user')
  // A hash takes time, in which Ada changes her password, and somebody applies another change.
  async function hashPassword() {
    await store.keeper.change('auth_user', ada?.id ?? 0, { hash: 'of her new password' })
    await stageRows(store, { rows: { zone: [{ id: 1, max: 40 }] }, remove: {} }, parts, 'bob')
    await store.pending.applyAll()
    return { hash: 'of Eve', salt: 'salted' }
  }
  const rows = { auth_user: [{ username: 'Eve', password: 'a long password' }] }
  t.equal(await stageRows(store, { rows, remove: {} }, { ...parts, hashPassword }, 'ann'), 1)
  t.match(store.pending.list(), [{ kind: 'add', table: 'auth_user', name: 'Eve' }])
  await store.pending.applyAll()
  t.match(store.book.row('auth_user', ada?.id ?? 0), { hash: 'of her new password' })
  t.match(store.book.row('zone', 1), { max: 40 })
})
