import fc from 'fast-check'
import { t } from 'tap'
import type { Json } from '../../../core/json.ts'
import {
  browseRows,
  describeTables,
  freeId,
  overtaken,
  overtakenRows,
  type RowsAsk,
} from '../../../core/site/browse.ts'
import type { Change } from '../../../core/site/changes.ts'
import { siteTables, tableOf } from '../../../core/site/registry.ts'
import { bookOf } from './book-of.ts'

const times = { created_at: 1, updated_at: 1 }
const book = bookOf({
  auth_role: [{ id: 1, ...times, name: 'Staff' }],
  auth_user: [{ id: 7, ...times, username: 'ada', hash: 'kept here', salt: 'kept too', pin: '4711', duress_pin: null }],
  auth_user_role: [{ id: 3, ...times, user_id: 7, role_id: 1 }],
  device: [
    {
      id: 1,
      ...times,
      name: 'Rack',
      driver: 'tcp',
      transport: { host: '10.0.0.9', password: 'hidden' },
      api_key: null,
    },
    { id: 2, ...times, name: 'Blind bus', driver: 'sim' },
  ],
  zone: [
    { id: 4, ...times, name: 'Ceiling', device_id: 1 },
    { id: 5, ...times, name: 'Window', device_id: 2 },
  ],
})
const all = (table: string, more: Partial<RowsAsk> = {}, waiting: readonly Change[] = []) =>
  browseRows(book, waiting, { table, limit: 100, ...more })

t.test('every table of the site has a form, but the links that are lists of their users', (t) => {
  const views = describeTables(book)
  t.same(
    siteTables()
      .map(({ name }) => name)
      .filter((name) => !views.some((view) => view.name === name)),
    ['auth_user_role', 'auth_user_site'],
  )
  for (const { name, fields } of views)
    for (const field of fields) {
      const column = tableOf(name)?.column(field.name)
      t.ok(column || ['password', 'roles', 'sites'].includes(field.name), `${name}.${field.name}`)
      t.notOk(column?.isInner, `${name}.${field.name} is the daemon’s own`)
    }
  t.match(
    views.find(({ name }) => name === 'zone')?.fields.find(({ name }) => name === 'device_id'),
    { kind: 'row', tables: ['device'], by: null },
  )
  t.match(
    views.find(({ name }) => name === 'attribute')?.fields.find(({ name }) => name === 'target_id'),
    { kind: 'row', by: 'system_target' },
  )
  t.end()
})

t.test('no secret leaves with a row, and whether there is one does', (t) => {
  const [ada] = all('auth_user')?.rows ?? []
  t.match(ada, { id: 7, name: 'ada', secrets: ['password', 'pin'], values: { roles: ['Staff'], sites: [] } })
  const [rack] = all('device')?.rows ?? []
  t.same(rack?.values.transport, { host: '10.0.0.9', password: null })
  for (const secret of ['kept here', 'kept too', '4711', 'hidden'])
    t.notOk(JSON.stringify([ada, rack]).includes(secret), secret)
  t.end()
})

t.test('a search finds what a row says, and never what it keeps secret', (t) => {
  const ids = (table: string, find: string) => all(table, { find })?.rows.map(({ id }) => id)
  t.same(ids('device', 'RACK'), [1])
  t.same(ids('device', '2'), [2])
  t.same(ids('auth_user', '4711'), [])
  t.same(ids('auth_user', 'kept'), [])
  t.end()
})

t.test('rows are shown as Apply All will leave them, with what waits', (t) => {
  const waiting: Change[] = [
    { kind: 'change', table: 'zone', id: 4, columns: { name: 'Ceiling east', device_id: 9 } },
    { kind: 'remove', table: 'zone', id: 5 },
    { kind: 'add', table: 'zone', id: 6, row: { id: 6, ...times, name: 'Desk', device_id: 9 } },
    { kind: 'add', table: 'device', id: 9, row: { id: 9, ...times, name: 'New rack' } },
  ]
  t.match(all('zone', {}, waiting)?.rows, [
    { id: 4, name: 'Ceiling east', pending: 'change', names: { device_id: 'New rack' } },
    { id: 5, name: 'Window', pending: 'remove' },
    { id: 6, name: 'Desk', pending: 'add', names: { device_id: 'New rack' } },
  ])
  t.match(all('zone', { id: 6 }, waiting)?.rows, [{ id: 6 }])
  t.equal(
    freeId(waiting, 'zone', () => 6),
    7,
    'an id that waits is taken',
  )
  t.equal(
    freeId(waiting, 'macro', () => 3),
    3,
  )
  t.end()
})

