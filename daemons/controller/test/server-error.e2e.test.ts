/** The built controller when something fails inside: what a caller is told, and what remains of it. */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { openRestSite, type RestSite, type Told } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'

/** Removes a table of the site from under the daemon, or restores it, as another program could. */
function renameTable({ stateFolder }: RestSite, from: string, to: string): void {
  const db = new DatabaseSync(join(stateFolder, 'controller.db'))
  try {
    db.exec(`ALTER TABLE "${from}" RENAME TO "${to}"`)
  } finally {
    db.close()
  }
}

/** Must never be sent: places in the code and on the machine, messages of SQLite, secrets. */
const INNER = /\.ts|\.mjs|node:|\n\s+at |\/tmp|\/var|\.db|sql|auth_user|errcode|Error:|open sesame/i

function is500(t: Test, site: RestSite, told: Told): void {
  t.match(told, { status: 500, body: { error: String } })
  t.match(told.headers.get('content-type'), /^application\/json/)
  t.notMatch(JSON.stringify(told.body), INNER)
  t.notOk(JSON.stringify([...told.headers]).includes(site.stateFolder))
}

t.test('1 HTTP statuses, 500: an unhandled server error', async (t) => {
  const site = await openRestSite(t)
  const [ada, olga] = [await site.tokenOf('ada'), await site.tokenOf('olga')]
  const signIn = () => site.post('/api/token', { username: 'tara', password: PASSWORD })

  await t.test('1 HTTP statuses, 500: a table that cannot be read', async (t) => {
    const file = join(site.stateFolder, 'audit.db')
    renameSync(file, `${file}.away`)
    // The file is opened by the first read.
    const told = await site.get('/api/data/request_history?_limit=1', ada)
    renameSync(`${file}.away`, file)
    is500(t, site, told)
    t.match(await site.recordOf(told), {
      status: 500,
      granted: false,
      username: 'ada',
      path: '/api/data/request_history',
    })
  })

  await t.test(
    '1 HTTP statuses, 500: a code that cannot be stored: JSON with error, and no word of what broke',
    async (t) => {
      renameTable(site, 'auth_user', 'taken_away')
      const told = await signIn()
      is500(t, site, told)
      t.strictSame(Object.keys(told.body).sort(), ['error', 'id', 'message'])
      t.match(site.output(), `internal_error id=${told.body.id}`, 'the log has it')
      const record = await site.recordOf(told)
      t.match(record, { status: 500, granted: false, reason: null, method: 'POST', path: '/api/token' })
      t.match(record, { request_type: 'rest_api', client_ip: told.from, elapsed_ms: Number })
    },
  )

  await t.test(
    '1 HTTP statuses, 500: the daemon keeps running, and uses the table again once it is repaired',
    async (t) => {
      t.equal((await site.get('/api/health')).status, 200)
      t.equal((await site.get('/api/me', olga)).status, 200)
      t.match(await site.post('/api/control/command', { zone_id: 1, command: 'on' }, olga), { body: { success: true } })
      t.equal((await signIn()).status, 500, 'still broken')
      renameTable(site, 'taken_away', 'auth_user')
      t.match((await signIn()).body, { error: 'two_factor_auth' })
      const body = { username: 'tara', password: PASSWORD, two_factor_token: site.codeOf('tara') }
      t.match((await site.post('/api/token', body)).body, { token: String })
      t.equal((await site.get('/api/data/request_history?_limit=1', ada)).status, 200)
    },
  )

  await t.test('1 Macro payload: a run that cannot be recorded is not begun', async (t) => {
    renameTable(site, 'macro_run', 'taken_away')
    const told = await site.post('/api/control/macro', { macro_id: 1 }, olga)
    t.match(told, { status: 200, body: { success: false, error: 'macro_not_kept' } })
    t.notMatch(JSON.stringify(told.body), INNER)
    renameTable(site, 'taken_away', 'macro_run')
    t.match((await site.post('/api/control/macro', { macro_id: 1 }, olga)).body, { success: true })
    await until('its line has come', () => site.lines.includes('Z2 off {}'))
    t.strictSame(site.lines, ['Z1 on {}', 'Z2 off {}'], 'a run that was not begun sent nothing')
  })
})
