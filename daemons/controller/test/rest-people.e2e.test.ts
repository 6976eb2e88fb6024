/** Accounts and tokens of the built controller: forms of headers, changed and removed accounts, the handoff. */
import t from 'tap'
import { type RawAnswer, rawCall, recordsOf } from './raw-call.ts'
import { openRestSite } from './rest-site.ts'
import { PASSWORD, restRows } from './rest-site-rows.ts'

const base = restRows(0)
const rows = {
  site: [...(base.site ?? []), { id: 8, name: 'Annex' }],
  auth_role: [...(base.auth_role ?? []), { name: 'chief', elevated: true, rules: 'allow api *' }],
  auth_user: [...(base.auth_user ?? []), { username: 'eve', password: PASSWORD, roles: ['chief'], sites: ['House'] }],
}

type Headers = Record<string, string | string[]>

/** Headers of a call in which `token` is valid. @source document 1, Session token; Authentication 2 */
const forms: [title: string, headers: (token: string) => Headers, status: number][] = [
  ['Bearer', (token) => ({ authorization: `Bearer ${token}` }), 200],
  ['Bearer in capitals', (token) => ({ AUTHORIZATION: `BEARER ${token}` }), 200],
  ['Bearer and blanks', (token) => ({ authorization: `  Bearer \t ${token}  ` }), 200],
  ['svc-api-token', (token) => ({ 'svc-api-token': token }), 200],
  ['svc-api-token and blanks', (token) => ({ 'Svc-Api-Token': `  ${token}  ` }), 200],
  ['both', (token) => ({ authorization: `Bearer ${token}`, 'svc-api-token': token }), 200],
  ['Bearer wins', (token) => ({ authorization: `Bearer ${token}`, 'svc-api-token': 'x' }), 200],
  ['Bearer wins, even if it is invalid', (token) => ({ authorization: 'Bearer x', 'svc-api-token': token }), 401],
  ['Bearer without a token wins', (token) => ({ authorization: 'Bearer', 'svc-api-token': token }), 401],
  ['another scheme says nothing', (token) => ({ authorization: 'Basic eDp5', 'svc-api-token': token }), 200],
  ['an empty Authorization says nothing', (token) => ({ authorization: '', 'svc-api-token': token }), 200],
  ['Authorization without a scheme', (token) => ({ authorization: token }), 401],
  ['Bearer without a blank', (token) => ({ authorization: `Bearer${token}` }), 401],
  ['Bearer with a colon', (token) => ({ authorization: `Bearer: ${token}` }), 401],
  ['Token', (token) => ({ authorization: `Token ${token}` }), 401],
  ['Basic', (token) => ({ authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` }), 401],
  ['in quotes', (token) => ({ authorization: `Bearer "${token}"` }), 401],
  ['with something behind', (token) => ({ authorization: `Bearer ${token} x` }), 401],
  ['Bearer in svc-api-token', (token) => ({ 'svc-api-token': `Bearer ${token}` }), 401],
  ['one letter less', (token) => ({ 'svc-api-token': token.slice(1) }), 401],
  ['one letter more', (token) => ({ 'svc-api-token': `${token}x` }), 401],
  ['in other capitals', (token) => ({ 'svc-api-token': swapped(token) }), 401],
  ['svc-api-token twice', (token) => ({ 'svc-api-token': [token, token] }), 401],
  ['4000 letters', () => ({ authorization: `Bearer ${'x'.repeat(4000)}` }), 401],
  ['other headers', (token) => ({ 'x-api-token': token, 'api-token': token, cookie: `svc-api-token=${token}` }), 401],
]

function swapped(token: string): string {
  const other = token.toLowerCase()
  return other === token ? token.toUpperCase() : other
}

t.test('1 Authentication', async (t) => {
  const site = await openRestSite(t, { rows })
  const me = (headers: Headers): Promise<RawAnswer> => rawCall(site, 'GET', '/api/me', { headers })
  const my = (token: string) => site.get('/api/me', token)

  await t.test('1 Authentication 2 every form of the header', async (t) => {
    const token = await site.tokenOf('olga')
    const told: [string, RawAnswer, number][] = []
    for (const [title, headers, status] of forms) {
      const answer = await me(headers(token))
      if (status === 200) t.match(answer, { status, body: { username: 'olga' } }, title)
      else t.match([answer.status, answer.body], [401, { error: 'invalid_session' }], title)
      told.push([title, answer, status])
    }
    const twice = await me({ authorization: [`Bearer ${token}`, `Bearer ${token}`] })
    t.equal(twice.status, 400, 'Authorization twice is ambiguous')
    const answers = told.map(([, answer]) => answer)
    const records = await recordsOf(site, [...answers, twice], await site.tokenOf('ada'))
    for (const [title, { from }, status] of told)
      t.match(records.get(from), status === 200 ? { username: 'olga', reason: null, granted: true } : REFUSED, title)
    t.match(records.get(twice.from), { status: 400, granted: false, path: '/api/me' })
  })

  await t.test(
    '1 Authentication 3 sites and elevation are those of the last Apply All, also for existing tokens',
    async (t) => {
      const eve = await site.tokenOf('eve')
      t.match((await my(eve)).body, { roles: ['chief'], sites: [{ id: 7 }] })
      t.equal((await site.get('/api/data/auth_user', eve)).status, 200)
      await site.stage({
        auth_role: [{ name: 'chief', elevated: false }],
        auth_user: [{ username: 'eve', roles: ['chief', 'operator'], sites: ['Annex'] }],
      })
      t.match((await my(eve)).body, { roles: ['chief'], sites: [{ id: 7 }] }, 'while it is pending nothing changes')
      await site.applyAll()
      t.strictSame((await my(eve)).body.sites, [{ id: 8 }])
      t.strictSame((await my(eve)).body.roles, ['chief', 'operator'])
      const read = await site.get('/api/data/auth_user', eve)
      t.match(read, { status: 403, body: { error: 'unauthorized' } })
      t.match(await site.recordOf(read), { reason: 'elevated_table' })
      const boiler = await site.post('/api/control/command', { device_id: 3, command: 'on' }, eve)
      t.match(await site.recordOf(boiler), { status: 403, reason: 'elevation_denied' })
    },
  )

  await t.test(
    '1 Authentication 4 a change that closes an account does not wait for Apply All, roles do',
    async (t) => {
      const tokens = new Map<string, string>()
      for (const name of ['quinn', 'mark', 'lena', 'mixed']) tokens.set(name, await site.tokenOf(name))
      const [passed, toCome] = [Date.now() - 1000, Date.now() + 600_000]
      await site.stage({
        auth_user: [
          { username: 'quinn', enabled: false },
          { username: 'mark', revoked_at: passed },
          { username: 'lena', valid_until: passed },
          { username: 'mixed', valid_until: toCome, roles: ['nothing'] },
        ],
      })
      for (const name of ['quinn', 'mark', 'lena']) {
        const told = await my(tokens.get(name) ?? '')
        t.match([told.status, told.body], [401, { error: 'invalid_session' }], name)
        t.match(await site.recordOf(told), REFUSED)
        const signIn = await site.post('/api/token', { username: name, password: PASSWORD })
        t.match(signIn.body, { message: 'invalid credential' }, name)
      }
      const mixed = tokens.get('mixed') ?? ''
      t.match(await my(mixed), { status: 200, body: { roles: ['local', 'operator'] } })
      await site.applyAll()
      t.match(await my(mixed), { status: 200, body: { roles: ['nothing'] } })
      t.equal((await my(tokens.get('quinn') ?? '')).status, 401)
      await site.stage({ auth_user: [{ username: 'quinn', enabled: true }] })
      t.match(
        (await site.post('/api/token', { username: 'quinn', password: PASSWORD })).body,
        { error: /./ },
        'opening waits',
      )
      await site.applyAll()
      t.match((await site.post('/api/token', { username: 'quinn', password: PASSWORD })).body, { token: /./ })
    },
  )

  await t.test('1 Handoff nonce: one of an account disabled since then is refused, and used up', async (t) => {
    const token = await site.tokenOf('omar')
    const handoff = () => site.post('/api/session_handoff', {}, token)
    const nonces = [(await handoff()).body.nonce, (await handoff()).body.nonce]
    t.not(nonces[0], nonces[1])
    const redeem = (nonce: string) => site.call('POST', '/ui/handoff', { headers: { cookie: `svc_handoff=${nonce}` } })
    await site.stage({ auth_user: [{ username: 'omar', enabled: false }] })
    await site.applyAll()
    t.equal((await redeem(nonces[0])).status, 401)
    const gone = await handoff()
    t.match([gone.status, gone.body], [401, { error: 'unauthorized' }])
    t.match(await site.recordOf(gone), { reason: 'unauthorized', user_id: null, granted: false })
    await site.stage({ auth_user: [{ username: 'omar', enabled: true }] })
    await site.applyAll()
    t.equal((await redeem(nonces[0])).status, 401, 'the first is used up')
    t.equal((await redeem(nonces[1])).status, 200, 'the other is not')
  })

  await t.test('1 Authentication 4 a deleted account loses its tokens', async (t) => {
    const [nora, olga] = [await site.tokenOf('nora'), await site.tokenOf('olga')]
    const kept = ['ada', 'olga'].map((username) => ({ username, sites: ['House'], roles: [ROLES[username]] }))
    await site.stage({ auth_user: kept }, 'replace')
    t.equal((await my(nora)).status, 401, 'it does not wait for Apply All')
    t.match(await site.applyAll(), { status: 200 })
    const told = await my(nora)
    t.match([told.status, told.body], [401, { error: 'invalid_session' }])
    t.match(await site.recordOf(told), REFUSED)
    t.equal((await my(olga)).status, 200)
    const { body } = await site.post('/api/token', { username: 'nora', password: PASSWORD })
    t.match(body, { message: 'invalid credential' })
  })
})

const REFUSED = { reason: 'invalid_session', status: 401, granted: false, user_id: null, username: null }
const ROLES: Record<string, string> = { ada: 'elevated', olga: 'operator' }
