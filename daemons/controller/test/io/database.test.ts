/** Tests of io/database.ts and io/database-file.ts: a store on a real disk. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { t } from 'tap'
import { systemClock } from '#kit/clock.ts'
import type { Row } from '../../core/site/book.ts'
import { tables } from '../../core/site/registry.ts'
import { openSiteStore } from '../../io/database.ts'
import { importInto, stageRows } from '../../io/site-import.ts'
import { bytesOf, parts } from './store-parts.ts'
import { now, open, site, stage } from './store-stage.ts'

const later = { ...now, becomes: 'pending' } as const

/** Everything in a store's book. */
function contentOf({ book }: Pick<ReturnType<typeof open>, 'book'>) {
  return tables().map(({ name }) => [name, book.rows(name)])
}

t.test('an imported site is there after a restart, with every column unchanged', async (t) => {
  const folder = t.testdir()
  const store = open(folder)
  await importInto(store, bytesOf(site), parts, now)
  await store.keeper.change('zone', 1, { max: 81.5 })
  const before = contentOf(store)
  await store.close()
  const again = open(folder)
  t.same(contentOf(again), before)
  t.match(again.book.row('device', 1), { config: { deep: [1, 'ü', null] }, elevated: true })
  await again.close()
  t.equal(statSync(join(folder, 'controller.db')).mode & 0o777, 0o600)
  t.notOk(existsSync(join(folder, 'controller.db-wal')), 'the log is gone after a clean stop')
})

t.test('a change waits for its transaction, and close leaves none waiting', async (t) => {
  const folder = t.testdir()
  const store = openSiteStore(folder, systemClock, { ...parts.store, commitMs: 60_000 })
  await importInto(store, bytesOf(site), parts, now)
  const changed = store.keeper.change('zone', 1, { max: 7 })
  await store.close()
  await changed
  const again = open(folder)
  t.equal(again.book.row('zone', 1)?.max, 7)
  await again.close()
})

t.test('an import into a running controller waits for Apply All, even across a restart', async (t) => {
  const folder = t.testdir()
  const store = open(folder)
  await importInto(store, bytesOf(site), parts, now)
  const next = { zone: [{ name: 'Hall', device_id: 1, max: 60 }, { name: 'New' }] }
  t.equal(await importInto(store, bytesOf(next), parts, later), 3)
  t.equal(store.book.row('zone', 1)?.max, 80)
  await store.close()
  const again = open(folder)
  t.same(
    again.pending.list().map(({ sentence }) => sentence),
    ['- zone 2 "Desk"', '~ zone 1 "Hall": max 80 -> 60', '+ zone 3 "New"'],
  )
  await t.rejects(importInto(again, bytesOf({ zone: [] }), parts, later), { code: 'pending_waiting' })
  t.equal(await again.pending.applyAll(), 3)
  t.same(
    again.book.rows('zone').map(({ name, max }) => [name, max]),
    [
      ['Hall', 60],
      ['New', null],
    ],
  )
  t.same(again.pending.list(), [])
  t.equal(await again.pending.applyAll(), 0)
  await again.close()
})

t.test('discarded changes leave nothing behind', async (t) => {
  const { store } = await stage(t)
  await importInto(store, bytesOf({ zone: [] }), parts, later)
  t.equal(await store.pending.discard(), 2)
  t.same(store.pending.list(), [])
  t.equal(store.book.rows('zone').length, 2)
})

t.test('changes staged by another process are applied by this one', async (t) => {
  const { folder, store } = await stage(t)
  const other = open(folder)
  await importInto(other, bytesOf({ zone: [{ name: 'Hall' }] }), parts, later)
  await other.close()
  t.equal(store.pending.list().length, 2)
  t.equal(await store.pending.applyAll(), 2)
  t.match(store.book.rows('zone'), [{ name: 'Hall', device_id: null }])
})

