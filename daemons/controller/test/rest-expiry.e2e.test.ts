/** What expires in the built controller: a token by its age, a mailed code by misses. */
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { noMailServer, startMailServer } from './mail-server.ts'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

const signIn = (site: RestSite, username: string, more: object = {}): Promise<Told> =>
  site.post('/api/token', { username, password: PASSWORD, ...more })

t.test('1 Session token: its life counts from its issue, not from its last use', async (t) => {
  const site = await openRestSite(t, { rows: { setting: [{ key: 'api_token_life', value: '1500' }] } })
  const beganMs = performance.now()
  const token = await site.tokenOf('olga')
  await until('the token has ended, though it is used', async () => (await site.get('/api/me', token)).status !== 200)
  t.ok(performance.now() - beganMs >= 1500, 'it is good until then')
})

t.test('1 Authentication 4 a token ends with the Valid Until of its account, and not before', async (t) => {
  const site = await openRestSite(t)
  const token = await site.tokenOf('olga')
  const endsAt = Date.now() + 3000
  await site.stage({ auth_user: [{ username: 'olga', valid_until: endsAt }] })
  await site.applyAll()
  let told = await site.get('/api/me', token)
  await until('the token has ended', async () => {
    told = await site.get('/api/me', token)
    return told.status !== 200
  })
  t.ok(Date.now() >= endsAt, 'it is good until then')
  t.match(told, { status: 401, body: { error: 'invalid_session' } })
  t.match(await site.recordOf(told), { reason: 'invalid_session', user_id: null })
  t.match((await signIn(site, 'olga')).body, { message: 'invalid credential' })
  await site.stage({ auth_user: [{ username: 'olga', valid_until: null }] })
  await site.applyAll()
  t.equal((await site.get('/api/me', token)).status, 401, 'it was dropped for good')
  t.match((await signIn(site, 'olga')).body, { token: String })
})

t.test('a mailed code: five misses void it, and asking again mails nothing new', { skip: noMailServer }, async (t) => {
  const { port, finish } = await startMailServer(t)
  const site = await openRestSite(t, {
    sets: ['smtp.host=127.0.0.1', `smtp.port=${port}`, 'smtp.from=house@example.org'],
  })
  t.match((await signIn(site, 'tara')).body, { error: 'two_factor_auth' })
  const code = site.codeOf('tara')
  for (let asked = 0; asked < 3; asked++) t.match((await signIn(site, 'tara')).body, { error: 'two_factor_auth' })
  t.equal(site.codeOf('tara'), code, 'the challenge still stands for the code already mailed')
  for (let miss = 1; miss <= 5; miss++) {
    t.equal(site.codeOf('tara'), code)
    t.match((await signIn(site, 'tara', { two_factor_token: 'nocode' })).body, { message: 'two factor fail' })
  }
  t.equal(site.codeOf('tara'), null)
  t.match((await signIn(site, 'tara', { two_factor_token: code })).body, { message: 'two factor fail' })
  t.match((await signIn(site, 'tara')).body, { error: 'two_factor_auth' })
  t.equal(site.codeOf('tara'), null, 'five guesses cause no new letter')
  await site.stop()
  t.equal((await finish()).length, 1)
})
