/** The audit of the built controller: all reasons of document 1, and what a record contains and does not. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type CallOptions, openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

/** The caller, by the user of the token; `nobody` has none. */
type Call = [reason: string, who: string, method: string, path: string, options?: CallOptions]

const credentials = (username: string, more = {}) => ({ body: { username, password: PASSWORD, ...more } })
const TOKEN = '/api/token'
const COMMAND = '/api/control/command'
const on = (zone_id: number) => ({ body: { zone_id, command: 'on' } })
const PAIR = encodeURIComponent('[["name","n"]]')

/** @source document 1, Audit denial reasons: all of them, in its order */
const calls: Call[] = [
  ['malformed_body', 'nobody', 'POST', TOKEN, { body: '{"username":' }],
  ['missing_credential', 'nobody', 'POST', TOKEN, { body: { username: 'olga' } }],
  ['invalid_credential', 'nobody', 'POST', TOKEN, { body: { username: 'olga', password: 'not hers' } }],
  ['no_sites', 'nobody', 'POST', TOKEN, credentials('siri')],
  ['no_roles', 'nobody', 'POST', TOKEN, credentials('rolf')],
  ['2fa_required', 'nobody', 'POST', TOKEN, credentials('tara')],
  ['2fa_mismatch', 'nobody', 'POST', TOKEN, credentials('tara', { two_factor_token: 'nocode' })],
  ['2fa_no_email', 'nobody', 'POST', TOKEN, credentials('theo')],
  ['invalid_session', 'nobody', 'GET', '/api/me'],
  ['remote_denied', 'nobody', 'POST', TOKEN, { ...credentials('lena'), from: '203.0.113.77' }],
  ['unauthorized', 'nobody', 'POST', '/api/session_handoff'],
  ['role_denied', 'quinn', 'POST', COMMAND, on(1)],
  ['elevation_denied', 'olga', 'POST', COMMAND, on(3)],
  ['scope_denied', 'olga', 'POST', COMMAND, on(2)],
  ['unknown_macro', 'olga', 'POST', '/api/control/macro', { body: { macro_id: 99 } }],
  ['elevated_table', 'olga', 'GET', '/api/data/auth_user?username=hidden-word'],
  ['invalid_projection', 'olga', 'GET', `/api/data/zone?_fields=${PAIR}`],
  ['redacted_filter', 'olga', 'GET', '/api/data/device?password=hidden-word'],
  ['secure_filtered', 'olga', 'GET', '/api/data/attribute?secure=true'],
  ['invalid_action', 'olga', 'POST', '/api/control/dance', { body: {} }],
  ['not_implemented', 'olga', 'DELETE', '/api/data/zone'],
]

/** Calls that are refused before the caller is identified. */
const early: [method: string, path: string, status: number, body?: string][] = [
  ['GET', COMMAND, 405],
  ['POST', COMMAND, 400, '{'],
  ['POST', '/api/control/dance', 400],
  ['PATCH', '/api/data/zone', 501],
  ['GET', '/api/nothing', 404],
]

