/** Signing in by PIN on the built controller, duress, guesses, and passwords that have to be changed. */
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { noMailServer, startMailServer } from './mail-server.ts'
import { openRestSite } from './rest-site.ts'
import { PASSWORD, restRows } from './rest-site-rows.ts'
import { dialSocket } from './socket-client.ts'

t.test('a wall panel signs in by PIN; a duress PIN raises an alarm that its session does not see', async (t) => {
  const changed: Record<string, object> = {
    ada: { pin: '4711', duress_pin: '9911' },
    olga: { must_change_password: true },
    tara: { pin: '1234' },
  }
  const users = (restRows(1).auth_user as { username: string }[]).map((user) => ({
    ...user,
    ...changed[user.username],
  }))
  const mail = noMailServer ? undefined : await startMailServer(t)
  const mailSets = ['smtp.host="127.0.0.1"', `smtp.port=${mail?.port}`, 'smtp.from="mill@example.org"']
  const alarmSets = ['alarms.mail_to="guard@example.org"', 'alarms.gather_ms=100', 'smtp.tls="none"']
  const sets = ['people.pin_tries=3', 'people.free_tries=10', ...(mail ? [...mailSets, ...alarmSets] : [])]
  const site = await openRestSite(t, { sets, rows: { auth_user: users } })
  const page = async (form: object, from?: string) =>
    site.call('POST', '/ui/sign-in', {
      body: form,
      headers: { origin: site.url(), 'content-type': 'application/json' },
      ...(from && { from }),
    })
  const cookieOf = (told: { headers: Headers }) => told.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const as = (cookie: string, path: string) => site.call('GET', path, { headers: { cookie, origin: site.url() } })

  const office = await page({ username: 'ada', password: PASSWORD }, '10.64.210.9')
  const plain = await page({ username: 'ada', pin: '4711' }, '10.64.210.1')
  t.match(plain, { status: 200, body: { signed_in: true, username: 'ada', elevated: true } })
  const duress = await page({ username: 'ada', pin: '9911' })
  t.strictSame(duress.body, plain.body, 'nobody sees a difference')
  t.match(await page({ username: 'ada', pin: '4711' }, '203.0.113.7'), {
    body: { message: 'remote access not permitted' },
  })
  t.match(await site.post('/api/token', { username: 'ada', pin: '4711' }), { body: { error: 'missing_credential' } })

  const alarm = () => mail?.taken.find(({ content = '' }) => content.includes('duress_pin at user ada'))
  if (mail) await until('the guard has a letter', () => alarm() !== undefined)
  t.match(alarm()?.to ?? ['guard@example.org'], ['guard@example.org'])

  const audit = async (cookie: string) =>
    (await as(cookie, '/ui/audit?path=sign-in')).body.rows as { reason: string; granted: boolean }[]
  const seen = await audit(cookieOf(office))
  t.match(
    seen.filter(({ reason }) => reason === 'duress'),
    [{ granted: true, username: 'ada', path: '/ui/sign-in' }],
  )
  const ledger = async (cookie: string) => (await as(cookie, '/ui/ledger')).body
  const told = await ledger(cookieOf(office))
  t.match(told.entries, [
    {
      what: 'duress_pin',
      where: 'user ada',
      severity: 'fault',
      sentence: /The duress PIN of ada was typed at 10\.64\./,
    },
  ])
  t.match((await as(cookieOf(office), '/ui/ledger/export')).body, /duress_pin/)
  const acknowledge = (cookie: string, id: number) =>
    site.call('POST', '/ui/ledger/acknowledge', {
      body: { id },
      headers: { cookie, origin: site.url(), 'content-type': 'application/json' },
    })
  const panels = [plain, duress, await page({ username: 'ada', pin: '4711' }, '10.64.210.8')].map(cookieOf)
  for (const cookie of panels) {
    t.notMatch(JSON.stringify(await audit(cookie)), /duress/, 'no wall panel tells of it')
    t.notMatch(JSON.stringify(await ledger(cookie)), /duress/)
    t.notMatch(JSON.stringify((await as(cookie, '/ui/ledger/export')).body), /duress/)
    const [hidden, none] = [await acknowledge(cookie, told.entries[0].id), await acknowledge(cookie, 4711)]
    t.match([hidden.status, none.status], [404, 404])
    t.equal(hidden.body.message, none.body.message.replace('4711', told.entries[0].id))
  }
  t.match(await acknowledge(cookieOf(office), told.entries[0].id), { body: { acknowledgedBy: 'ada' } })
  t.match(site.output(), /duress_pin/)

  const socket = dialSocket(t, site, { from: '10.64.210.2' })
  const { body } = await socket.ask('login', { username: 'ada', pin: '9911' })
  t.match(body, { username: 'ada' })
  const history = await socket.ask('query', { entity: 'request_history', query: '_limit=1000' })
  t.ok(history.body.length > 3)
  t.notMatch(JSON.stringify(history.body), /duress/)

  for (const pin of ['0000', '0001', '0002'])
    t.match(await page({ username: 'tara', pin }), { body: { error: 'invalid_credential' } })
  t.match(await page({ username: 'tara', pin: '1234' }), { status: 429, body: { error: 'pin_rests' } })
  for (const pin of ['0000', '0001', '0002', '0003']) await page({ username: 'nobody', pin })
  t.match(await page({ username: 'nobody', pin: '1' }), { status: 429 }, 'a name that there is not looks the same')

  const olga = dialSocket(t, site, { from: '10.64.210.3' })
  t.match(await olga.ask('login', { username: 'olga', password: PASSWORD }), { body: { must_change_password: true } })
  t.match(await olga.ask('command', { body: { zone_id: 1, command: 'on' } }), {
    status: 403,
    body: { error: 'password_change_required' },
  })
  t.match(await olga.ask('password', { current: PASSWORD, password: 'another sesame' }), { status: 200 })
  t.match(await olga.ask('command', { body: { zone_id: 4, command: 'on' } }), { status: 200, body: { success: true } })
  await site.restart()
  t.match(await page({ username: 'olga', password: PASSWORD }), { body: { error: 'invalid_credential' } })
  t.match(
    await page({ username: 'olga', password: 'another sesame' }),
    { body: { must_change_password: false } },
    'it is kept',
  )
})
