/** Tests of api/rest-surface.ts: the audit record of a call, which answers wait for it, and answers to errors. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { AuditRecord } from '../../core/audit.ts'
import { fakeAudit, fine, serveRest, TOKEN } from './rest-here.ts'

const ME = { path: '/api/me' }
const COMMAND = { path: '/api/control/command', json: { zone_id: 1, command: 'on' } }
const MACRO = { path: '/api/control/macro', json: { macro_id: 4 } }
const DATA = { path: '/api/data/zone' }
const LOGIN = { path: '/api/token', json: { username: 'ada', password: 'x' } }

t.test('1 Audit record: what a granted and a refused call record, and what is never recorded', async (t) => {
  const clock = fakeClock(1_900_000_000_000)
  const signIn = async () => {
    clock.advance(12)
    return fine({ token: TOKEN }, { user: { id: 3, username: 'bob' } })
  }
  const command = async () => fine({ success: true }, { target: 'zone 12', runId: 5 })
  const { ask, audit } = await serveRest(t, { clock, rules: { signIn, command } })
  await ask(LOGIN)
  await ask({ ...COMMAND, as: TOKEN })
  await ask({ path: '/api/data/zone?secret=hunter2', as: TOKEN, headers: { 'x-forwarded-for': '9.9.9.9' } })
  await ask({ path: '/api/nothing' })
  t.same(audit.records[0], {
    at: 1_900_000_000_012,
    elapsedMs: 12,
    requestType: 'rest_api',
    method: 'POST',
    path: '/api/token',
    status: 200,
    clientIp: '127.0.0.1',
    userId: 3,
    username: 'bob',
    granted: true,
    reason: null,
    target: null,
    runId: null,
    facts: null,
  })
  t.match(audit.records[1], { path: '/api/control/command', userId: 7, username: 'ada', target: 'zone 12', runId: 5 })
  t.match(audit.records[2], { method: 'GET', path: '/api/data/zone', granted: true, clientIp: '127.0.0.1' })
  t.match(audit.records[3], { path: '/api/nothing', status: 404, granted: false, reason: null })
  t.notMatch(JSON.stringify(audit.records), /hunter2|TTTT|password/)
  t.same(audit.awaited, [true, true, false, false])
})

t.test('1 Audit record: the caller is recorded even if a call is refused before the token is checked', async (t) => {
  const { ask, audit } = await serveRest(t)
  const dance = { path: '/api/control/dance', json: {} }
  const write = { path: '/api/data/zone', method: 'DELETE' as const }
  for (const call of [dance, write]) {
    await ask({ ...call, as: TOKEN })
    await ask({ ...call, as: 'wrong' })
  }
  t.same(
    audit.records.map(({ status, username }) => [status, username]),
    [
      [400, 'ada'],
      [400, null],
      [501, 'ada'],
      [501, null],
    ],
  )
})

t.test('1 Audit record: a call that the server refuses before this API is recorded too', async (t) => {
  const { ask, audit } = await serveRest(t)
  const twice = { authorization: [`Bearer ${TOKEN}`, 'Bearer x'] } as never
  t.equal((await ask({ ...ME, headers: twice })).status, 400)
  t.match(audit.records, [{ path: '/api/me', status: 400, granted: false }])
})

t.test('answers to token and control wait for their audit record, others do not', async (t) => {
  let keep = () => {}
  const held = new Promise<void>((resolve) => {
    keep = resolve
  })
  const audit = fakeAudit({ add: () => held })
  const { ask } = await serveRest(t, { audit })
  let answered = 0
  const waiting = [LOGIN, { ...COMMAND, as: TOKEN }, { ...MACRO, as: TOKEN }, { ...COMMAND, as: 'wrong' }].map((call) =>
    ask(call).finally(() => answered++),
  )
  t.equal((await ask({ ...ME, as: TOKEN })).status, 200)
  t.equal((await ask({ ...DATA, as: TOKEN })).status, 200)
  t.equal((await ask({ path: '/api/health' })).status, 200)
  t.equal(answered, 0)
  keep()
  t.same(
    (await Promise.all(waiting)).map(({ status }) => status),
    [200, 200, 200, 401],
  )
})

t.test('a call that must be recorded is not begun while the audit accepts no records', async (t) => {
  const audit = fakeAudit({ takes: () => false })
  const { ask, asked } = await serveRest(t, { audit })
  for (const call of [LOGIN, { ...COMMAND, as: TOKEN }, { ...MACRO, as: TOKEN }]) {
    const got = await ask(call)
    t.same([got.status, got.body.error], [500, 'audit_unavailable'])
  }
  t.same(asked, [])
  t.equal((await ask({ ...COMMAND, as: 'wrong' })).status, 401, 'a call refused anyway is refused as usual')
  t.equal((await ask({ ...DATA, as: TOKEN })).status, 200, 'a read is answered as usual')
})

t.test('a command whose record does not reach the disk in time is answered 500 and logged', async (t) => {
  const lines: string[] = []
  const log = createLog({ level: 'error', stream: { write: (line: string) => lines.push(line) } })
  const late: AuditRecord[] = []
  const audit = fakeAudit({ add: () => new Promise(() => {}), late: (record) => void late.push(record) })
  const { ask, asked } = await serveRest(t, { audit, log, recordMs: 20 })
  const got = await ask({ ...COMMAND, as: TOKEN })
  t.same([got.status, got.body.error], [500, 'audit_unavailable'])
  t.equal(asked.length, 1)
  t.match(lines.join(''), /audit_late .*path=\/api\/control\/command .*username=ada/)
  const refused = await ask({ ...COMMAND, as: 'wrong' })
  t.equal(refused.status, 401)
  t.match(
    late,
    [{ path: '/api/control/command', username: 'ada' }],
    'and the audit is told that the answer was different',
  )
})

t.test('1 HTTP statuses: 500 says nothing about what happened', async (t) => {
  const lines: string[] = []
  const log = createLog({ level: 'error', stream: { write: (line: string) => lines.push(line) } })
  const broken = () => {
    throw new Error('SELECT secret FROM auth_user')
  }
  const rules = { signIn: async () => broken(), me: broken, command: async () => broken(), answerData: broken }
  const { ask, audit } = await serveRest(t, { rules, log })
  for (const call of [LOGIN, { ...ME, as: TOKEN }, { ...COMMAND, as: TOKEN }, { ...DATA, as: TOKEN }]) {
    const got = await ask(call)
    t.equal(got.status, 500)
    t.equal(got.body.error, 'internal')
    t.notMatch(got.text, /SELECT|auth_user|at /)
  }
  t.equal(lines.length, 4)
  t.ok(audit.records.every(({ status, granted }) => status === 500 && !granted))
})

t.test('1 HTTP statuses: a change that the disk does not take is 500, and no files are named', async (t) => {
  const lines: string[] = []
  const log = createLog({ level: 'error', stream: { write: (line: string) => lines.push(line) } })
  const signIn = async () => {
    throw new Fault('store_write_failed', 'controller.db was not written: the disk is full')
  }
  const { ask, audit } = await serveRest(t, { rules: { signIn }, log })
  const got = await ask(LOGIN)
  t.same([got.status, got.body.error], [500, 'internal'])
  t.notMatch(got.text, /controller\.db|disk/)
  t.match(lines.join(''), new RegExp(`internal_error id=${got.body.id} .*the disk is full`))
  t.match(audit.records, [{ status: 500, granted: false, reason: null }])
})

t.test('a fault with its own status is answered with that status', async (t) => {
  const signIn = async () => {
    throw new Fault('busy', 'too many sign in at once', { details: { retryAfterMs: 2000 } })
  }
  const { ask } = await serveRest(t, { rules: { signIn } })
  const got = await ask(LOGIN)
  t.same([got.status, got.headers['retry-after'], got.body.error], [503, '2', 'busy'])
})
