/** Tests of io/audit-reader.ts: newest first, in pieces. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { openAudit, recordOf } from '../../io/audit-here.ts'

t.test('1 GET /api/data/:entity: gives the newest first, as rows with all columns', async (t) => {
  const { audit } = await openAudit(t, { folder: t.testdir() })
  await audit.add(recordOf({ at: 2000 }), true)
  await audit.add(recordOf({ at: 1000, granted: false, reason: 'role_denied' }), true)
  const { rows, next } = await audit.list({ limit: 10 })
  t.equal(next, null)
  t.same(rows[0], {
    id: 2,
    created_at: 1000,
    updated_at: 1000,
    at: 1000,
    request_type: 'rest_api',
    method: 'POST',
    path: '/api/control/command',
    status: 200,
    elapsed_ms: 3,
    client_ip: '10.0.0.7',
    user_id: 7,
    username: 'ada',
    granted: false,
    reason: 'role_denied',
    target: 'zone 12',
    run_id: null,
    action: null,
    outcome: null,
    detail: null,
  })
  t.match(rows[1], { id: 1, at: 2000, granted: true }, 'by the order of the calls, not by a clock that was set back')
})

t.test('visits all rows in pieces, lets other work run in between, and stops when asked', async (t) => {
  const { audit } = await openAudit(t, { folder: t.testdir(), limits: { scan_rows: 10 } })
  await Promise.all(Array.from({ length: 95 }, () => audit.add(recordOf(), true)))
  let turns = 0
  const beat = setInterval(() => turns++, 0)
  const seen: number[] = []
  await audit.scan(({ id }) => seen.push(id) > 0)
  clearInterval(beat)
  t.same(
    seen,
    Array.from({ length: 95 }, (_, i) => 95 - i),
  )
  t.ok(turns > 0)
  const few: number[] = []
  await audit.scan(({ id }) => few.push(id) < 25, 60)
  t.same([few.length, few[0], few.at(-1)], [25, 59, 35])
})

t.test('finds a row recorded a moment before', async (t) => {
  const { audit } = await openAudit(t, { folder: t.testdir(), clock: fakeClock() })
  void audit.add(recordOf({ status: 201 }))
  t.match((await audit.list({ limit: 1 })).rows, [{ status: 201 }])
})

t.test('searches by the given fields, reads a limited number of rows, and says where to continue', async (t) => {
  const { audit } = await openAudit(t, { folder: t.testdir(), limits: { search_rows: 100 } })
  const odd = { granted: false, reason: 'scope_denied', username: 'bob', clientIp: '10.0.0.9' } as const
  for (let i = 0; i < 250; i++) void audit.add(recordOf({ at: 1000 + i, ...(i % 50 === 0 ? odd : {}) }))
  const first = await audit.list({ limit: 10, reason: 'scope_denied' })
  t.same([first.rows.map(({ id }) => id), first.next], [[201, 151], 151])
  const second = await audit.list({ limit: 10, reason: 'scope_denied', beforeId: first.next ?? 0 })
  t.same([second.rows.map(({ id }) => id), second.next], [[101, 51], 51])
  const third = await audit.list({ limit: 10, reason: 'scope_denied', beforeId: second.next ?? 0 })
  t.same([third.rows.map(({ id }) => id), third.next], [[1], null])
  const page = await audit.list({ limit: 3 })
  t.same([page.rows.map(({ id }) => id), page.next], [[250, 249, 248], 248])
  for (const search of [{ granted: false }, { username: 'bob' }, { clientIp: '10.0.0.9' }])
    t.equal((await audit.list({ limit: 99, ...search })).rows.length, 2)
  t.same(
    (await audit.list({ limit: 99, fromAt: 1240, untilAt: 1242 })).rows.map(({ at }) => at),
    [1241, 1240],
  )
})
