/** POST /api/token of the built controller: credentials, second factor and remoteness, in order. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { guessAt, type SignInWay } from '#kit/test/guessing.ts'
import { until } from '#kit/test/until.ts'
import { hashPassword } from '../io/people.ts'
import { noMailServer, startMailServer } from './mail-server.ts'
import { type CallOptions, openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

const FAR = '203.0.113.9'

function signIn(site: RestSite, username: string, more: object = {}, options: CallOptions = {}): Promise<Told> {
  return site.call('POST', '/api/token', { ...options, body: { username, password: PASSWORD, ...more } })
}

/** The body, the status, the envelope, and the reason in the audit. */
type Case = [title: string, body: unknown, status: number, message: string, reason: string]

const refusals: Case[] = [
  ['no fields', {}, 200, 'missing credential', 'missing_credential'],
  ['no body at all', undefined, 200, 'missing credential', 'missing_credential'],
  ['no password', { username: 'olga' }, 200, 'missing credential', 'missing_credential'],
  ['no username', { password: PASSWORD }, 200, 'missing credential', 'missing_credential'],
  ['an empty password', { username: 'olga', password: '' }, 200, 'missing credential', 'missing_credential'],
  ['a password that is a number', { username: 'olga', password: 5 }, 200, 'missing credential', 'missing_credential'],
  ['a list', [], 200, 'missing credential', 'missing_credential'],
  ['a wrong password', { username: 'olga', password: 'x' }, 200, 'invalid credential', 'invalid_credential'],
  ['an unknown user', { username: '__proto__', password: 'x' }, 200, 'invalid credential', 'invalid_credential'],
  ['a disabled account', { username: 'dora', password: PASSWORD }, 200, 'invalid credential', 'invalid_credential'],
  ['a revoked account', { username: 'rita', password: PASSWORD }, 200, 'invalid credential', 'invalid_credential'],
  ['a passed Valid Until', { username: 'vera', password: PASSWORD }, 200, 'invalid credential', 'invalid_credential'],
  ['a Valid From to come', { username: 'frank', password: PASSWORD }, 200, 'invalid credential', 'invalid_credential'],
  ['an account without sites', { username: 'siri', password: PASSWORD }, 200, 'no sites found', 'no_sites'],
  ['an account without roles', { username: 'rolf', password: PASSWORD }, 200, 'invalid roles', 'no_roles'],
  [
    'two-factor without email',
    { username: 'theo', password: PASSWORD },
    200,
    '2FA is enabled but user has no email address',
    '2fa_no_email',
  ],
  [
    'two-factor without email, wrong password',
    { username: 'theo', password: 'x' },
    200,
    'invalid credential',
    'invalid_credential',
  ],
  [
    'a code that was never asked for',
    { username: 'tara', password: PASSWORD, two_factor_token: 'ABC234' },
    200,
    'two factor fail',
    '2fa_mismatch',
  ],
  ['half of a JSON body', '{"username": "olga"', 400, 'malformed body', 'malformed_body'],
  ['a body that is not JSON', 'username=olga', 400, 'malformed body', 'malformed_body'],
]