t.test('1 Audit record', async (t) => {
  const site = await openRestSite(t)
  const tokens = new Map<string, string>()
  for (const name of ['ada', 'olga', 'quinn']) tokens.set(name, await site.tokenOf(name))
  const told: Told[] = []
  for (const [, who, method, path, options] of calls)
    told.push(await site.call(method, path, { ...options, token: tokens.get(who) }))

  for (const [at, [reason, who, method, path]] of calls.entries())
    await t.test(`1 Audit denial reasons: ${reason} is produced and read back`, async (t) => {
      const answer = told[at] as Told
      const record = await site.recordOf(answer)
      t.match(record, { reason, method, status: answer.status, client_ip: answer.from, granted: false })
      t.match(record, { request_type: 'rest_api', path: path.split('?')[0], elapsed_ms: Number, at: Number })
      if (who !== 'nobody') t.equal(record.username, who)
    })

  await t.test('1 Audit denial reasons: there are 21 of them, and each can be searched for', async (t) => {
    t.equal(new Set(calls.map(([reason]) => reason)).size, 21)
    for (const [reason] of calls) {
      const { body } = await site.get(`/api/data/request_history?reason=${reason}`, tokens.get('ada'))
      t.ok(body.length > 0 && body.every((row: { reason: string }) => row.reason === reason), reason)
    }
  })

  await t.test(
    '1 Audit record: the caller is recorded even if a call is refused before the token is checked',
    async (t) => {
      for (const [method, path, status, body] of early) {
        const answer = await site.call(method, path, { token: tokens.get('olga'), ...(body && { body }) })
        t.equal(answer.status, status, `${method} ${path}`)
        t.match(
          await site.recordOf(answer),
          { username: 'olga', user_id: 2, status, granted: false },
          `${method} ${path}`,
        )
      }
    },
  )

  await t.test('1 Audit record: calls that need no token are recorded too', async (t) => {
    for (const path of ['/api/health', '/api/version'])
      t.match(await site.recordOf(await site.get(path)), { path, status: 200, granted: true, reason: null })
    const out = await site.call('POST', '/api/logout', { token: await site.tokenOf('quinn') })
    t.match(await site.recordOf(out), { path: '/api/logout', username: 'quinn', granted: true })
  })

  await t.test('1 Audit record: none holds a password, a token, a code or the text of a query', async (t) => {
    const code = String(site.codeOf('tara'))
    await site.stop()
    const written = contentOf(site)
    for (const secret of [PASSWORD, 'not hers', 'nocode', 'hidden-word', code, ...tokens.values()])
      t.notOk(written.includes(secret), 'it is not in the file')
    t.ok(written.includes('elevated_table'), 'this is the file')
  })
})

function contentOf({ stateFolder }: RestSite): string {
  const names = readdirSync(stateFolder).filter((name) => name.startsWith('audit.db'))
  return names.map((name) => readFileSync(join(stateFolder, name), 'latin1')).join('')
}

t.test('the page finds calls by person, zone, device and outcome, under the names of now and of then', async (t) => {
  const site = await openRestSite(t)
  const [ada, olga] = [await site.tokenOf('ada'), await site.tokenOf('olga')]
  await site.post(COMMAND, { zone: 'Lamp', level: 55 }, ada)
  await site.post(COMMAND, { zone: 'Hall', command: 'on' }, olga)
  await site.post(COMMAND, { device: 'Broken', command: 'on' }, ada)
  await site.post(COMMAND, { zone: 'Vault', command: 'unlock' }, olga)
  await site.stage({ zone: [{ id: 4, name: 'Lantern' }] })
  t.equal((await site.applyAll()).status, 200)
  const page = await site.pageOf('ada')
  const found = async (query: string) =>
    (await page('GET', `/ui/audit?path=control&${query}`)).body.rows.map((row: { action: string }) => row.action)
  const [lamp, hall, broken, vault] = ['level 55 on "Lamp"', 'on on "Hall"', 'on on "Broken"', 'unlock on "Vault"']
  t.same(await found(''), [vault, broken, hall, lamp])
  t.same(await found('zone=lant'), [lamp], 'renamed since')
  t.same(await found('zone=LAMP'), [lamp], 'by the name of then')
  t.same(await found('zone=4'), [lamp])
  t.same(await found('device=lights'), [lamp], 'a zone of it')
  t.same(await found('device=Line'), [hall])
  t.same(await found('device=6'), [broken])
  t.same(await found('zone=a&device=doors'), [vault])
  t.same(await found('zone=nowhere'), [])
  t.same(await found('user=olga&trouble=true'), [vault])
  t.same(await found('trouble=true'), [vault, broken], 'what failed at a device is trouble too')
  t.same(await found('trouble=false'), [hall, lamp])
  const { body } = await page('GET', '/ui/audit?path=control&limit=1')
  t.same(await found(`limit=1&before=${body.before}`), [broken])
  const olgas = await site.pageOf('olga')
  for (const query of ['', 'zone=Hall', 'user=olga'])
    t.match(await olgas('GET', `/ui/audit?${query}`), { status: 403, body: { error: 'not_elevated' } }, query)
})
