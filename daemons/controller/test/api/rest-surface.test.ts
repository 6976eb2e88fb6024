/** Tests of api/rest-surface.ts: every endpoint of document 1 over a real server. */
import t from 'tap'
import type { AuditReason } from '../../core/audit.ts'
import { type Ask, serveRest, sessionOf, TOKEN } from './rest-here.ts'

const ME = { path: '/api/me' }
const COMMAND = { path: '/api/control/command', json: { zone_id: 1, command: 'on' } }
const MACRO = { path: '/api/control/macro', json: { macro_id: 4 } }
const DATA = { path: '/api/data/zone' }
const LOGIN = { path: '/api/token', json: { username: 'ada', password: 'x' } }
const HANDOFF = { method: 'POST', path: '/api/session_handoff' }
const LOGOUT = { method: 'POST', path: '/api/logout' }

t.test('1 Endpoints: each answers the callers that are allowed', async (t) => {
  const { ask, asked } = await serveRest(t)
  const answers: [Ask, unknown][] = [
    [LOGIN, { did: 'signIn' }],
    [{ ...ME, as: TOKEN }, { id: 7 }],
    [{ ...HANDOFF, as: TOKEN }, { did: 'handoff' }],
    [{ ...COMMAND, as: TOKEN }, { did: 'command' }],
    [{ ...MACRO, as: TOKEN }, { did: 'runMacro' }],
    [{ ...DATA, as: TOKEN }, { did: 'answerData' }],
    [{ path: '/api/health' }, { ok: true }],
    [{ path: '/api/version' }, { version: '1.2.3' }],
    [{ ...LOGOUT, as: TOKEN }, { success: true }],
  ]
  for (const [what, body] of answers) {
    const got = await ask(what)
    t.same([got.status, got.body], [200, body], what.path)
    t.equal(got.headers['content-type'], 'application/json; charset=utf-8')
    t.equal(got.headers['cache-control'], 'no-store')
  }
  t.same(asked, [
    ['signIn', LOGIN.json, false],
    ['handoff'],
    ['command', COMMAND.json],
    ['runMacro', MACRO.json],
    ['answerData', 'zone', ''],
    ['logout', TOKEN],
  ])
})

t.test(
  '1 What the service does: switched off, everything except GET health and version is 401 rest api disabled',
  async (t) => {
    const { ask, asked, audit } = await serveRest(t, { isEnabled: false })
    const off: Ask[] = [
      LOGIN,
      LOGOUT,
      { ...ME, as: TOKEN },
      { ...HANDOFF, as: TOKEN },
      { ...COMMAND, as: TOKEN },
      { ...MACRO, as: TOKEN },
      { ...DATA, as: TOKEN },
      // Checked before anything else that can be wrong with a call.
      { method: 'PUT', path: '/api/control/command' },
      { method: 'POST', path: '/api/control/dance' },
      { method: 'DELETE', path: '/api/data/zone' },
      { method: 'POST', path: '/api/token', body: '{' },
      { method: 'POST', path: '/api/health' },
      { method: 'OPTIONS', path: '/api/version' },
      { path: '/api/nothing' },
      { path: '/api' },
    ]
    for (const what of off) {
      const got = await ask(what)
      t.match(
        [got.status, got.body],
        [401, { error: 'rest api disabled', message: /\w/ }],
        `${what.method ?? ''} ${what.path}`,
      )
    }
    t.same(asked, [])
    t.same(
      new Set(audit.records.map(({ reason, granted }) => `${reason} ${granted}`)),
      new Set(['rest_disabled false']),
    )
    t.same((await ask({ path: '/api/health' })).body, { ok: true })
    t.same((await ask({ path: '/api/version?x=1' })).body, { version: '1.2.3' })
    t.equal((await ask({ method: 'HEAD', path: '/api/health' })).status, 200)
    t.equal((await ask({ path: '/api/sync' })).status, 501)
  },
)

