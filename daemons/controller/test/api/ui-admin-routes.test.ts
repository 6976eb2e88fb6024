/** Tests of api/ui-admin-routes.ts. */
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import type { AuditRow, PendingChange } from '../../core/surfaces.ts'
import { signedIn } from './signed-in.ts'

const row = (id: number, more: Partial<AuditRow> = {}): AuditRow => ({
  id,
  at: id * 1000,
  requestType: 'rest_api',
  method: 'POST',
  path: '/api/control/command',
  status: 200,
  elapsedMs: 3,
  clientIp: '10.20.4.9',
  userId: 7,
  username: 'bms',
  granted: true,
  reason: null,
  target: 'zone 12',
  runId: null,
  ...more,
})

const change = (more: Partial<PendingChange> = {}): PendingChange => ({
  id: 1,
  at: 1000,
  by: 'sam',
  kind: 'change',
  table: 'zone',
  rowId: 12,
  name: 'Lobby',
  columns: [{ column: 'name', isSecret: false, before: 'Lobby', after: 'Lobby east' }],
  ...more,
})

t.test('is for elevated sessions only', async (t) => {
  const { browser, house } = await signedIn(t, 'ada')
  house.pending.push(change())
  const calls = [
    ['GET', '/ui/audit'],
    ['GET', '/ui/rest'],
    ['PUT', '/ui/rest', { enabled: false }],
    ['GET', '/ui/pending'],
    ['POST', '/ui/pending/apply', { revision: 1001 }],
    ['POST', '/ui/pending/discard', { revision: 1001 }],
    ['GET', '/ui/found'],
    ['POST', '/ui/found/root', { id: 'gateway-1' }],
    ['POST', '/ui/found/adopt', { id: 'board-1' }],
  ] as const
  for (const [method, path, body] of calls) {
    t.match(await browser.call(method, path, body), { status: 403, body: { error: 'not_elevated' } }, path)
    t.match(house.records[0], { reason: 'elevation_denied', username: 'ada', granted: false, path })
  }
  t.equal(house.pending.length, 1)
  t.equal(house.rest.isSet, true)
  browser.cookies.clear()
  for (const [method, path, body] of calls) t.equal((await browser.call(method, path, body)).status, 401, path)
})

t.test('1 Audit record: finds calls by user, reason, path, outcome and time, and pages back', async (t) => {
  const { browser, house } = await signedIn(t)
  house.records = [
    row(6, { username: 'ada', path: '/api/token', granted: false, reason: 'invalid_credential', target: null }),
    row(5),
    row(4, { granted: false, reason: 'scope_denied', status: 403 }),
    row(3, { username: null }),
    row(2),
    row(1, { path: '/api/data/zone', method: 'GET', target: 'entity zone' }),
  ]
  const kept = house.records
  const ids = async (query: string) => {
    house.records = kept
    const { body, status } = await browser.call('GET', `/ui/audit?${query}`)
    t.equal(status, 200, query)
    return (body.rows as { id: number }[]).map(({ id }) => id)
  }
  t.same(await ids('path=api'), [6, 5, 4, 3, 2, 1])
  t.same(await ids('user=AD'), [6])
  t.same(await ids('reason=scope_denied'), [4])
  t.same(await ids('path=DATA'), [1])
  t.same(await ids('granted=false'), [6, 4])
  t.same(await ids('from=2000&to=5000'), [4, 3, 2])
  t.same(await ids('before=3&path=control'), [2])
  const { body } = await browser.call('GET', '/ui/audit?limit=2&path=control')
  t.match(body, {
    rows: [{ id: 5, client_ip: '10.20.4.9', elapsed_ms: 3, request_type: 'rest_api' }, { id: 4 }],
    before: 4,
  })
  t.equal((await browser.call('GET', '/ui/audit?limit=100&path=control')).body.before, null)
})

t.test('says what is wrong with a filter, and records that it was refused', async (t) => {
  const { browser, house } = await signedIn(t)
  for (const query of [
    'limit=0',
    'limit=501',
    'granted=maybe',
    'from=yesterday',
    'limit=7&colour=red',
    `user=${'x'.repeat(201)}`,
  ]) {
    const { status, body } = await browser.call('GET', `/ui/audit?${query}`)
    t.same([status, body.error], [400, 'bad_fields'], query)
    t.match(house.records[0], { status: 400, reason: 'bad_fields', path: '/ui/audit' })
  }
  t.equal((await browser.call('GET', '/ui/audit?__proto__=1')).status, 400)
})

t.test('1 What the service does: sets the REST switch, and says that it takes effect after a restart', async (t) => {
  const { browser, house } = await signedIn(t)
  t.same((await browser.call('GET', '/ui/rest')).body, { enabled: true, running: true, waits_for_restart: false })
  const off = { enabled: false, running: true, waits_for_restart: true }
  t.same((await browser.call('PUT', '/ui/rest', { enabled: false })).body, off)
  t.same((await browser.call('GET', '/ui/rest')).body, off)
  t.match(house.records[1], { method: 'PUT', target: 'setting rest_api_enabled', username: 'sam' })
  for (const body of [{}, { enabled: 'no' }, { enabled: true, more: 1 }, null, []])
    t.equal((await browser.call('PUT', '/ui/rest', body)).status, 400, JSON.stringify(body))
})

