/** Tests of api/ui-macro-routes.ts. */
import t from 'tap'
import { refused } from '../fake-house.ts'
import { signedIn } from './signed-in.ts'

t.test('the editor, dry runs and traces are for elevated sessions only', async (t) => {
  const { browser, house } = await signedIn(t, 'ada')
  for (const [method, path, body] of [
    ['GET', '/ui/macros'],
    ['GET', '/ui/macros/open?id=5'],
    ['POST', '/ui/macros/save', { values: {}, steps: [] }],
    ['POST', '/ui/macros/try', { values: {}, steps: [] }],
    ['GET', '/ui/verbs?zone_id=1'],
    ['GET', '/ui/macro/runs'],
    ['GET', '/ui/macro/run?id=1'],
    ['GET', '/ui/macro/replay?id=1'],
  ] as const)
    t.match(await browser.call(method, path, body), { status: 403, body: { error: 'not_elevated' } }, path)
  t.same(house.written, [])
})

t.test('a macro is written with all of its steps at once, by ids', async (t) => {
  const { browser, house } = await signedIn(t)
  const steps = [{ type: 'command', zone_id: 'Ceiling', command: 'off' }]
  const saved = await browser.call('POST', '/ui/macros/save', { values: { name: 'Night', mode: 'single' }, steps })
  t.match(saved, { status: 200, body: { pending: 1, macro_id: 7 } })
  t.match(house.written, [
    { rows: { macro: [{ id: 7, name: 'Night' }], macro_step: [{ macro_id: 7, position: 1, zone_id: 1 }] }, remove: {} },
  ])
})

t.test('faults are told by the step that they are of, and nothing is written', async (t) => {
  const { browser, house } = await signedIn(t)
  const body = { values: { name: 'Night' }, steps: [{ type: 'delay', args: {} }] }
  for (const path of ['/ui/macros/save', '/ui/macros/try'])
    t.match(await browser.call('POST', path, body), {
      status: 400,
      body: { error: 'bad_fields', fields: [{ field: 'steps[0].args.ms' }] },
    })
  t.same(house.written, [])
  const outcome = refused(400, 'bad_fields', 'bad_fields')
  const fields = [
    { field: 'macro[0].name', message: 'stands there already' },
    { field: 'macro_step[0].command', message: 'is too long' },
  ]
  house.answers.push({ ...outcome, body: { json: { error: 'bad_fields', message: 'No.', fields } } })
  const steps = [{ type: 'stop' }]
  t.match(await browser.call('POST', '/ui/macros/save', { values: { name: 'Night' }, steps }), {
    status: 400,
    body: { fields: [{ field: 'name' }, { field: 'steps[0].command' }] },
  })
})

t.test('a dry run answers what would be sent; args that do not fit are told at the args', async (t) => {
  const { browser, house } = await signedIn(t)
  const steps = [{ type: 'command', zone_id: 1, command: 'off' }]
  t.match(await browser.call('POST', '/ui/macros/try', { values: { name: 'x' }, steps }), {
    status: 200,
    body: { state: 'done', sent: [{ type: 'command', what: { zone_id: 1, command: 'off' } }] },
  })
  const values = { name: 'x', args_schema: { required: ['level'] } }
  t.match(await browser.call('POST', '/ui/macros/try', { values, steps }), {
    status: 400,
    body: { fields: [{ field: 'args' }] },
  })
  t.same(house.asked, [])
})

t.test('what is not there is said, in words', async (t) => {
  const { browser } = await signedIn(t)
  for (const path of ['/ui/macros/open?id=99', '/ui/macro/run?id=99', '/ui/macro/replay?id=99', '/ui/verbs?zone_id=99'])
    t.match(await browser.call('GET', path), { status: 400, body: { error: 'bad_fields' } }, path)
  t.match(await browser.call('GET', '/ui/macro/runs'), { status: 200, body: { runs: [] } })
  t.match(await browser.call('GET', '/ui/verbs?zone_id=1'), { body: { verbs: [{ name: 'level' }] } })
})
