import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { Row } from '../../core/site/book.ts'
import { createWaitingAccounts } from '../../io/database.ts'

/** A file with pending changes, and a count of how often all of them were read. */
function world() {
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE pending_change (id INTEGER PRIMARY KEY)')
  let rows: Row[] = []
  let reads = 0
  const waitingOf = createWaitingAccounts(database, () => {
    reads++
    return rows
  })
  function put(...changes: Omit<Row, 'created_at' | 'updated_at'>[]): void {
    rows = changes as Row[]
    database.exec('DELETE FROM pending_change')
    for (const { id } of changes) database.prepare('INSERT INTO pending_change VALUES (?)').run(Number(id))
  }
  return { database, put, reads: () => reads, waitingOf }
}

/** One pending change; `null` columns mean a removal. */
const change = (id: number, entity: string, row_id: number, columns: object | null) =>
  ({ id, entity, kind: columns === null ? 'remove' : 'change', row_id, columns }) as unknown as Row

t.test('returns the pending change of an account, and of no other table', async (t) => {
  const { put, waitingOf } = world()
  t.equal(waitingOf(3), undefined)
  put(change(5, 'auth_user', 3, { enabled: false }), change(6, 'auth_user', 4, null), change(7, 'zone', 9, null), {
    ...change(8, 'auth_user', 10, { enabled: false }),
    kind: 'add',
  })
  t.strictSame([3, 4, 9, 10].map(waitingOf), [{ enabled: false }, 'removed', undefined, undefined])
  put(change(9, 'auth_user', 4, { enabled: true }))
  t.strictSame([3, 4].map(waitingOf), [undefined, { enabled: true }])
  put()
  t.strictSame([3, 4].map(waitingOf), [undefined, undefined])
})

t.test('reads all changes when other ones are pending, and not with each request', async (t) => {
  const { put, reads, waitingOf } = world()
  for (let asked = 0; asked < 100; asked++) waitingOf(1)
  const before = reads()
  put(change(1, 'auth_user', 1, { enabled: false }))
  for (let asked = 0; asked < 100; asked++) waitingOf(1)
  t.ok(before <= 1 && reads() === before + 1)
})

t.test('while the file cannot be read, the last known state counts', async (t) => {
  const { database, put, waitingOf } = world()
  put(change(1, 'auth_user', 1, null))
  t.equal(waitingOf(1), 'removed')
  database.close()
  t.strictSame([1, 2].map(waitingOf), ['removed', undefined])
})