t.test('1 Audit record: a refusal by the server itself is recorded with the status that was sent', async (t) => {
  const { browser, house } = await signedIn(t)
  const cases: [fault: unknown, status: number][] = [
    [new Fault('store_write_failed', 'the disk is full'), 507],
    [new Fault('nobody_knows', 'a fault in no table'), 500],
    [new Error('a fault of the program'), 500],
  ]
  for (const [fault, status] of cases) {
    house.parts.rest.set = () => Promise.reject(fault)
    t.equal((await browser.call('PUT', '/ui/rest', { enabled: true })).status, status)
    t.match(house.records[0], { path: '/ui/rest', method: 'PUT', status, granted: false, username: 'sam' })
  }
})

t.test('shows what will change, column by column, and for secrets only that they change', async (t) => {
  const { browser, house } = await signedIn(t)
  const secret = { column: 'password', isSecret: true, before: 'old secret', after: 'new secret' }
  house.pending.push(change(), change({ id: 2, table: 'device', columns: [secret] }))
  const { body } = await browser.call('GET', '/ui/pending')
  t.match(body, {
    revision: 1002,
    changes: [
      { id: 1, row_id: 12, columns: [{ column: 'name', before: 'Lobby', after: 'Lobby east', secret: false }] },
      { id: 2, columns: [{ column: 'password', secret: true }] },
    ],
  })
  t.notOk(JSON.stringify(body).includes('old secret') || JSON.stringify(body).includes('new secret'))
})

t.test('applies and discards only the changes that were shown', async (t) => {
  const { browser, house } = await signedIn(t)
  house.pending.push(change())
  const { revision } = (await browser.call('GET', '/ui/pending')).body
  house.pending.push(change({ id: 2 }))
  for (const path of ['/ui/pending/apply', '/ui/pending/discard']) {
    t.match(await browser.call('POST', path, { revision }), { status: 409, body: { error: 'pending_changed' } })
    t.equal((await browser.call('POST', path, {})).status, 400)
  }
  t.equal(house.pending.length, 2)
  const now = (await browser.call('GET', '/ui/pending')).body.revision
  t.match((await browser.call('POST', '/ui/pending/apply', { revision: now })).body, { applied: 2 })
  t.match(house.records[0], { path: '/ui/pending/apply', username: 'sam', target: 'pending_change' })
})

t.test('names the row that does not fit, and applies nothing', async (t) => {
  const { browser, house } = await signedIn(t)
  house.pending.push(change(), change({ id: 2, name: 'refused' }))
  const { revision } = (await browser.call('GET', '/ui/pending')).body
  t.match(await browser.call('POST', '/ui/pending/apply', { revision }), {
    status: 422,
    body: { error: 'pending_refused', fields: [{ field: '2', message: 'The device it names is gone.' }] },
  })
  t.equal(house.pending.length, 2)
  t.match(house.records[0], { status: 422, granted: false })
  t.match((await browser.call('POST', '/ui/pending/discard', { revision })).body, { success: true })
  t.equal(house.pending.length, 0)
})

t.test('lists what in the site has no effect yet, only for elevated sessions', async (t) => {
  const { browser } = await signedIn(t)
  const { status, body } = await browser.call('GET', '/ui/not-driven')
  t.same(
    [status, body],
    [200, { rows: [{ row: 'credential 1 "ftp"', why: 'nothing signs in with credentials yet' }], count: 1 }],
  )
  const { browser: plain } = await signedIn(t, 'ada')
  t.equal((await plain.call('GET', '/ui/not-driven')).status, 403)
})

t.test('schedules and triggers are listed for elevated sessions, each with its macro', async (t) => {
  const { house, browser } = await signedIn(t)
  const schedule = { id: 3, created_at: 0, updated_at: 0, name: 'Closing', kind: 'at', macro_id: 5 }
  const trigger = { ...schedule, kind: 'webhook', macro_id: 99, enabled: false }
  house.schedules = [{ row: schedule, nextAt: 5000, lastAt: 4000, flaw: null }]
  house.triggers = [{ row: trigger, lastAt: null, flaw: 'no secret' }]
  const { body } = await browser.call('GET', '/ui/automation')
  t.match(body, {
    schedules: [
      { id: 3, name: 'Closing', kind: 'at', macro: 'Close down', next_at: 5000, last_at: 4000, enabled: true },
    ],
    triggers: [{ macro_id: 99, macro: null, enabled: false, flaw: 'no secret', last_at: null }],
  })
  const other = await signedIn(t, 'ada')
  t.match(await other.browser.call('GET', '/ui/automation'), { status: 403, body: { error: 'not_elevated' } })
})
