/** Who may use the panel of the built update server, and how it is set up. */
import { join } from 'node:path'
import t from 'tap'
import { ask } from '#kit/test/running-daemon.ts'
import { archiveOf, newId, openStage, type Stage, UPDATE_KEY } from './stage.ts'

const shared = openStage(t)
const archive = archiveOf(300_000)

t.test('B.admin the panel is behind its password, its cookie and its token', async (t) => {
  const stage = await shared
  const paths = ['installations', 'updates', 'artifacts', 'audit', 'settings', 'session'].map(
    (one) => `/admin/api/${one}`,
  )
  for (const path of paths) t.equal((await ask(stage.url + path, {})).status, 401, path)
  t.match(await stage.post('/admin/api/login', { password: 'guessed wrong' }), { status: 401 })
  const { cookie } = await stage.cookie()
  for (const path of paths) t.equal((await ask(stage.url + path, { headers: { cookie } })).status, 200, path)
  const write = (headers: Record<string, string>) =>
    ask(`${stage.url}/admin/api/installations`, {
      ...{ method: 'PATCH', body: JSON.stringify({ ids: [newId()], enabled: true }) },
      headers: { 'content-type': 'application/json', ...headers },
    })
  t.match(await write({ cookie }), { status: 403, body: { error: 'csrf_missing' } })
  const whole = await stage.cookie()
  t.match(await write({ ...whole, origin: 'http://elsewhere.example' }), { status: 403 })
  t.match(await write({ ...whole, authorization: 'Bearer x' }), { status: 401 })
  t.match(await write({ authorization: `Bearer ${UPDATE_KEY}` }), { status: 403 })
  t.match(await write(whole), { status: 404, body: { error: 'unknown_installation' } })
  const { entries } = (await stage.admin('GET', '/admin/api/audit')).body
  t.match(entries[0], { who: String, what: String, at: Number })
})

t.test('B.authentication.3 the password can be changed, which ends every session', async (t) => {
  const stage: Stage = await openStage(t)
  const before = await stage.cookie()
  const password = /^admin password: (\S+)$/m.exec(stage.output())?.[1]
  const change = (current: unknown, next: string) => stage.admin('POST', '/admin/api/password', { current, next })
  t.match(await change('wrong one', 'a new password'), { status: 403, body: { error: 'wrong_password' } })
  t.match(await change(password, 'short'), { status: 400 })
  const changed = await change(password, 'a new password')
  t.equal(changed.status, 200)
  t.match(
    changed.headers.getSetCookie().join(),
    /svc_updates_session=[^;]+; Max-Age=86400; Path=\/; HttpOnly; SameSite=Strict/,
  )
  t.equal((await ask(`${stage.url}/admin/api/settings`, { headers: before })).status, 401)
  t.equal((await stage.post('/admin/api/login', { password })).status, 401)
  t.equal((await stage.post('/admin/api/login', { password: 'a new password' })).status, 200)
})

t.test('unattended set-up takes the password of a file, and the update key is made in the panel', async (t) => {
  const file = join(t.testdir({ password: 'of the integrator\n' }), 'password')
  const stage = await openStage(t, { sets: [`admin.password_file=${file}`, 'update_key=""'] })
  t.notMatch(stage.output(), 'admin password')
  t.match(await stage.publish('1.0.0', archive), { status: 401 }, 'nobody publishes before there is a key')
  const { body, headers } = await stage.post('/admin/api/login', { password: 'of the integrator' })
  const cookie =
    headers
      .getSetCookie()
      .find((one) => !one.includes('Domain'))
      ?.split(';')[0] ?? ''
  const made = await ask(`${stage.url}/admin/api/update-key`, {
    method: 'POST',
    headers: { cookie, 'x-csrf-token': body.csrf },
  })
  t.match(made.body.update_key, /^pup_[0-9a-f]{64}$/)
  t.equal((await stage.publish('1.0.0', archive, { 'x-svc-update-key': made.body.update_key })).status, 200)
})
