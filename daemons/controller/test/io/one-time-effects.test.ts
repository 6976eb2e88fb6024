/** What an upgrade does once to the data of an older version. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Test, t } from 'tap'
import { tryDatabase } from '../../io/database-file.ts'
import { importInto } from '../../io/site-import.ts'
import { bytesOf, parts } from './store-parts.ts'
import { now, open } from './store-stage.ts'

const site = {
  site: [{ name: 'Home' }],
  auth_role: [
    { name: 'Endless', session_timeout_min: 0, rules: ['allow api *'] },
    { name: 'Hour', session_timeout_min: 60 },
    { name: 'Unset' },
    { name: 'Spare', session_timeout_min: 0 },
    { name: 'Panels', session_timeout_min: 0 },
  ],
  auth_user: [
    { username: 'zoe', password: 'secret', roles: ['Endless'] },
    { username: 'ada', password: 'secret', pin: '4711', roles: ['Endless', 'Hour'] },
    { username: 'bob', password: 'secret', roles: ['Hour', 'Unset'] },
    { username: 'Lobby panel', pin: '1234', roles: ['Endless'] },
    { username: 'Hall panel', pin: '5678', roles: ['Panels'] },
  ],
}

/** A state of schema 1. */
async function older(t: Test): Promise<{ folder: string; path: string }> {
  const folder = t.testdir()
  const path = join(folder, 'controller.db')
  const store = open(folder)
  await importInto(store, bytesOf(site), parts, now)
  await store.close()
  changed(path, 'PRAGMA user_version = 1')
  return { folder, path }
}

function changed(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

function timeouts(store: ReturnType<typeof open>): Record<string, unknown> {
  const roles = store.book.rows('auth_role')
  return Object.fromEntries(
    store.book.rows('auth_user').map(({ id, username }) => {
      const own = store.book.rows('auth_user_role').filter(({ user_id: user }) => user === id)
      const minutes = own.map(({ role_id: role }) => roles.find((one) => one.id === role)?.session_timeout_min)
      return [String(username), minutes]
    }),
  )
}

t.test(
  'C.6 accounts that never expired get 43200 minutes, once, and are named; a wall panel keeps its own',
  async (t) => {
    const { folder } = await older(t)
    const store = open(folder)
    t.same(store.effects, ['sessions of ada, zoe never ended (session timeout 0); it is 43200 minutes now'])
    t.same(timeouts(store), {
      ...{ zoe: [43_200], ada: [43_200, 60], bob: [60, null] },
      ...{ 'Lobby panel': [0], 'Hall panel': [0] },
    })
    const roles = store.book
      .rows('auth_role')
      .map(({ name, rules, session_timeout_min: minutes }) => ({ name, rules, minutes }))
    t.match(
      roles.filter(({ name }) => /Endless|Spare/.test(String(name))),
      [
        { name: 'Endless', rules: 'allow api *', minutes: 43_200 },
        { name: 'Spare', minutes: 43_200 },
        { name: 'Endless (wall panel)', rules: 'allow api *', minutes: 0 },
      ],
    )
    t.match(
      store.innerRows('schema_migration').map(({ name }) => name),
      ['tables of the registry', store.effects[0]],
      'and they stand in the database',
    )
    await store.close()

    const again = open(folder)
    t.same(again.effects, [], 'it is done once')
    await importInto(again, bytesOf({ auth_role: [{ name: 'Hour', session_timeout_min: 0 }] }), parts, {
      ...now,
      mode: 'merge',
    })
    await again.close()
    const last = open(folder)
    t.same([last.effects, timeouts(last).bob], [[], [0, null]], 'what somebody sets later is his')
    await last.close()
  },
)

t.test('C.6 the form of the database moves, so that a release that is taken back gets its own back', async (t) => {
  const { folder, path } = await older(t)
  const versionOf = () => {
    const database = new DatabaseSync(path)
    const version = database.prepare('PRAGMA user_version').get()?.user_version
    database.close()
    return version
  }
  t.equal(versionOf(), 1)
  await open(folder).close()
  t.equal(versionOf(), 2)
})

t.test('a new database, and one without such accounts, changes nothing', async (t) => {
  const folder = t.testdir()
  const store = open(folder)
  t.same(store.effects, [])
  await importInto(store, bytesOf({ ...site, auth_role: site.auth_role.slice(1, 3), auth_user: [] }), parts, now)
  await store.close()
  changed(join(folder, 'controller.db'), 'PRAGMA user_version = 1')
  const next = open(folder)
  t.same(next.effects, [])
  await next.close()
})

t.test('a backup of an older version is taken, and changed in the same way', async (t) => {
  const { path } = await older(t)
  tryDatabase(path, 0)
  const database = new DatabaseSync(path)
  const sql = "SELECT session_timeout_min AS minutes FROM auth_role WHERE name = 'Endless'"
  t.equal(database.prepare(sql).get()?.minutes, 43_200)
  database.close()
})

t.test('a change that the disk does not take leaves the database as it was', async (t) => {
  const { folder, path } = await older(t)
  changed(path, "CREATE TRIGGER full BEFORE UPDATE ON auth_role BEGIN SELECT raise(ABORT, 'disk full'); END")
  t.throws(() => open(folder), { code: 'database_unusable' })
  changed(path, 'DROP TRIGGER full')
  const store = open(folder)
  t.equal(store.effects.length, 1)
  await store.close()
})