t.test('pages continue after the last row, and end with null', (t) => {
  t.match(all('zone', { limit: 1 }), { rows: [{ id: 4 }], next: 4 })
  t.match(all('zone', { limit: 1, after: 4 }), { rows: [{ id: 5 }], next: null })
  for (const table of ['request_history', 'pending_change', 'auth_user_role', '__proto__', 'nothing'])
    t.equal(all(table), undefined, table)
  t.end()
})

t.test('rows of any content are shown without an error, and without their secrets', (t) => {
  const secretText = 'S3cret-in-a-row'
  const json: fc.Arbitrary<Json> = fc.jsonValue() as fc.Arbitrary<Json>
  fc.assert(
    fc.property(json, fc.constantFrom('password', 'api_key', 'wifiPassword', 'tokens'), (value, key) => {
      const rows = [{ id: 1, ...times, name: 'x', config: { kept: value, [key]: secretText }, password: secretText }]
      const page = browseRows(bookOf({ device: rows }), [], { table: 'device', limit: 10 })
      return page?.rows.length === 1 && !JSON.stringify(page).includes(secretText)
    }),
    { numRuns: 200 },
  )
  t.end()
})

t.test('a change is overtaken by what somebody else did to its columns, and by a removal that waits', (t) => {
  const book = bookOf({ zone: [{ id: 1, name: 'Hall', max: 80, overrides: { on: { zone_id: 1 } } }] })
  const rowAfter = (waiting: Change[]) => browseRows(book, waiting, { table: 'zone', id: 1, limit: 1 })?.rows[0]
  const wish = { table: 'zone', id: 1, values: { max: 90 }, seen: rowAfter([])?.values ?? {} }
  const place = { table: 'zone', id: 1 }
  t.same(overtaken(rowAfter([]), wish), [])
  t.same(overtaken(rowAfter([{ kind: 'change', ...place, columns: { min: 3 } }]), wish), [])
  t.match(overtaken(rowAfter([{ kind: 'change', ...place, columns: { max: 60 } }]), wish), [{ field: 'max' }])
  t.match(overtaken(rowAfter([{ kind: 'remove', ...place }]), wish), [{ field: 'id', message: /removed/ }])
  const others = { ...wish, table: 'attribute', values: { value: '1' }, seen: { value: '2' } }
  t.same(overtaken(rowAfter([]), others), [], 'what a device says all the time is not compared')
  t.end()
})

t.test('of many rows each is judged by what its writer had seen, and a removal that waits by itself', (t) => {
  const book = bookOf({
    zone: [
      { id: 1, name: 'Hall', max: 80 },
      { id: 2, name: 'Attic', max: 70 },
      { id: 3, name: 'Cellar', max: 60 },
    ],
    auth_user_role: [{ id: 4, user_id: 1, role_id: 1 }],
  })
  const waiting: Change[] = [
    { kind: 'change', table: 'zone', id: 2, columns: { max: 75 } },
    { kind: 'remove', table: 'zone', id: 3 },
    { kind: 'remove', table: 'auth_user_role', id: 4 },
  ]
  const seen = { zone: [1, 2].map((id) => ({ id, max: id === 1 ? 80 : 70, name: 'what is not written' })) }
  const faults = (rows: Record<string, Json[]>, more: object = { seen }) =>
    overtakenRows(book, waiting, { rows, ...more }).map(({ field }) => field)
  t.same(faults({ zone: [{ id: 1, max: 90 }, { name: 'New' }, { id: 9, max: 1 }, 'no row', { id: 'x' }] }), [])
  t.same(
    faults({
      zone: [
        { id: 1, max: 90 },
        { id: 2, max: 90 },
      ],
    }),
    ['zone[1].max'],
  )
  t.same(faults({ zone: [{ id: 2, max: 90 }] }, {}), [], 'who says nothing of it writes over it')
  t.same(faults({ zone: [{ id: 3, max: 1 }], auth_user_role: [{ id: 4 }] }, {}), ['zone[0].id', 'auth_user_role[0].id'])
  t.same(faults({ zone: [{ id: 9, max: 1 }] }, { seen: { zone: [{ id: 9 }] } }), ['zone[0].id'])
  t.same(faults({ toString: [{ id: 1 }] }, {}), [])
  t.end()
})
