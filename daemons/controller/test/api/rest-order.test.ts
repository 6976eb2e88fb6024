/** Tests of api/rest-surface.ts: if two things are wrong with a call, which one is reported. */
import t from 'tap'
import { type Ask, serveRest, sessionOf, TOKEN } from './rest-here.ts'

type Call = Required<Pick<Ask, 'method' | 'path' | 'as' | 'body'>>

/** What can be wrong with a call of `/api/control`, in the order in which it is reported. */
interface Flaw {
  name: string
  status: number
  error: string
  with: (call: Call) => Partial<Call>
  /** For flaws of the server rather than of the call. */
  own?: { isEnabled?: boolean; session?: ReturnType<typeof sessionOf> }
}

const flaws: Flaw[] = [
  { name: 'switched off', status: 401, error: 'rest api disabled', with: () => ({}), own: { isEnabled: false } },
  { name: 'wrong method', status: 405, error: 'method not allowed', with: () => ({ method: 'PUT' }) },
  { name: 'wrong action', status: 400, error: 'invalid action', with: ({ path }) => ({ path: `${path}s` }) },
  { name: 'bad body', status: 400, error: 'malformed_body', with: () => ({ body: '{"a":' }) },
  { name: 'bad token', status: 401, error: 'invalid_session', with: () => ({ as: 'wrong' }) },
  { name: 'no role', status: 403, error: 'unauthorized', with: () => ({}), own: { session: sessionOf([]) } },
]

t.test('1 Endpoints: of two faults of a control call the one that comes first in the order is reported', async (t) => {
  for (const [index, first] of flaws.entries())
    for (const second of flaws.slice(index)) {
      const { ask, asked } = await serveRest(t, { ...second.own, ...first.own })
      for (const action of ['command', 'macro']) {
        const call = { method: 'POST', path: `/api/control/${action}`, as: TOKEN, body: '{"zone":"a"}' }
        const got = await ask({ ...call, ...second.with(call), ...first.with(call) })
        t.same([got.status, got.body.error], [first.status, first.error], `${first.name} before ${second.name}`)
      }
      t.same(asked, [])
    }
})

t.test('1 GET /api/data/:entity: switch, method, token, role, in this order', async (t) => {
  const off = await serveRest(t, { isEnabled: false, session: sessionOf([]) })
  t.equal((await off.ask({ method: 'POST', path: '/api/data/zone' })).body.error, 'rest api disabled')
  const on = await serveRest(t, { session: sessionOf([]) })
  t.equal((await on.ask({ method: 'POST', path: '/api/data/zone', as: 'wrong' })).status, 501)
  t.equal((await on.ask({ method: 'OPTIONS', path: '/api/data/zone', as: 'wrong' })).status, 405)
  t.equal((await on.ask({ path: '/api/data/auth_user?_fields=[["id","x"]]', as: 'wrong' })).status, 401)
  t.equal((await on.ask({ path: '/api/data/auth_user', as: TOKEN })).body.error, 'unauthorized')
  t.same(on.asked, [])
})

t.test('1 POST /api/session_handoff: the method, the body, the token, in this order', async (t) => {
  const { ask, asked } = await serveRest(t)
  t.equal((await ask({ method: 'PUT', path: '/api/session_handoff', body: '{' })).status, 405)
  t.equal((await ask({ path: '/api/session_handoff', body: '{' })).status, 400)
  t.equal((await ask({ path: '/api/session_handoff', body: '{}' })).status, 401)
  t.equal((await ask({ method: 'POST', path: '/api/session_handoff', as: TOKEN })).status, 200)
  t.equal((await ask({ path: '/api/session_handoff', body: '{"any":1}', as: TOKEN })).status, 200)
  t.same(asked, [['handoff'], ['handoff']])
})

t.test('a long body of a caller that is not signed in is not read, whatever it is', async (t) => {
  const { ask, asked } = await serveRest(t)
  for (const path of ['/api/control/command', '/api/control/macro', '/api/session_handoff']) {
    const body = `{"a":${' '.repeat(5000)}`
    const call = { method: 'POST', path, body }
    t.equal((await ask({ ...call, as: 'wrong' })).status, 401, path)
    t.equal((await ask({ ...call, as: TOKEN })).status, 400, path)
  }
  t.same(asked, [])
})

t.test('a GET with a body is answered like one without', async (t) => {
  const { ask } = await serveRest(t)
  for (const body of ['{', 'x'.repeat(300_000)])
    t.equal((await ask({ method: 'GET', path: '/api/me', body, as: TOKEN })).status, 200)
})