t.test('changes that no longer fit are refused as a whole, and stay pending', async (t) => {
  const { store } = await stage(t)
  await importInto(
    store,
    bytesOf({
      device: [
        { id: 1, name: 'Dimmer' },
        { id: 2, name: 'Relay' },
      ],
      zone: [
        { id: 1, name: 'Hall', device_id: 2 },
        { id: 2, name: 'D' },
      ],
    }),
    parts,
    later,
  )
  await store.applyNow([{ kind: 'remove', table: 'zone', id: 2 }])
  await t.rejects(store.pending.applyAll(), {
    code: 'pending_stale',
    details: { faults: [{ path: 'zone 2', sentence: 'is gone' }] },
  })
  t.equal(store.book.row('device', 2), undefined)
  t.equal(store.pending.list().length, 4)
})

t.test('two users can swap their names in one import', async (t) => {
  const { store } = await stage(t)
  await importInto(
    store,
    bytesOf({
      auth_user: [
        { id: 1, username: 'Bob' },
        { id: 2, username: 'Ada' },
      ],
    }),
    parts,
    now,
  )
  t.same(
    store.book.rows('auth_user').map(({ username }) => username),
    ['Bob', 'Ada'],
  )
})

t.test('the id of a removed row is not used again, even after a restart', async (t) => {
  const folder = t.testdir()
  const store = open(folder)
  await importInto(store, bytesOf(site), parts, now)
  await importInto(store, bytesOf({ auth_user: [{ username: 'Ada' }] }), parts, now)
  await store.close()
  const again = open(folder)
  await importInto(again, bytesOf({ auth_user: [{ username: 'Ada' }, { username: 'Eve' }] }), parts, now)
  t.same(
    again.book.rows('auth_user').map(({ id, username }) => [id, username]),
    [
      [1, 'Ada'],
      [3, 'Eve'],
    ],
  )
  await again.close()
})

t.test(
  'a database that another process locks for too long is not written, and can be written again afterwards',
  async (t) => {
    const folder = t.testdir()
    const store = openSiteStore(folder, systemClock, { ...parts.store, busyMs: 10 })
    await importInto(store, bytesOf(site), parts, now)
    const other = new DatabaseSync(join(folder, 'controller.db'))
    other.exec('BEGIN IMMEDIATE')
    await t.rejects(store.keeper.change('zone', 1, { max: 3 }), { code: 'store_write_failed' })
    t.equal(store.book.row('zone', 1)?.max, 80, 'memory agrees with the disk')
    other.exec('ROLLBACK')
    other.close()
    await store.keeper.change('zone', 1, { max: 4 })
    await store.close()
  },
)

t.test('records survive a restart: the newest in memory, more on disk, the oldest are gone', async (t) => {
  const folder = t.testdir()
  const store = open(folder)
  await importInto(store, bytesOf({ macro: [{ name: 'Off' }] }), parts, now)
  await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      store.keeper.add('macro_run', { macro_id: 1, seed: n, ended_at: n, trace: [{ step: n }] }),
    ),
  )
  await store.close()
  const again = open(folder)
  const runs = again.book.rows('macro_run')
  t.same(
    runs.map(({ seed }) => seed),
    Array.from({ length: 20 }, (_, n) => n + 30),
  )
  t.same(runs.at(-1)?.trace, [{ step: 49 }])
  t.equal((await again.keeper.add('macro_run', { macro_id: 1 })).id, 51)
  await again.close()
  const database = new DatabaseSync(join(folder, 'controller.db'))
  t.equal(database.prepare('SELECT count(*) AS n FROM macro_run').get()?.n, 40)
  database.close()
})

t.test('a record that has not ended is in memory after a restart, however many newer ones there are', async (t) => {
  const folder = t.testdir()
  const store = open(folder)
  await importInto(store, bytesOf({ macro: [{ name: 'Off' }] }), parts, now)
  const ends = [1, null, 3, ...Array.from({ length: 30 }, (_, n) => n + 4)]
  await Promise.all(ends.map((ended_at) => store.keeper.add('macro_run', { macro_id: 1, ended_at })))
  await store.close()
  const again = open(folder)
  const ids = (rows: readonly Row[]) => rows.map(({ id }) => id)
  t.same(ids(again.book.rows('macro_run')), [2, ...Array.from({ length: 20 }, (_, n) => n + 14)])
  await again.keeper.change('macro_run', 2, { ended_at: 99, result: 'interrupted' })
  await again.close()
  const ended = open(folder)
  t.equal(ids(ended.book.rows('macro_run')).includes(2), false)
  await ended.close()
  const database = new DatabaseSync(join(folder, 'controller.db'))
  t.match(database.prepare('SELECT result, ended_at FROM macro_run WHERE id = 2').get(), { result: 'interrupted' })
  database.close()
})