t.test('1 POST /api/token', async (t) => {
  const site = await openRestSite(t, { sets: ['people.free_tries=1000'] })

  await t.test('1 POST /api/token gives a token of 32 characters, its life in ms, and the sites', async (t) => {
    const told = await signIn(site, 'olga')
    t.match(told, { status: 200, body: { token: /^[\x21-\x7e]{32}$/, expires: 3_600_000 } })
    t.strictSame(told.body.sites, [{ id: 7, name: 'House' }])
    t.strictSame(Object.keys(told.body).sort(), ['expires', 'sites', 'token'])
    const record = await site.recordOf(told)
    t.match(record, { granted: true, reason: null, username: 'olga', method: 'POST', path: '/api/token', status: 200 })
    t.match(record, { request_type: 'rest_api', client_ip: told.from, user_id: 2 })
    t.ok(Number(record.elapsed_ms) >= 0)
    t.not((await signIn(site, 'olga')).body.token, told.body.token)
    t.match((await signIn(site, 'OLGA')).body, { token: String })
  })

  for (const [title, body, status, message, reason] of refusals)
    await t.test(`1 POST /api/token, Errors: ${title} is ${message}, recorded as ${reason}`, async (t) => {
      const told = await site.call('POST', '/api/token', { body })
      t.match(told, { status, body: { error: reason, message } })
      t.notOk('token' in told.body)
      t.match(await site.recordOf(told), { reason, status, granted: false, path: '/api/token' })
    })

  await t.test('1 Limits: a body of 262144 bytes is read, one of 262145 is malformed_body', async (t) => {
    const body = JSON.stringify({ username: 'olga', password: PASSWORD, pad: '' })
    const padded = (bytes: number) => body.replace('"pad":""', `"pad":"${'x'.repeat(bytes - body.length)}"`)
    t.equal(padded(262_144).length, 262_144)
    t.match(await site.call('POST', '/api/token', { body: padded(262_144) }), { status: 200, body: { token: String } })
    const told = await site.call('POST', '/api/token', { body: padded(262_145) })
    t.match(told, { status: 400, body: { message: 'malformed body' } })
    t.match(await site.recordOf(told), { reason: 'malformed_body', status: 400 })
  })

  await t.test('1 Authentication 6 a code is mailed once, and works once, in any case', async (t) => {
    const first = await signIn(site, 'tara')
    t.match(first, { status: 200, body: { error: 'two_factor_auth', message: String, ttl_seconds: 300 } })
    t.match(await site.recordOf(first), { reason: '2fa_required', username: 'tara', granted: false })
    const code = site.codeOf('tara')
    t.match(code, /^[A-HJKMNP-Z2-9]{6}$/)
    const wrong = await signIn(site, 'tara', { two_factor_token: code === 'AAAAAA' ? 'BBBBBB' : 'AAAAAA' })
    t.match(wrong, { status: 200, body: { message: 'two factor fail' } })
    t.match(await site.recordOf(wrong), { reason: '2fa_mismatch', username: 'tara' })
    const right = await signIn(site, 'tara', { two_factor_token: code?.toLowerCase() })
    t.match(right.body, { token: String, expires: Number })
    t.equal(site.codeOf('tara'), null, 'the code is used up')
    t.match((await signIn(site, 'tara', { two_factor_token: code })).body, { message: 'two factor fail' })
    t.match((await site.get('/api/me', right.body.token)).body, { username: 'tara', two_factor_auth: true })
  })

  await t.test('1 Two-factor code: a mailed one survives a restart', async (t) => {
    t.match((await signIn(site, 'tara')).body, { error: 'two_factor_auth' })
    const code = site.codeOf('tara')
    await site.restart()
    t.equal(site.codeOf('tara'), code)
    t.match((await signIn(site, 'tara', { two_factor_token: code })).body, { token: String })
  })

  await t.test('1 POST /api/token, Order: remote after the password, before the code', async (t) => {
    const wrong = await site.call('POST', '/api/token', { from: FAR, body: { username: 'lars', password: 'x' } })
    t.match(wrong.body, { message: 'invalid credential' })
    t.match((await signIn(site, 'lars')).body, { error: 'two_factor_auth' })
    const code = site.codeOf('lars')
    const denied = await signIn(site, 'lars', { two_factor_token: code }, { from: '203.0.113.10' })
    t.match(denied, { status: 200, body: { error: 'remote_denied', message: 'remote access not permitted' } })
    t.match(await site.recordOf(denied), { reason: 'remote_denied', client_ip: '203.0.113.10', username: 'lars' })
    t.equal(site.codeOf('lars'), code, 'it consumed no code')
    t.match((await signIn(site, 'lars', { two_factor_token: code })).body, { token: String })
  })

  await t.test('1 Audit record: the chain is read from the right, and only what a proxy adds counts', async (t) => {
    t.match((await signIn(site, 'lena', {}, { from: '203.0.113.11' })).body, { message: 'remote access not permitted' })
    t.match((await signIn(site, 'lena', {}, { from: '203.0.113.12, 10.66.0.1' })).body, { token: String })
    t.match((await signIn(site, 'lena', {}, { from: '10.66.0.1, 203.0.113.13' })).body, { error: 'remote_denied' })
    t.match((await signIn(site, 'lena', {}, { from: 'nonsense' })).body, { token: String })
    t.match((await signIn(site, 'mixed', {}, { from: '203.0.113.14' })).body, { token: String }, 'one role allows it')
  })

  await t.test('1 Audit record: an x-forwarded-for from a peer that is not a trusted proxy is ignored', async (t) => {
    const headers = { 'x-forwarded-for': FAR }
    const body = JSON.stringify({ username: 'lena', password: PASSWORD })
    const options = { method: 'POST', headers, localAddress: '127.0.0.2' }
    const asked = request(`${site.url()}/api/token`, options).end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    t.match(JSON.parse(await text(answer)), { token: String })
    const told = { status: 200, headers: new Headers(), body: undefined, from: '127.0.0.2' }
    t.match(await site.recordOf(told), { granted: true, username: 'lena', client_ip: '127.0.0.2' })
  })

  await t.test('1 Authentication 5 a call through the tunnel is remote, whatever origin it claims', async (t) => {
    const headers = { 'svc-cloud-tunnel': '1' }
    t.match((await signIn(site, 'lena', {}, { headers })).body, { error: 'remote_denied' })
  })
})

