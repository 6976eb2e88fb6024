/** Mailed codes of the built controller: how many are sent, and what is reported about one that failed. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { noMailServer, startMailServer } from './mail-server.ts'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'
import { openTimedSite } from './timed-site.ts'

const signIn = (site: RestSite, code?: string): Promise<Told> =>
  site.post('/api/token', { username: 'tara', password: PASSWORD, two_factor_token: code })

const challenged = { status: 200, body: { error: 'two_factor_auth', ttl_seconds: 300 } }
const failed = { status: 200, body: { message: 'two factor fail' } }

t.test('a code voided by misses is followed by another after 30 s', { skip: noMailServer }, async (t) => {
  const { port, taken, finish } = await startMailServer(t)
  const sets = ['smtp.host=127.0.0.1', `smtp.port=${port}`, 'smtp.from=house@example.org']
  const { site, clock } = await openTimedSite(t, { sets })
  t.match(await signIn(site), challenged)
  const code = String(site.codeOf('tara'))
  await until('it is mailed', () => taken.length === 1)
  for (let miss = 0; miss < 5; miss++) t.match(await signIn(site, 'NOCODE'), failed)
  t.match(await signIn(site, code), failed)
  for (let again = 0; again < 3; again++) {
    const told = await signIn(site)
    t.match(told, { ...challenged, body: { message: /void/ } })
    t.match(await site.recordOf(told), { reason: '2fa_required', username: 'tara', granted: false })
    t.equal(site.codeOf('tara'), null, 'there is no second one')
  }
  clock.pass(30_000)
  t.match(await signIn(site), { ...challenged, body: { message: /was mailed/ } })
  const fresh = String(site.codeOf('tara'))
  t.match((await signIn(site, fresh)).body, { token: String })
  await until('it is mailed', () => taken.length === 2)
  await site.stop()
  const letters = await finish()
  t.equal(letters.length, 2)
  for (const [at, sent] of [code, fresh].entries()) t.ok(letters[at]?.content?.includes(sent))
})

t.test('1 Audit record: one row per call, also if the code could not be mailed', async (t) => {
  const site = await openRestSite(t)
  const told = await signIn(site)
  t.match(told, challenged)
  const file = join(site.stateFolder, 'journal.jsonl')
  const journal = () => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  await until('the failed mail is reported', () => journal().includes('could not be mailed'))
  t.match(JSON.parse(journal().trim().split('\n').at(-1) ?? ''), {
    ...{ who: 'plantroom', from: told.from, what: 'a code could not be mailed', target: /^user \d+ tara$/ },
    ...{ detail: { code: 'mail_not_set_up' }, kind: 'sign-in' },
  })
  await until('the log says so', () => /mail_failed/.test(site.output()))
  t.notOk(journal().includes(String(site.codeOf('tara'))))
  const { body } = await site.get(`/api/data/request_history?client_ip=${told.from}`, await site.tokenOf('ada'))
  t.match(body, [{ reason: '2fa_required', status: 200, username: 'tara', path: '/api/token' }])
  t.equal(body.length, 1)
})
