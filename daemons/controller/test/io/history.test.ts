import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { Row } from '../../core/site/book.ts'
import { tableOf } from '../../core/site/registry.ts'
import { readTable } from '../../io/database-file.ts'
import { importInto } from '../../io/site-import.ts'
import { bytesOf, parts } from './store-parts.ts'
import { now, open } from './store-stage.ts'

const site = {
  attribute: [
    { name: 'level', value: '1', system_target: 'controller' },
    { name: 'mode', value: 'day', system_target: 'controller' },
  ],
}

async function stage(t: Test) {
  const folder = t.testdir()
  const store = open(folder)
  await importInto(store, bytesOf(site), parts, now)
  /** Later than the import: what an import sets is newer than the history before it. */
  const at = Date.now() + 1000
  const row = (attributeId: number, value: string, more = 0) => {
    const time = at + more
    return { id: store.history.takeId(), attributeId, value, at: time }
  }
  return { folder, store, at, row }
}

async function rowsOf(pieces: AsyncIterable<readonly Row[]>): Promise<Row[]> {
  const rows: Row[] = []
  for await (const piece of pieces) rows.push(...piece)
  return rows
}

t.test('values are read in both orders, however many there are', async (t) => {
  const { store, row, at } = await stage(t)
  t.teardown(() => store.close())
  await store.history.write(
    Array.from({ length: 1100 }, (_, n) => row(1, `${n}`)),
    5000,
  )
  const rows = await rowsOf(store.history.pieces(false))
  t.match(rows[0], { id: 1, attribute_id: 1, value: '0', at, created_at: at })
  t.strictSame(
    rows.map(({ id }) => id),
    Array.from({ length: 1100 }, (_, n) => n + 1),
  )
  t.strictSame(await rowsOf(store.history.pieces(true)), rows.toReversed())
  t.strictSame(store.book.rows('attribute_history'), [], 'none is in memory')
})

t.test('the oldest values go, by count and by age', async (t) => {
  const { store, row, at } = await stage(t)
  t.teardown(() => store.close())
  const ids = async () => (await rowsOf(store.history.pieces(false))).map(({ id }) => id)
  for (let n = 0; n < 4; n++) await store.history.write([row(1, 'a', n * 100), row(1, 'b', n * 100)], 5)
  t.strictSame(await ids(), [4, 5, 6, 7, 8])
  await store.history.trim(at + 300)
  t.strictSame(await ids(), [7, 8])
  await store.history.trim(at)
  t.strictSame(await ids(), [7, 8])
})

t.test('after a kill the attributes have the last values of the history, with their times', async (t) => {
  const { folder, store, row, at } = await stage(t)
  await store.history.write([row(1, '2'), row(2, 'night', 5), row(1, '3', 9)], 100)
  // As at a kill: nothing has written the rows.
  const again = open(folder)
  t.match(again.book.rows('attribute'), [
    { value: '3', previous_value: '2', changed_at: at + 9 },
    { value: 'night', previous_value: 'day', changed_at: at + 5 },
  ])
  await again.close()
  await store.close()
})

t.test('history that is in the rows already is not read again', async (t) => {
  const { folder, store, row, at } = await stage(t)
  const first = row(1, '2')
  await store.history.write([first], 100)
  store.touch('attribute', {
    ...(store.book.row('attribute', 1) as Row),
    value: '4',
    previous_value: '3',
    changed_at: at + 2,
  })
  await store.history.settle([1, 99], first.id)
  await store.close()
  const database = new DatabaseSync(join(folder, 'controller.db'))
  const table = tableOf('attribute')
  if (table) t.match(readTable(database, folder, table)[0], { value: '4', previous_value: '3', changed_at: at + 2 })
  database.close()
  const again = open(folder)
  t.match(again.book.row('attribute', 1), { value: '4', previous_value: '3' })
  await again.close()
})

t.test('a value that an import set later stays', async (t) => {
  const { folder, store } = await stage(t)
  await store.history.write([{ id: store.history.takeId(), attributeId: 1, value: '9', at: 5 }], 100)
  await store.close()
  const again = open(folder)
  t.equal(again.book.row('attribute', 1)?.value, '1')
  await again.close()
})
