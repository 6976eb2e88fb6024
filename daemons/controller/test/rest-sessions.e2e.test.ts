/** Session tokens of the built controller, identity, handoff, and the switch of the REST surface. */
import t from 'tap'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

const refused = { status: 401, body: { error: 'invalid_session' } }

/** For both tests, in this order. */
const site = await openRestSite(t)

t.test('1 Session token', async (t) => {
  const me = (token: string | undefined, headers: Record<string, string> = {}, from?: string): Promise<Told> =>
    site.call('GET', '/api/me', { token, headers, ...(from === undefined ? {} : { from }) })

  await t.test('1 Identity: the user, with roles, sites, and since when', async (t) => {
    const before = Date.now()
    const { status, body } = await me(await site.tokenOf('olga'))
    t.equal(status, 200)
    const { issued, ...rest } = body
    t.strictSame(rest, { id: 2, username: 'olga', roles: ['operator'], sites: [{ id: 7 }], two_factor_auth: false })
    t.ok(Number.isInteger(issued) && issued >= before - 1000 && issued <= Date.now() + 1000)
  })

  await t.test('1 Authentication 2 both forms of the header', async (t) => {
    const token = await site.tokenOf('olga')
    const good: Record<string, string>[] = [
      { authorization: `Bearer ${token}` },
      { authorization: `bearer ${token}` },
      { 'svc-api-token': token },
      { 'SVC-API-TOKEN': token },
      { authorization: `Bearer ${token}`, 'svc-api-token': 'x' },
    ]
    for (const headers of good)
      t.equal((await me(undefined, headers)).status, 200, JSON.stringify(Object.keys(headers)))
    const bad: Record<string, string>[] = [
      {},
      { authorization: 'Bearer ' },
      { authorization: `Basic ${token}` },
      { authorization: token },
      { 'svc-api-token': '' },
      { 'svc-api-token': token.slice(1) },
      { 'svc-api-token': `${token}x` },
      { authorization: 'Bearer __proto__' },
      { authorization: 'Bearer x', 'svc-api-token': token },
      { cookie: `svc_controller=${token}` },
    ]
    for (const headers of bad) {
      const told = await me(undefined, headers)
      t.match(told, refused, JSON.stringify(Object.keys(headers)))
      t.match(await site.recordOf(told), { reason: 'invalid_session', status: 401, granted: false, user_id: null })
    }
    t.equal((await site.get(`/api/me?token=${token}`)).status, 401, 'a token in the path counts for nothing')
  })

  await t.test('1 Session token: logout always succeeds, and ends only that token', async (t) => {
    const [first, second] = [await site.tokenOf('olga'), await site.tokenOf('olga')]
    for (const token of [first, first, undefined, 'x']) {
      const told = await site.call('POST', '/api/logout', { token })
      t.equal(told.status, 200)
      t.strictSame(told.body, { success: true })
    }
    t.match(await me(first), refused)
    t.equal((await me(second)).status, 200)
  })

  await t.test('1 Authentication 5 a local token is dropped when its holder is remote', async (t) => {
    const token = await site.tokenOf('lena')
    t.equal((await me(token)).status, 200)
    const away = await me(token, {}, '203.0.113.40')
    t.match(away, refused)
    t.match(await site.recordOf(away), { reason: 'invalid_session', client_ip: '203.0.113.40' })
  })

  await t.test('1 Handoff nonce: 48 characters for 60 seconds, redeemed once by the page', async (t) => {
    const token = await site.tokenOf('olga')
    const told = await site.post('/api/session_handoff', undefined, token)
    t.match(told, { status: 200, body: { nonce: /^[\x21-\x7e]{48}$/, expires_in: 60 } })
    const redeem = () => site.call('POST', '/ui/handoff', { headers: { cookie: `svc_handoff=${told.body.nonce}` } })
    const first = await redeem()
    t.match(first, { status: 200, body: { signed_in: true, username: 'olga' } })
    t.match(first.headers.getSetCookie().join('\n'), /svc_controller=[^;]+;.*HttpOnly/)
    t.equal((await redeem()).status, 401)
    for (const bad of [undefined, 'x']) {
      const none = await site.post('/api/session_handoff', {}, bad)
      t.match(none, { status: 401, body: { error: 'unauthorized' } })
      t.match(await site.recordOf(none), { reason: 'unauthorized', status: 401 })
    }
    const headers = { 'svc-cloud-tunnel': '1' }
    t.equal((await site.call('POST', '/api/session_handoff', { headers })).status, 401, 'tunnel traffic is not enough')
  })

  await t.test(
    '1 Handoff nonce: one whose holder is not allowed to call from there is refused, and used up',
    async (t) => {
      const { body } = await site.post('/api/session_handoff', {}, await site.tokenOf('mixed'))
      const headers = { cookie: `svc_handoff=${body.nonce}` }
      t.equal((await site.call('POST', '/ui/handoff', { headers, from: '203.0.113.41' })).status, 401)
      t.equal((await site.call('POST', '/ui/handoff', { headers })).status, 401)
    },
  )

  await t.test('1 Endpoints: a wrong method, and an unknown path', async (t) => {
    for (const [method, path] of [
      ['GET', '/api/token'],
      ['GET', '/api/logout'],
      ['POST', '/api/me'],
      ['GET', '/api/session_handoff'],
      ['DELETE', '/api/health'],
    ] as const)
      t.equal((await site.call(method, path)).status, 405, `${method} ${path}`)
    for (const path of ['/api', '/api/', '/api/me/', '/api/Me', '/api/data', '/api/data/', '/api/data/zone/1'])
      t.equal((await site.get(path)).status, 404, path)
  })

  await t.test('1 Authentication 4 a disabled account, and one past Valid Until, lose their tokens', async (t) => {
    const names = ['olga', 'omar', 'quinn', 'nora']
    const tokens = await Promise.all(names.map((name) => site.tokenOf(name)))
    const [olga, omar, quinn, nora] = tokens
    await site.stage({
      auth_user: [
        { username: 'olga', enabled: false },
        { username: 'omar', valid_until: Date.now() - 1000 },
        { username: 'quinn', revoked_at: Date.now() - 1000 },
      ],
    })
    t.match(await site.applyAll(), { status: 200, body: { applied: Number } })
    for (const token of [olga, omar, quinn]) {
      const told = await me(token)
      t.match(told, refused)
      t.match(await site.recordOf(told), { reason: 'invalid_session' })
    }
    t.equal((await me(nora)).status, 200)
    await site.stage({ auth_user: [{ username: 'olga', enabled: true }] })
    await site.applyAll()
    t.match(await me(olga), refused, 'a token that was dropped stays so')
  })

  await t.test('1 Authentication 3 role rules reach the surface after Apply All', async (t) => {
    const token = await site.tokenOf('mark')
    const read = () => site.get('/api/data/zone', token)
    t.equal((await read()).status, 200)
    await site.stage({ auth_role: [{ name: 'no-command', rules: 'allow api macro' }] })
    t.equal((await read()).status, 200, 'while it is pending nothing changes')
    t.equal((await site.applyAll()).status, 200)
    const told = await read()
    t.match(told, { status: 403, body: { error: 'unauthorized' } })
    t.match(await site.recordOf(told), { reason: 'role_denied', username: 'mark' })
  })

  await t.test('1 Session token: a restart makes all invalid', async (t) => {
    const token = await site.tokenOf('nora')
    t.equal((await me(token)).status, 200)
    await site.restart()
    const told = await me(token)
    t.match(told, refused)
    t.match(await site.recordOf(told), { reason: 'invalid_session' })
  })
})

