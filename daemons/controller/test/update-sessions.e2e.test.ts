/** What upgrades change for sessions, and how an update waits for macros, on the built controller. */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { updateHooks } from '../../../scripts/cli/update-hooks.ts'
import { openRestSite } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'
import { dialSocket } from './socket-client.ts'

t.test(
  'C.6 a socket is bound to the bearer secret of its sign-in, and after an update everybody signs in once',
  async (t) => {
    const site = await openRestSite(t)
    const bare = dialSocket(t, site)
    t.match(await bare.ask('subscribe', { zones: true }), { status: 401, body: { error: 'not_signed_in' } })
    const signedIn = await bare.ask('login', { username: 'olga', password: PASSWORD })
    t.equal(signedIn.status, 200)
    const { token } = signedIn.body
    t.match(token, /^[A-Za-z0-9]{32}$/, 'the secret is issued at the sign-in')
    t.match(await bare.ask('subscribe', { zones: true }), { status: 200 })

    const same = dialSocket(t, site, { token })
    t.match(await same.ask('subscribe', { zones: true }), { status: 200 }, 'whoever has the secret has the session')
    t.equal(await dialSocket(t, site, { token: token.replace(/./, token[0] === 'a' ? 'b' : 'a') }).refused, 401)
    await bare.ask('logout')
    const [code] = await same.closed
    t.equal(code, 1008, 'with the secret ends each socket that it opened')

    const again = await dialSocket(t, site).ask('login', { username: 'olga', password: PASSWORD })
    const ada = await site.tokenOf('ada')
    await site.restart()
    t.equal(await dialSocket(t, site, { token: again.body.token }).refused, 401, 'no secret outlives the controller')
    t.match(await site.get('/api/me', ada), { status: 401 })
  },
)

t.test('C.6 the log of the update names the accounts whose sessions never ended', async (t) => {
  const site = await openRestSite(t)
  await site.stop()
  const database = new DatabaseSync(join(site.stateFolder, 'controller.db'))
  database.exec(
    "UPDATE auth_role SET session_timeout_min = 0 WHERE id IN (SELECT role_id FROM auth_user_role JOIN auth_user ON auth_user.id = user_id WHERE username = 'olga'); PRAGMA user_version = 1",
  )
  database.close()
  await site.start()
  t.match(site.output(), /\[UPDATE\] sessions of .*olga.* never ended \(session timeout 0\); it is 43200 minutes now\n/)
  await site.restart()
  t.notMatch(site.output(), '[UPDATE]', 'once')
})

t.test('an update waits for macros of the built controller, and none begins until it lets go', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plantroom-quiet-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const quietSocket = join(folder, 'quiet.sock')
  const site = await openRestSite(t, {
    sets: [`updating.quiet_socket=${quietSocket}`, 'macros.answer_ms=100'],
    rows: {
      macro: [{ id: 1, name: 'Hold' }],
      macro_step: [{ macro_id: 1, position: 1, type: 'delay', args: { ms: 600_000 } }],
    },
  })
  const ada = await site.tokenOf('ada')
  const run = () => site.post('/api/control/macro', { macro_id: 1 }, ada)
  t.match((await run()).body, { success: true })
  // Its row may not have been written when that was answered.
  let runId: unknown
  await until('it is kept', async () => {
    const { body } = await site.get('/api/data/macro_run', ada)
    runId = body[0]?.id
    return runId !== undefined
  })

  const world = { out() {}, err() {}, daemonsFolder: '/', env: {}, readPassword: async () => '' }
  const place = { root: '/', state: '/', kept: 1, stateOf: () => '/', quietSocket }
  await t.rejects(
    updateHooks(world, { ...place, macroWaitMs: 200 }).hold(['controller'], () => {}),
    {
      code: 'update_put_off',
    },
  )
  const said: string[] = []
  const holding = updateHooks(world, { ...place, macroWaitMs: 600_000 }).hold(
    ['controller'],
    (line) => void said.push(line),
  )
  await until('it waits', () => said.length === 1)
  const page = await site.pageOf('ada')
  t.match(await page('POST', '/ui/macro/cancel', { run_id: runId }), { status: 200, body: { success: true } })
  const { release } = await holding
  t.match((await run()).body, { success: false, error: 'macro_stopping' })
  t.match(await site.call('GET', '/api/health'), { status: 200 }, 'all else goes on')
  release()
  await until('macros may begin', async () => (await run()).body.success === true)

  const stranger = connect({ path: quietSocket })
  await until('it is told', () => stranger.bytesRead > 0)
  stranger.destroy()
})