t.test('1 POST /api/token: a guesser locks nobody out', async (t) => {
  const bounds = ['people.free_tries=5', 'people.wait_ms=250', 'people.wait_max_ms=1000', 'http.max_connections=400']
  // The hash is one of the product: how long it takes is what a guesser makes others wait for.
  const olga = { username: 'olga', roles: ['operator'], sites: ['House'], ...(await hashPassword(PASSWORD)) }
  const site = await openRestSite(t, { sets: bounds, rows: { auth_user: [olga] } })
  const way: SignInWay = {
    url: site.url(),
    password: PASSWORD,
    shown: (password) => ({
      method: 'POST',
      path: '/api/token',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'olga', password }),
    }),
    isIn: (status, body) => status === 200 && body.includes('"token"'),
  }
  await guessAt(t, way, async () => {
    await site.restart()
    return site.url()
  })
})

t.test('1 Configuration keys: the life of tokens and codes, and the letter', { skip: noMailServer }, async (t) => {
  const { port, taken, finish } = await startMailServer(t)
  const sets = ['smtp.host=127.0.0.1', `smtp.port=${port}`, 'smtp.from=house@example.org', 'people.mail_again_ms=1000']
  const setting = [
    { key: 'api_token_life', value: '2500' },
    { key: 'api_2fa_ttl_seconds', value: '2' },
  ]
  const site = await openRestSite(t, { sets, rows: { setting } })
  const brief = await signIn(site, 'olga')
  t.equal(brief.body.expires, 2500)
  t.equal((await site.get('/api/me', brief.body.token)).status, 200)
  t.match((await signIn(site, 'tara')).body, { error: 'two_factor_auth', ttl_seconds: 2 })
  const code = site.codeOf('tara')
  await new Promise((resolve) => setTimeout(resolve, 2600))
  const late = await signIn(site, 'tara', { two_factor_token: code })
  t.match(late.body, { message: 'two factor fail' })
  t.match(await site.recordOf(late), { reason: '2fa_mismatch' })
  const expired = await site.get('/api/me', brief.body.token)
  t.match(expired, { status: 401, body: { error: 'invalid_session' } })
  t.match(await site.recordOf(expired), { reason: 'invalid_session' })
  t.match((await signIn(site, 'tara')).body, { error: 'two_factor_auth' })
  const fresh = site.codeOf('tara')
  t.not(fresh, code)
  t.match((await signIn(site, 'tara', { two_factor_token: fresh })).body, { token: String })
  await until('both letters have come', () => taken.length >= 2)
  await site.stop()
  await finish()
  t.strictSame(
    taken.map(({ to }) => to),
    [['tara@example.org'], ['tara@example.org']],
  )
  for (const [at, sent] of [code, fresh].entries()) t.ok(taken[at]?.content?.includes(String(sent)))
})