t.test('1 What the service does: /api/sync is not part of this API, and says that it does not exist yet', async (t) => {
  const { ask } = await serveRest(t)
  for (const method of ['GET', 'POST', 'PUT']) {
    const { status, body } = await ask({ method, path: '/api/sync' })
    t.match({ status, body }, { status: 501, body: { error: 'not_built', message: /cannot be paired yet/ } })
  }
  t.equal((await ask({ path: '/api/sync/peer', as: TOKEN })).status, 501)
  t.equal((await ask({ path: '/api/synchronise', as: TOKEN })).status, 404)
})

t.test('1 POST /api/control/:action: any other method gives 405 with Allow: POST', async (t) => {
  const { ask, asked, audit } = await serveRest(t)
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])
    for (const action of ['command', 'macro', 'dance']) {
      const got = await ask({ method, path: `/api/control/${action}`, as: TOKEN })
      t.same([got.status, got.headers.allow], [405, 'POST'], `${method} ${action}`)
      if (method !== 'HEAD') t.equal(got.body.error, 'method not allowed')
    }
  t.same(asked, [])
  t.ok(audit.records.every(({ reason }) => reason === 'method_not_allowed'))
})

t.test('1 GET /api/data/:entity: write methods give 501 not implemented', async (t) => {
  const { ask, asked, audit } = await serveRest(t)
  for (const method of ['POST', 'PATCH', 'PUT', 'DELETE'])
    for (const path of ['/api/data/zone', '/api/data/nothing', '/api/data/%zz']) {
      const got = await ask({ method, path, body: '{', as: TOKEN })
      t.match([got.status, got.body], [501, { error: 'not implemented', message: /\w/ }], `${method} ${path}`)
    }
  t.same(asked, [])
  t.ok(audit.records.every(({ reason }) => reason === 'not_implemented'))
})

t.test('methods that an endpoint does not have are 405 with those it has', async (t) => {
  const { ask } = await serveRest(t)
  const rows: [string, string, string][] = [
    ['GET', '/api/token', 'POST'],
    ['GET', '/api/logout', 'POST'],
    ['DELETE', '/api/session_handoff', 'POST'],
    ['POST', '/api/me', 'GET, HEAD'],
    ['POST', '/api/health', 'GET, HEAD'],
    ['PUT', '/api/version', 'GET, HEAD'],
    ['OPTIONS', '/api/data/zone', 'GET, HEAD'],
    ['TRACE', '/api/data/zone', 'GET, HEAD'],
  ]
  for (const [method, path, allow] of rows) {
    const got = await ask({ method, path, as: TOKEN })
    t.same([got.status, got.headers.allow], [405, allow], `${method} ${path}`)
  }
})

t.test('a HEAD is answered like its GET without a body, also if a token is needed', async (t) => {
  const { ask, asked } = await serveRest(t)
  for (const path of ['/api/health', '/api/version', '/api/me', '/api/data/zone']) {
    const got = await ask({ method: 'HEAD', path, as: TOKEN })
    t.same([got.status, got.text], [200, ''], path)
  }
  t.equal((await ask({ method: 'HEAD', path: '/api/data/zone' })).status, 401)
  t.same(asked, [['answerData', 'zone', '']])
})

t.test('1 POST /api/control/:action: an unknown action gives 400 invalid action', async (t) => {
  const { ask, audit } = await serveRest(t)
  for (const action of ['dance', 'Command', 'commands', '__proto__', 'constructor', '%zz', 'command%00', '%2e'])
    for (const as of [TOKEN, 'wrong']) {
      const got = await ask({ method: 'POST', path: `/api/control/${action}`, as, body: '{' })
      t.match([got.status, got.body], [400, { error: 'invalid action', message: /\w/ }], action)
    }
  t.ok(audit.records.every(({ reason, granted }) => reason === 'invalid_action' && !granted))
})

