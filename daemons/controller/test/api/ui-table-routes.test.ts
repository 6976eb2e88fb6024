/** Tests of api/ui-table-routes.ts. */
import t from 'tap'
import { refused } from '../fake-house.ts'
import { signedIn } from './signed-in.ts'

t.test('tables are for elevated sessions only', async (t) => {
  const { browser, house } = await signedIn(t, 'ada')
  for (const [method, path, body] of [
    ['GET', '/ui/tables'],
    ['GET', '/ui/rows?table=zone'],
    ['POST', '/ui/rows', { table: 'zone', values: {} }],
    ['POST', '/ui/rows/remove', { table: 'zone', id: 1 }],
  ] as const)
    t.match(await browser.call(method, path, body), { status: 403, body: { error: 'not_elevated' } }, path)
  t.same(house.written, [])
})

t.test('rows are found, without secrets', async (t) => {
  const { browser } = await signedIn(t)
  const { body } = await browser.call('GET', '/ui/rows?table=zone&find=boil')
  t.match(body, { rows: [{ id: 7, name: 'Boiler', names: { device_id: 'Plant' }, pending: null }], next: null })
  const people = await browser.call('GET', '/ui/rows?table=auth_user')
  t.notOk(JSON.stringify(people.body).includes('never sent'))
})

t.test('a new row gets an id of its own, so that it is not taken for one of the same name', async (t) => {
  const { browser, house } = await signedIn(t)
  const values = { name: 'Ceiling', device_id: 'Plant' }
  t.match(await browser.call('POST', '/ui/rows', { table: 'zone', values }), { status: 200, body: { pending: 1 } })
  await browser.call('POST', '/ui/rows', { table: 'zone', id: 3, values: { name: 'Heating' } })
  await browser.call('POST', '/ui/rows/remove', { table: 'zone', id: 4 })
  t.same(house.written, [
    { by: 'sam', rows: { zone: [{ ...values, id: 9 }] }, remove: {} },
    { by: 'sam', rows: { zone: [{ name: 'Heating', id: 3 }] }, remove: {} },
    { by: 'sam', rows: {}, remove: { zone: [4] } },
  ])
})

t.test('of two editors with the same row open the second does not undo the first', async (t) => {
  const { browser, house } = await signedIn(t)
  const { body } = await browser.call('GET', '/ui/rows?table=zone&id=7')
  const [{ values: seen }] = body.rows as [{ values: { name: string } }]
  house.change(
    'zone',
    [...(house.tables.get('zone') ?? [])].map((row) => (row.id === 7 ? { ...row, name: 'Furnace' } : row)),
  )
  const save = (values: object) => browser.call('POST', '/ui/rows', { table: 'zone', id: 7, values, seen })
  t.match(await save({ name: 'Heater', min: 5 }), {
    status: 400,
    body: { error: 'bad_fields', fields: [{ field: 'name', message: /Somebody else/ }] },
  })
  t.match(await save({ min: 5 }), { status: 200 }, 'another column')
  const gone = await browser.call('POST', '/ui/rows', { table: 'zone', id: 999, values: { min: 5 } })
  t.match(gone, { status: 400, body: { fields: [{ field: 'id', message: 'There is no zone 999.' }] } })
  t.equal(house.written.length, 1)
})

t.test('faults of the row are told at its fields, those elsewhere by their path', async (t) => {
  const { browser, house } = await signedIn(t)
  const fields = [
    { field: 'zone[0].min', message: 'must be a number, is text' },
    { field: 'zone 12.device_id', message: 'there is no device 9' },
  ]
  const outcome = refused(400, 'bad_fields', 'bad_fields')
  house.answers.push({ ...outcome, body: { json: { error: 'bad_fields', message: 'No.', fields } } })
  const { status, body } = await browser.call('POST', '/ui/rows', { table: 'zone', id: 3, values: { min: 'x' } })
  t.equal(status, 400)
  t.match(body.fields, [{ field: 'min' }, { field: 'zone 12.device_id' }])
})

t.test('a table that no form changes is refused, with the nearest one', async (t) => {
  const { browser } = await signedIn(t)
  for (const [method, path, body] of [
    ['GET', '/ui/rows?table=zones'],
    ['POST', '/ui/rows', { table: 'zones', values: {} }],
  ] as const)
    t.match(await browser.call(method, path, body), {
      status: 400,
      body: { fields: [{ message: /nearest is zone\./ }] },
    })
  t.match(await browser.call('GET', '/ui/rows?table=request_history'), { status: 400 })
})
