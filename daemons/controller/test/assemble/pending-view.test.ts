/** Tests of assemble/ui.ts. */
import t from 'tap'
import { pendingView } from '../../assemble/ui.ts'
import type { StagedDifference } from '../../io/database.ts'

const staged = (more: Partial<StagedDifference>): StagedDifference => ({
  sentence: '',
  ...{ pendingId: 1, at: 5, author: 'import', kind: 'change', table: 'zone', id: 7, name: 'Ceiling', columns: [] },
  ...more,
})
const book = {
  row: (table: string, id: number) =>
    table === 'device' && id === 3 ? { id: 3, created_at: 0, updated_at: 0, name: 'Dimmer rack' } : undefined,
}

t.test('a reference names its row, also if that row is only pending', async (t) => {
  const changes = [
    staged({ columns: [{ column: 'device_id', before: '3', after: '4' }] }),
    staged({ pendingId: 2, kind: 'add', table: 'device', id: 4, name: 'Dimmer east' }),
    staged({ pendingId: 3, columns: [{ column: 'zone_group_id', before: 'none', after: '99' }] }),
  ]
  const [zone, device, lost] = pendingView(changes, book)
  const names = { before: 'Dimmer rack', after: 'Dimmer east' }
  t.same(zone?.columns, [{ column: 'device_id', isSecret: false, before: 3, after: 4, kind: 'row', names }])
  t.match(device, { id: 2, by: 'import', kind: 'add', rowId: null, name: 'Dimmer east' })
  t.match(lost?.columns, [{ names: { before: null, after: null } }])
})

t.test('an instant is marked as one, and a secret shows only that it changes', async (t) => {
  const columns = [
    { column: 'valid_until', before: 'none', after: '1000' },
    { column: 'hash', before: 'a', after: 'b' },
    { column: 'email', before: '""', after: '"x@y"' },
  ]
  const [user] = pendingView([staged({ table: 'auth_user', name: '', columns })], book)
  t.equal(user?.name, null)
  t.same(user?.columns, [
    { column: 'valid_until', isSecret: false, before: null, after: 1000, kind: 'time' },
    { column: 'hash', isSecret: true, before: null, after: null },
    { column: 'email', isSecret: false, before: '', after: 'x@y' },
  ])
})

t.test('values get their types back, and a value that was cut stays a text', async (t) => {
  const texts = ['{"kind":"tcp","port":4352}', 'true', '"none"', 'none', '0.5', '{"kind":"tcp","host":"10.…']
  const columns = texts.map((after) => ({ column: 'transport', before: 'none', after }))
  const [device] = pendingView([staged({ table: 'device', columns })], book)
  const values = [{ kind: 'tcp', port: 4352 }, true, 'none', null, 0.5, '{"kind":"tcp","host":"10.…']
  t.strictSame(
    device?.columns.map(({ after }) => after),
    values,
  )
})