t.test('paths are matched exactly: case-sensitive, without extra slashes, percent-decoded part by part', async (t) => {
  const { ask, asked } = await serveRest(t)
  const nothing = '/api /api/ /api/Health /api/health/ /api//health /api/health/x /api/data /api/data/ /api/data/zone/'
  const more =
    '/api/data/zone/5 /api/control /api/control/ /api/control/command/ /api/token/ /api/./health /api/../health'
  for (const path of `${nothing} ${more} /api/__proto__ /api/constructor /api/%zz`.split(' '))
    for (const method of ['GET', 'POST'])
      t.equal((await ask({ method, path, as: TOKEN })).status, 404, `${method} ${path}`)
  t.same((await ask({ path: '/api/he%61lth' })).body, { ok: true })
  for (const name of ['zo%6ee', 'a%2Fb', '%zz', 'zone%00', 'ZONE', '__proto__', 'z%C3%B6ne'])
    t.equal((await ask({ path: `/api/data/${name}?_limit=5&a=%zz&&`, as: TOKEN })).status, 200)
  t.same(
    asked.map(([, entity, query]) => [entity, query]),
    ['zone', 'a/b', '%zz', 'zone\0', 'ZONE', '__proto__', 'zöne'].map((name) => [name, '_limit=5&a=%zz&&']),
  )
})

t.test('1 Authentication 2: a missing or wrong token gives 401 invalid_session', async (t) => {
  const { ask, asked, audit } = await serveRest(t)
  const calls: Ask[] = [ME, COMMAND, MACRO, DATA, { path: '/api/data/nothing' }]
  for (const call of calls)
    for (const as of [undefined, 'wrong', `${TOKEN}x`, '']) {
      const got = await ask(as === undefined ? call : { ...call, as })
      t.match([got.status, got.body], [401, { error: 'invalid_session', message: /\w/ }], `${call.path} ${as}`)
    }
  t.same(asked, [])
  t.ok(audit.records.every(({ reason, userId }) => reason === 'invalid_session' && userId === null))
})

t.test('1 POST /api/session_handoff: a missing or invalid token gives 401 unauthorized', async (t) => {
  const { ask, audit } = await serveRest(t)
  for (const as of [undefined, 'wrong']) {
    const got = await ask(as === undefined ? HANDOFF : { ...HANDOFF, as })
    t.match([got.status, got.body], [401, { error: 'unauthorized', message: /\w/ }])
  }
  // Coming through the tunnel is not enough.
  t.equal((await ask({ ...HANDOFF, headers: { 'x-tunnel': '1' } })).status, 401)
  t.same(
    audit.records.map(({ reason }) => reason),
    ['unauthorized', 'unauthorized', 'unauthorized'],
  )
})

t.test('1 Session token: both header forms are accepted, and Bearer wins', async (t) => {
  const { ask } = await serveRest(t)
  const rows: [Record<string, string>, number][] = [
    [{ authorization: `Bearer ${TOKEN}` }, 200],
    [{ authorization: `bearer   ${TOKEN} ` }, 200],
    [{ authorization: `BEARER ${TOKEN}` }, 200],
    [{ 'svc-api-token': TOKEN }, 200],
    [{ 'Svc-Api-Token': ` ${TOKEN} ` }, 200],
    [{ authorization: `Bearer ${TOKEN}`, 'svc-api-token': 'wrong' }, 200],
    [{ authorization: 'Bearer wrong', 'svc-api-token': TOKEN }, 401],
    [{ authorization: 'Bearer', 'svc-api-token': TOKEN }, 401],
    [{ authorization: 'Basic YTpi', 'svc-api-token': TOKEN }, 200],
    [{ authorization: '', 'svc-api-token': TOKEN }, 200],
    [{ authorization: TOKEN }, 401],
    [{ authorization: `Token ${TOKEN}` }, 401],
    [{ authorization: `Bearer ${TOKEN}, Bearer x` }, 401],
    [{ 'svc-api-token': '' }, 401],
    [{ 'svc-api-token': `Bearer ${TOKEN}` }, 401],
    [{ 'svc-api-token': TOKEN.repeat(100) }, 401],
    [{ cookie: `token=${TOKEN}; svc-api-token=${TOKEN}; authorization=Bearer ${TOKEN}` }, 401],
    [{ 'x-svc-api-token': TOKEN, svc_api_token: TOKEN }, 401],
  ]
  for (const [headers, status] of rows) t.equal((await ask({ ...ME, headers })).status, status, JSON.stringify(headers))
  t.equal(
    (await ask({ ...ME, headers: { 'svc-api-token': [TOKEN, TOKEN] } })).status,
    401,
    'a repeated header is refused',
  )
  for (const query of [`token=${TOKEN}`, `svc-api-token=${TOKEN}`, `access_token=${TOKEN}`])
    t.equal((await ask({ path: `/api/me?${query}` })).status, 401)
})