/** Every endpoint, and calls that would be refused for another reason. */
const CALLS: [method: string, path: string, body?: unknown][] = [
  ['POST', '/api/token', { username: 'ada', password: PASSWORD }],
  ['POST', '/api/token', '{'],
  ['POST', '/api/logout'],
  ['GET', '/api/me'],
  ['POST', '/api/session_handoff', {}],
  ['POST', '/api/control/command', { zone_id: 1, command: 'on' }],
  ['POST', '/api/control/macro', { macro_id: 1 }],
  ['POST', '/api/control/dance', {}],
  ['GET', '/api/control/command'],
  ['GET', '/api/data/zone'],
  ['POST', '/api/data/zone', {}],
  ['GET', '/api/data/no_such_table'],
]

t.test('1 What the service does: the switch takes effect after a restart', async (t) => {
  const token = await site.tokenOf('olga')
  t.match(await flip(site, false), { status: 200, body: { enabled: false, running: true, waits_for_restart: true } })
  t.equal((await site.get('/api/me', token)).status, 200)
  await site.restart()

  await t.test('1 What the service does: switched off, everything except health and version is 401', async (t) => {
    t.match((await site.get('/api/version')).body, { version: /^\d+\.\d+\.\d+/ })
    t.strictSame((await site.get('/api/health')).body, { ok: true })
    for (const [method, path, body] of CALLS) {
      const told = await site.call(method, path, { token, body })
      t.equal(told.status, 401, `${method} ${path}`)
      t.match(told.body, { error: 'rest api disabled' })
    }
    t.equal((await site.get('/api/sync')).status, 501)
    t.strictSame(site.lines, [], 'no driver was reached')
  })

  t.match(await flip(site, true), { status: 200, body: { enabled: true, running: false } })
  await site.restart()
  t.ok(await site.tokenOf('olga'))
})

/** Sets the switch as the page does. */
async function flip(site: RestSite, enabled: boolean): Promise<Told> {
  const type = { 'content-type': 'application/json' }
  const credentials = { username: 'ada', password: PASSWORD }
  const signedIn = await site.call('POST', '/ui/sign-in', { body: credentials, headers: type })
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return site.call('PUT', '/ui/rest', { body: { enabled }, headers: { ...type, cookie } })
}
