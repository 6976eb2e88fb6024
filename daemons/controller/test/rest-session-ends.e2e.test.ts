/** A token of the built controller while its account changes. */
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD, restRows } from './rest-site-rows.ts'

type Rows = Record<string, unknown>[]

const refused = { status: 401, body: { error: 'invalid_session' } }

/** The users of the site except one. */
const usersBut = (username: string): Rows =>
  (restRows(1).auth_user as Rows).filter((user) => user.username !== username)

const apply = async (t: Test, site: RestSite, document: Record<string, unknown[]>): Promise<void> => {
  await site.stage(document)
  t.match(await site.applyAll(), { status: 200, body: { applied: Number } })
}

/** Everything that the device received, up to a last command that goes the same way. */
async function heardBy(site: RestSite, device_id: number): Promise<string[]> {
  await site.post('/api/control/command', { device_id, command: 'last' }, await site.tokenOf('ada'))
  await until('the last line has come', () => site.lines.some((line) => line.includes(' last ')))
  return site.lines
}

const user = (columns: object) => ({ auth_user: [{ username: 'olga', ...columns }] })

/** For both tests, in this order. */
const site = await openRestSite(t)

t.test('1 Authentication 3 the user is resolved again on every request', async (t) => {
  const status = async (told: Promise<Told>) => (await told).status

  await t.test('1 Authentication 3 elevation that is granted or withdrawn counts from Apply All on', async (t) => {
    const token = await site.tokenOf('olga')
    const table = () => site.get('/api/data/auth_role', token)
    const boiler = () => site.post('/api/control/command', { device_id: 3, command: 'on' }, token)
    const role = (elevated: boolean) => ({ auth_role: [{ name: 'operator', elevated }] })
    t.match(await table(), { status: 403 })
    await site.stage(role(true))
    t.match(await table(), { status: 403 }, 'while it is pending nothing changes')
    await site.applyAll()
    t.equal(await status(table()), 200)
    t.match(await boiler(), { status: 200, body: { success: true } })
    await apply(t, site, role(false))
    const told = await table()
    t.match(told, { status: 403, body: { error: 'unauthorized' } })
    t.match(await site.recordOf(told), { reason: 'elevated_table', username: 'olga' })
    const refusal = await boiler()
    t.match(refusal, { status: 403, body: { error: 'unauthorized' } })
    t.match(await site.recordOf(refusal), { reason: 'elevation_denied', username: 'olga' })
    t.strictSame(await heardBy(site, 3), ['D3 on {}', 'D3 last {}'], 'the driver was not reached again')
  })

  await t.test('1 Authentication 3 a function that is denied, and allowed again', async (t) => {
    const token = await site.tokenOf('nora')
    const command = () => site.post('/api/control/command', { zone_id: 4, level: 10 }, token)
    const rules = (text: string) => ({ auth_role: [{ name: 'no-macro', rules: `${text}\nallow ui Whole` }] })
    t.equal(await status(command()), 200)
    await apply(t, site, rules('allow api *\ndeny api command, macro'))
    const told = await command()
    t.match(told, { status: 403, body: { error: 'unauthorized' } })
    t.match(await site.recordOf(told), { reason: 'role_denied', username: 'nora' })
    await apply(t, site, rules('allow api *'))
    t.equal(await status(command()), 200)
  })

  await t.test('1 Authentication 3 a scope that shrinks', async (t) => {
    const token = await site.tokenOf('mixed')
    const hall = () => site.post('/api/control/command', { zone_id: 4, level: 10 }, token)
    t.equal(await status(hall()), 200)
    await apply(t, site, {
      auth_role: [
        { name: 'local', rules: 'allow api *' },
        { name: 'operator', rules: 'allow api *' },
      ],
    })
    const told = await hall()
    t.match(told, { status: 403, body: { error: 'unauthorized' } })
    t.match(await site.recordOf(told), { reason: 'scope_denied', username: 'mixed' })
  })

  await t.test('1 Authentication 3 roles and sites that are changed', async (t) => {
    const token = await site.tokenOf('quinn')
    const me = () => site.get('/api/me', token)
    t.match((await me()).body, { roles: ['query-only'], sites: [{ id: 7 }] })
    const document = {
      site: [{ id: 8, name: 'Annex' }],
      auth_user: [{ username: 'quinn', roles: ['no-command'], sites: ['House', 'Annex'] }],
    }
    await site.stage(document)
    t.match((await me()).body, { roles: ['query-only'], sites: [{ id: 7 }] }, 'while they are pending')
    await site.applyAll()
    t.strictSame((await me()).body.roles, ['no-command'])
    t.strictSame((await me()).body.sites, [{ id: 7 }, { id: 8 }])
  })

  await t.test('1 Authentication 5 switching Allow Remote off drops the token of a remote user', async (t) => {
    const token = await site.tokenOf('omar')
    const me = (from: string) => site.call('GET', '/api/me', { token, from })
    t.equal((await me('203.0.113.50')).status, 200)
    await apply(t, site, { auth_role: [{ name: 'open', allow_remote: false }] })
    const told = await me('203.0.113.51')
    t.match(told, refused)
    t.match(await site.recordOf(told), { reason: 'invalid_session', user_id: null })
    t.match(await me('10.65.0.1'), refused, 'it is dropped for good')
  })
})

