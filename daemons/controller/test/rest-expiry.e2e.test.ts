/** What ends of the built controller by itself: a token by its age, a mailed code by misses. */
import t from 'tap'
import { noMailServer, startMailServer } from './mail-server.ts'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

const signIn = (site: RestSite, username: string, more: object = {}): Promise<Told> =>
  site.post('/api/token', { username, password: PASSWORD, ...more })

t.test('1 Session token: its life is from its issue, not from its last use', async (t) => {
  const site = await openRestSite(t, { rows: { setting: [{ key: 'api_token_life', value: '1500' }] } })
  const beganMs = performance.now()
  const token = await site.tokenOf('olga')
  for (;;) {
    const { status } = await site.get('/api/me', token)
    if (status !== 200 || performance.now() - beganMs > 20_000) break
  }
  const tookMs = performance.now() - beganMs
  t.ok(tookMs >= 1500 && tookMs < 20_000, `it was used all the time, and ended after ${Math.round(tookMs)} ms`)
})

t.test('a mailed code: five misses void it, and asking again mails nothing new', { skip: noMailServer }, async (t) => {
  const { port, finish } = await startMailServer(t)
  const site = await openRestSite(t, {
    sets: ['smtp.host=127.0.0.1', `smtp.port=${port}`, 'smtp.from=house@example.org'],
  })
  t.match((await signIn(site, 'tara')).body, { error: 'two_factor_auth' })
  const code = site.codeOf('tara')
  for (let asked = 0; asked < 3; asked++) t.match((await signIn(site, 'tara')).body, { error: 'two_factor_auth' })
  t.equal(site.codeOf('tara'), code, 'it is challenged again with the code that is on its way')
  for (let miss = 1; miss <= 5; miss++) {
    t.equal(site.codeOf('tara'), code)
    t.match((await signIn(site, 'tara', { two_factor_token: 'nocode' })).body, { message: 'two factor fail' })
  }
  t.equal(site.codeOf('tara'), null)
  t.match((await signIn(site, 'tara', { two_factor_token: code })).body, { message: 'two factor fail' })
  t.match((await signIn(site, 'tara')).body, { error: 'two_factor_auth' })
  const fresh = site.codeOf('tara')
  t.match((await signIn(site, 'tara', { two_factor_token: fresh })).body, { token: String })
  await site.stop()
  t.equal((await finish()).length, 2)
})
