/** How long what POST /api/token of the built controller gives lives: tokens, and codes over restarts and misses. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { noMailServer, startMailServer } from './mail-server.ts'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

const signIn = (site: RestSite, username: string, more: object = {}): Promise<Told> =>
  site.post('/api/token', { username, password: PASSWORD, ...more })
const challenged = { status: 200, body: { error: 'two_factor_auth', message: /./, ttl_seconds: 300 } }
const failed = { status: 200, body: { error: '2fa_mismatch', message: 'two factor fail' } }

/** Writes into the account while nothing runs. */
async function issuedAt(site: RestSite, username: string, at: number | null): Promise<void> {
  await site.stop()
  const db = new DatabaseSync(join(site.stateFolder, 'controller.db'))
  db.prepare('UPDATE auth_user SET two_factor_issued_at = ? WHERE username = ?').run(at, username)
  db.close()
  await site.restart()
}

t.test('1 Two-factor code and Session token, over time', async (t) => {
  const site = await openRestSite(t)

  await t.test('1 Two-factor code: its clock goes on over a restart, and one without a clock is expired', async (t) => {
    t.match(await signIn(site, 'tara'), challenged)
    for (const [ageMs, isGood] of [
      [290_000, true],
      [301_000, false],
      [-60_000, false],
      [null, false],
    ] as const) {
      if (site.codeOf('tara') === null) await signIn(site, 'tara')
      const code = site.codeOf('tara')
      await issuedAt(site, 'tara', ageMs === null ? null : Date.now() - ageMs)
      t.equal(site.codeOf('tara'), code, 'a restart makes no other')
      const answer = await signIn(site, 'tara', { two_factor_token: code })
      t.match(answer, isGood ? { status: 200, body: { token: String } } : failed, `${ageMs} ms ago`)
      if (isGood) continue
      t.match(await site.recordOf(answer), { reason: '2fa_mismatch', username: 'tara' })
      t.match(await signIn(site, 'tara'), challenged)
      const fresh = site.codeOf('tara')
      t.not(fresh, code, 'the next attempt makes a fresh one')
      t.match((await signIn(site, 'tara', { two_factor_token: fresh })).body, { token: String })
    }
  })

  await t.test('1 Configuration keys: the life of tokens and codes is that of the last Apply All', async (t) => {
    const before = await signIn(site, 'olga')
    await site.stage({
      setting: [
        { key: 'api_token_life', value: '60000' },
        { key: 'api_2fa_ttl_seconds', value: '120' },
      ],
    })
    t.equal((await signIn(site, 'olga')).body.expires, 3_600_000, 'while it waits nothing is changed')
    t.equal((await site.applyAll()).status, 200)
    t.equal((await signIn(site, 'olga')).body.expires, 60_000)
    t.equal((await site.get('/api/me', before.body.token)).status, 200)
    t.match((await signIn(site, 'tara')).body, { ttl_seconds: 120 })
    const code = site.codeOf('tara')
    await issuedAt(site, 'tara', Date.now() - 121_000)
    t.match(await signIn(site, 'tara', { two_factor_token: code }), failed)
  })
})

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