t.test('the last Apply All can be undone once, by changes that wait in turn', async (t) => {
  const { store } = await stage(t)
  const before = JSON.stringify([store.book.rows('zone'), store.book.rows('device')])
  t.equal(store.pending.undoable(), 0)
  await t.rejects(store.pending.undo('ada'), { code: 'nothing_to_undo' })
  await importInto(store, bytesOf({ device: [], zone: [{ id: 1, name: 'Big hall', device_id: null }] }), parts, later)
  const count = await store.pending.applyAll()
  t.equal(store.pending.undoable(), count)
  t.same(store.book.rows('device'), [])
  t.equal(await store.pending.undo('ada'), count)
  t.match(
    store.pending.list(),
    Array.from({ length: count }, () => ({ author: 'ada' })),
  )
  t.equal(store.pending.undoable(), 0)
  await store.pending.applyAll()
  t.equal(JSON.stringify([store.book.rows('zone'), store.book.rows('device')]), before, 'as it was, to the last column')
  await importInto(store, bytesOf({ zone: [] }), parts, later)
  await t.rejects(store.pending.undo('ada'), { code: 'pending_waiting' }, 'what waits is not mixed with it')
  t.ok(store.pending.undoable() > 0, 'and it can be undone afterwards')
})

t.test('an Apply All that was not written is not one that could be undone', async (t) => {
  const folder = t.testdir()
  const store = openSiteStore(folder, systemClock, { ...parts.store, busyMs: 10 })
  t.teardown(() => store.close())
  await importInto(store, bytesOf(site), parts, now)
  await importInto(store, bytesOf({ zone: [{ name: 'Hall', max: 60 }] }), parts, later)
  await store.pending.applyAll()
  await importInto(store, bytesOf({ zone: [] }), parts, later)
  const other = new DatabaseSync(join(folder, 'controller.db'))
  other.exec('BEGIN IMMEDIATE')
  await t.rejects(store.pending.applyAll(), { code: 'store_write_failed' })
  other.exec('ROLLBACK')
  other.close()
  await store.pending.discard()
  await store.pending.undo('ada')
  t.equal(store.pending.undoable(), 0)
})

t.test('what takes an Apply All back is not mixed with rows that come at the same moment', async (t) => {
  const { store } = await stage(t)
  await importInto(store, bytesOf({ zone: [{ name: 'Hall', device_id: 1, max: 60 }] }), parts, later)
  await store.pending.applyAll()
  const rows = { zone: [{ id: 1, max: 70 }] }
  const ends = await Promise.allSettled([
    store.pending.undo('ada'),
    stageRows(store, { rows, remove: {} }, parts, 'bob'),
  ])
  t.same(
    ends.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  t.same([...new Set(store.pending.list().map(({ author }) => author))], ['ada'])
})

t.test('an Apply All larger than the bound is not kept to be undone', async (t) => {
  const { store } = await stage(t)
  const text = 'x'.repeat(90_000)
  const zones = Array.from({ length: 13 }, (_, at) => ({ id: 10 + at, name: `Z${at}`, unit: text }))
  await importInto(store, bytesOf({ zone: zones }), parts, later)
  await store.pending.applyAll()
  t.ok(store.pending.undoable() > 0, 'what adds rows is undone by removing them: that is short')
  await importInto(store, bytesOf({ zone: [] }), parts, later)
  await store.pending.applyAll()
  t.equal(store.pending.undoable(), 0, 'more than a million characters of rows')
})
