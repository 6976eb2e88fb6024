/** POST /api/token of the built controller: fields of every type, and every spelling of a code. */
import t from 'tap'
import { recordsOf } from './raw-call.ts'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD, restRows } from './rest-site-rows.ts'

const base = restRows(0)
const coded = { password: PASSWORD, sites: ['House'], two_factor_auth: true }
const rows = {
  auth_role: [...(base.auth_role ?? []), { name: 'skips', skip_2fa_local: true, rules: 'allow api *' }],
  auth_user: [
    ...(base.auth_user ?? []),
    { username: 'skip', ...coded, roles: ['skips'], email: 'skip@example.org' },
    { username: 'odd', ...coded, roles: ['operator'], email: 'no address' },
  ],
}

const signIn = (site: RestSite, username: string, more: object = {}): Promise<Told> =>
  site.post('/api/token', { username, password: PASSWORD, ...more })

/** None of these is a text with content. */
const NO_TEXTS: unknown[] = [undefined, null, '', 0, 5, true, false, [], ['olga'], {}, { toString: 'olga' }]

/** Texts that are no user's name and no user's password. */
const NAMES = [
  'olga ',
  ' olga',
  'olga\0',
  '\0olga',
  'ol\nga',
  'o%',
  'olga\u0301',
  'x'.repeat(200_000),
  '\ud800',
  '1',
  '*',
]
const PASSWORDS = [`${PASSWORD} `, `${PASSWORD}\0`, PASSWORD.toUpperCase(), 'x'.repeat(200_000), '\ud800', ' ']

/** Spellings of a code, accepted and refused ones. */
const same = (code: string) => [code, code.toLowerCase(), ` ${code}`, `${code}\r\n`, `\t${code.toLowerCase()} `]
const other = (code: string): unknown[] => [
  ...[`${code.slice(0, 3)} ${code.slice(3)}`, `${code}A`, code.slice(1), `${code}\0`, '%', '?', `${code},${code}`],
  ...[[code], { code }, true, 0, 123456, 'x'.repeat(100_000)],
]

t.test('1 POST /api/token, its fields and codes', async (t) => {
  const sets = ['people.free_tries=1000', 'people.misses=20', 'people.password_workers=2']
  const site = await openRestSite(t, { sets, rows })
  const challenged = { status: 200, body: { error: 'two_factor_auth', message: /./, ttl_seconds: 300 } }
  const failed = { status: 200, body: { error: '2fa_mismatch', message: 'two factor fail' } }

  await t.test('1 POST /api/token: a field that is not a text is missing, an unknown name is wrong', async (t) => {
    const told: [reason: string, answer: Told][] = []
    for (const value of NO_TEXTS)
      for (const body of [
        { username: value, password: PASSWORD },
        { username: 'olga', password: value },
      ]) {
        const answer = await site.post('/api/token', body)
        const expected = { error: 'missing_credential', message: 'missing credential' }
        t.strictSame([answer.status, answer.body], [200, expected], JSON.stringify(body))
        told.push(['missing_credential', answer])
      }
    for (const body of [
      ...NAMES.map((username) => ({ username, password: PASSWORD })),
      ...PASSWORDS.map((password) => ({ username: 'olga', password })),
    ]) {
      const answer = await site.post('/api/token', body)
      const expected = { error: 'invalid_credential', message: 'invalid credential' }
      t.strictSame([answer.status, answer.body], [200, expected], JSON.stringify(body).slice(0, 80))
      told.push(['invalid_credential', answer])
    }
    const answers = told.map(([, answer]) => answer)
    const records = await recordsOf(site, answers, await site.tokenOf('ada'))
    for (const [reason, { from }] of told) t.match(records.get(from), { reason, granted: false, status: 200 })
    const wrong = await site.post('/api/token', { username: 'OLGA', password: 'x' })
    t.match(await site.recordOf(wrong), { username: 'olga', user_id: 2 }, 'the user of a known name is in the record')
    const nobody = await site.post('/api/token', { username: 'nobody', password: 'x' })
    t.match(await site.recordOf(nobody), { username: null, user_id: null }, 'the text that was typed is not')
  })

  await t.test('1 POST /api/token: a code is checked only if one is required', async (t) => {
    for (const code of ['x', 5, null, [], {}])
      t.match((await signIn(site, 'olga', { two_factor_token: code })).body, { token: String })
    t.match(await signIn(site, 'odd'), { body: { message: '2FA is enabled but user has no email address' } })
    t.match(await signIn(site, 'skip'), challenged, 'Skip 2FA on Local Network does not apply here')
  })

  await t.test(
    '1 Two-factor code: it matches in any case and with blanks around it, and in no other form',
    async (t) => {
      for (const form of [0, 1, 2, 3, 4]) {
        t.match(await signIn(site, 'tara'), challenged)
        const code = site.codeOf('tara') ?? ''
        t.match(
          (await signIn(site, 'tara', { two_factor_token: same(code)[form] })).body,
          { token: String },
          `form ${form}`,
        )
        t.equal(site.codeOf('tara'), null, 'it is used up')
        t.match(await signIn(site, 'tara', { two_factor_token: code }), failed)
      }
      for (const none of [undefined, null, '', '  '])
        t.match(await signIn(site, 'tara', { two_factor_token: none }), challenged)
      const code = site.codeOf('tara') ?? ''
      for (const [at, form] of other(code).entries())
        t.match(await signIn(site, 'tara', { two_factor_token: form }), failed, `${at}`)
      t.equal(site.codeOf('tara'), code, 'wrong forms leave it as it is')
      t.match((await site.post('/api/token', { username: 'tara', password: 'x', two_factor_token: code })).body, {
        message: 'invalid credential',
      })
      t.match((await signIn(site, 'tara', { two_factor_token: code })).body, { token: String })
    },
  )
})