t.test('1 Session token, next request: the account', async (t) => {
  site.lines.length = 0
  const me = (token: string): Promise<Told> => site.get('/api/me', token)

  await t.test('1 Authentication 4 a deleted account loses its token, and no other account does', async (t) => {
    const [quinn, nora] = [await site.tokenOf('quinn'), await site.tokenOf('nora')]
    await site.stage({ auth_user: usersBut('quinn') }, 'replace')
    t.match(await me(quinn), refused, 'it does not wait for Apply All')
    t.match(await site.applyAll(), { status: 200, body: { applied: Number } })
    const told = await me(quinn)
    t.match(told, refused)
    t.match(await site.recordOf(told), { reason: 'invalid_session', status: 401, granted: false, user_id: null })
    const handoff = await site.post('/api/session_handoff', {}, quinn)
    t.match(handoff, { status: 401, body: { error: 'unauthorized' } }, 'an account that no longer exists')
    t.match(await site.recordOf(handoff), { reason: 'unauthorized' })
    t.equal((await me(nora)).status, 200)
    const credentials = { username: 'quinn', password: PASSWORD }
    t.match((await site.post('/api/token', credentials)).body, { message: 'invalid credential' })
  })

  await t.test('1 Authentication 4 a new account of the same name does not inherit the token', async (t) => {
    const mark = await site.tokenOf('mark')
    await site.stage({ auth_user: usersBut('mark').filter(({ username }) => username !== 'quinn') }, 'replace')
    await site.applyAll()
    const again = (restRows(1).auth_user as Rows).filter(({ username }) => username === 'mark')
    await apply(t, site, { auth_user: again })
    t.match(await me(mark), refused)
    t.equal((await me(await site.tokenOf('mark'))).status, 200)
  })

  for (const [what, ended, mended] of [
    ['disabled', { enabled: false }, { enabled: true }],
    ['revoked', { revoked_at: Date.now() - 1000 }, { revoked_at: null }],
    ['past its Valid Until', { valid_until: Date.now() - 1000 }, { valid_until: null }],
    ['before its Valid From', { valid_from: Date.now() + 86_400_000 }, { valid_from: null }],
  ] as const)
    await t.test(`1 Session token, active -> dropped: of an account that is ${what}, for good`, async (t) => {
      const [asked, unasked] = [await site.tokenOf('olga'), await site.tokenOf('olga')]
      await apply(t, site, user(ended))
      const told = await me(asked)
      t.match(told, refused)
      t.match(await site.recordOf(told), { reason: 'invalid_session', status: 401, granted: false })
      const command = await site.post('/api/control/command', { zone_id: 1, command: 'on' }, asked)
      t.match(command, refused)
      await apply(t, site, user(mended))
      t.match(await me(asked), refused, 'a token that was refused does not come back')
      t.match(await me(unasked), refused, 'nor does one that was not used meanwhile')
      t.equal((await me(await site.tokenOf('olga'))).status, 200)
    })

  await t.test('1 Session token, dropped: no driver is reached with a dropped token', async (t) => {
    t.strictSame(await heardBy(site, 2), ['D2 last {}'])
  })

  await t.test('1 Session token, active -> dropped: the session of the page ends with it', async (t) => {
    const page = { origin: site.url(), 'content-type': 'application/json' }
    const body = { username: 'omar', password: PASSWORD }
    const signedIn = await site.call('POST', '/ui/sign-in', { body, headers: page })
    const headers = { cookie: signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
    t.equal((await site.call('GET', '/ui/me', { headers })).status, 200)
    await apply(t, site, { auth_user: [{ username: 'omar', enabled: false }] })
    await apply(t, site, { auth_user: [{ username: 'omar', enabled: true }] })
    t.equal((await site.call('GET', '/ui/me', { headers })).status, 401)
  })
})
