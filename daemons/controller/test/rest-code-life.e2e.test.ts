/** Mailed codes over time: after a restart, with an unknown clock, and after a change of their lifetime. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD, restRows } from './rest-site-rows.ts'

const signIn = (site: RestSite, username: string, more: object = {}): Promise<Told> =>
  site.post('/api/token', { username, password: PASSWORD, ...more })
const challenged = { status: 200, body: { error: 'two_factor_auth', message: /./, ttl_seconds: 300 } }
const failed = { status: 200, body: { error: '2fa_mismatch', message: 'two factor fail' } }

/** The age of each user's code, and whether it is valid: `null` is unknown, negative is in the future. */
const AGES: Record<string, [ageMs: number | null, isGood: boolean]> = {
  tara: [130_000, true],
  tess: [290_000, true],
  toby: [301_000, false],
  tina: [-60_000, false],
  tilo: [null, false],
}
const base = restRows(0)
const names = Object.keys(AGES)
const user = { password: PASSWORD, roles: ['operator'], sites: ['House'], two_factor_auth: true }
const added = names.slice(1).map((username) => ({ username, ...user, email: `${username}@example.org` }))
const rows = { auth_user: [...(base.auth_user ?? []), ...added] }

/** Writes into the accounts while the daemon is stopped. */
async function setAges(site: RestSite): Promise<void> {
  await site.stop()
  const db = new DatabaseSync(join(site.stateFolder, 'controller.db'))
  const write = db.prepare('UPDATE auth_user SET two_factor_issued_at = ? WHERE username = ?')
  for (const [name, [ageMs]] of Object.entries(AGES)) write.run(ageMs === null ? null : Date.now() - ageMs, name)
  db.close()
  await site.restart()
}

t.test('1 Two-factor code, over time', async (t) => {
  const site = await openRestSite(t, { rows })
  for (const name of names) t.match(await signIn(site, name), challenged)
  const codes = new Map(names.map((name) => [name, site.codeOf(name)]))
  await setAges(site)

  for (const [name, [ageMs, isGood]] of Object.entries(AGES))
    await t.test(
      `1 Two-factor code: after a restart, one of ${ageMs} ms ago is ${isGood ? 'good' : 'none'}`,
      async (t) => {
        const code = codes.get(name)
        t.equal(site.codeOf(name), code, 'a restart makes no new one')
        if (name === 'tara') return
        const answer = await signIn(site, name, { two_factor_token: code })
        t.match(answer, isGood ? { status: 200, body: { token: String } } : failed)
        if (isGood) return
        t.match(await site.recordOf(answer), { reason: '2fa_mismatch', username: name })
        t.match(await signIn(site, name), challenged)
        const fresh = site.codeOf(name)
        t.not(fresh, code, 'the next attempt makes a new one')
        t.match((await signIn(site, name, { two_factor_token: fresh })).body, { token: String })
      },
    )

  await t.test('1 Configuration keys: the life of tokens and codes is the one of the last Apply All', async (t) => {
    const before = await signIn(site, 'olga')
    const setting = [
      { key: 'api_token_life', value: '60000' },
      { key: 'api_2fa_ttl_seconds', value: '120' },
    ]
    await site.stage({ setting })
    t.equal((await signIn(site, 'olga')).body.expires, 3_600_000, 'while it is pending nothing changes')
    t.equal((await site.applyAll()).status, 200)
    t.equal((await signIn(site, 'olga')).body.expires, 60_000)
    t.equal((await site.get('/api/me', before.body.token)).status, 200, 'a token keeps the life that it was given')
    t.match(
      await signIn(site, 'tara', { two_factor_token: codes.get('tara') }),
      failed,
      'a code has the life that is set now',
    )
    t.match((await signIn(site, 'tara')).body, { error: 'two_factor_auth', ttl_seconds: 120 })
  })
})