t.test('1 Authorization 7: a role without the function gives 403 role_denied', async (t) => {
  const rows: [Ask, 'command' | 'macro' | 'query'][] = [
    [COMMAND, 'command'],
    [MACRO, 'macro'],
    [DATA, 'query'],
  ]
  for (const [call, needed] of rows) {
    const others = (['command', 'macro', 'query'] as const).filter((each) => each !== needed)
    const without = await serveRest(t, { session: sessionOf(others) })
    const refused = await without.ask({ ...call, as: TOKEN })
    t.match([refused.status, refused.body], [403, { error: 'unauthorized', message: /\w/ }], call.path)
    t.same(without.asked, [])
    t.match(without.audit.records, [{ reason: 'role_denied', userId: 7, username: 'ada', granted: false }])
    const only = await serveRest(t, { session: sessionOf([needed]) })
    t.equal((await only.ask({ ...call, as: TOKEN })).status, 200, call.path)
  }
})

t.test('1 POST /api/control/:action: a macro_id on command is gated as a macro', async (t) => {
  const { ask, asked } = await serveRest(t, { session: sessionOf(['macro']) })
  t.equal((await ask({ ...COMMAND, json: { macro_id: 4 }, as: TOKEN })).status, 200)
  t.same(asked, [['command', { macro_id: 4 }]])
})

t.test('1 POST /api/logout: always succeeds, whatever the token and the rest of the call', async (t) => {
  const { ask, asked, audit } = await serveRest(t)
  for (const more of [
    {},
    { as: 'wrong' },
    { as: TOKEN },
    { body: '{' },
    { body: 'x'.repeat(300_000) },
  ] as Partial<Ask>[])
    t.same((await ask({ ...LOGOUT, ...more })).body, { success: true })
  t.same(
    asked.map(([, token]) => token),
    [undefined, 'wrong', TOKEN, undefined, undefined],
  )
  t.same(
    audit.records.map(({ userId }) => userId),
    [null, null, 7, null, null],
  )
  t.ok(audit.records.every(({ granted }) => granted))
})

t.test('1 POST /api/token: failures of the rules are passed on unchanged, with their reason', async (t) => {
  const body = { json: { error: 'invalid_credential', message: 'invalid credential' } }
  const signIn = async () => ({ status: 200, body, reason: 'invalid_credential' as AuditReason })
  const { ask, audit } = await serveRest(t, { rules: { signIn } })
  const got = await ask(LOGIN)
  t.same([got.status, got.body], [200, body.json])
  t.match(audit.records, [{ status: 200, granted: false, reason: 'invalid_credential', userId: null, username: null }])
})

t.test('text that is already JSON is sent unchanged', async (t) => {
  const answerData = () => ({ status: 200, body: { text: '[{"id":1}]' }, reason: null })
  const { ask } = await serveRest(t, { rules: { answerData } })
  t.equal((await ask({ ...DATA, as: TOKEN })).text, '[{"id":1}]')
})
