/** A site file imported repeatedly by the command: disabled users stay disabled, and exist once. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { ask, type RunningDaemon, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { PASSWORD, placeOf, plantroom, SETS, tokenOf } from './operating.ts'

const SAME = /The site is as the file says already: nothing was changed\./

function stageOf(t: Test) {
  const place = placeOf(t)
  const { state } = place
  const common = ['--state', state, '--config', '/dev/null']
  const imported = (document: unknown, ...flags: string[]) => {
    const file = join(place.folder, 'people.json')
    writeFileSync(file, JSON.stringify(document))
    return plantroom(['controller', 'import', ...flags, file, ...common])
  }
  const first = () => plantroom(['controller', 'import', place.file, ...common])
  /** Users on disk other than ada, read whether or not the daemon runs. */
  const rows = () => {
    const database = new DatabaseSync(join(state, 'controller.db'), { readOnly: true })
    try {
      const people = database.prepare('SELECT id, username, enabled, hash FROM auth_user WHERE id > 1').all()
      const { waiting } = database.prepare('SELECT count(*) AS waiting FROM pending_change').get() as {
        waiting: number
      }
      return { people: people.map((row) => ({ ...row })), waiting }
    } finally {
      database.close()
    }
  }
  return { ...place, imported, first, rows }
}

const bob = (more: object = {}) => ({
  auth_user: [{ username: 'Bob', password: 'bobs own words', roles: ['Administrator'], sites: ['Mill'], ...more }],
})

async function pageOf(daemon: RunningDaemon) {
  const common = { origin: daemon.url, 'content-type': 'application/json' }
  const body = JSON.stringify({ username: 'ada', password: PASSWORD })
  const signedIn = await ask(`${daemon.url}/ui/sign-in`, { method: 'POST', headers: common, body })
  const headers = { ...common, cookie: signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
  return {
    pending: async () => (await ask(`${daemon.url}/ui/pending`, { headers })).body,
    async applyAll() {
      const { revision } = await this.pending()
      return ask(`${daemon.url}/ui/pending/apply`, { method: 'POST', headers, body: JSON.stringify({ revision }) })
    },
    audit: async (query: string) => (await ask(`${daemon.url}/ui/audit?${query}`, { headers })).body.rows,
  }
}

t.test('a disabled user who is imported twice exists once, disabled, and nothing is pending', async (t) => {
  const { imported, first, rows, state } = stageOf(t)
  t.match(await first(), { code: 0 })
  t.match(await imported(bob({ enabled: false })), { code: 0, said: /\d changes made/ })
  const after = rows()
  t.match(after, { people: [{ id: 2, username: 'Bob', enabled: 0 }], waiting: 0 })
  for (let i = 0; i < 2; i++) t.match(await imported(bob({ enabled: false })), { code: 0, said: SAME })
  t.same(rows(), after)
  t.match(await imported(bob()), { code: 0, said: SAME }, 'columns that the file does not give stay')
  t.match(await imported(bob({ username: 'BOB', enabled: false })), { code: 0, said: /1 change made/ })
  t.match(rows().people, [{ id: 2, username: 'BOB', enabled: 0, hash: after.people[0]?.hash }])

  const daemon = await startDaemon(t, 'controller', { stateFolder: state, sets: SETS })
  t.equal(await tokenOf(daemon, 'bob', 'bobs own words'), 'invalid_credential')
  t.match(await imported(bob({ username: 'BOB', enabled: false })), { code: 0, said: SAME })
  const page = await pageOf(daemon)
  t.same((await page.pending()).changes, [])
  t.match(await page.audit('user=bob'), [{ path: '/api/token', reason: 'invalid_credential', granted: false }])
})

t.test('a new disabled user is pending once, however often imported into a running controller', async (t) => {
  const { imported, first, rows, state } = stageOf(t)
  t.match(await first(), { code: 0 })
  const daemon = await startDaemon(t, 'controller', { stateFolder: state, sets: SETS })
  const said = await imported(bob({ enabled: false }))
  t.match(said, { code: 0, said: /3 changes pending/ })
  t.same(await imported(bob({ enabled: false })), said)
  t.match(await imported(bob()), { code: 1, said: /3 changes wait already/ }, 'but no other change')
  t.equal(rows().waiting, 3)
  const page = await pageOf(daemon)
  t.match((await page.applyAll()).body, { applied: 3 })
  t.match(rows(), { people: [{ id: 2, username: 'Bob', enabled: 0 }], waiting: 0 })
  t.match(await imported(bob({ enabled: false })), { code: 0, said: SAME })
  t.equal(await tokenOf(daemon, 'bob', 'bobs own words'), 'invalid_credential')
})

t.test(
  'a user with a session who is disabled by an import is signed out at once, and a second import changes nothing',
  async (t) => {
    const { imported, first, rows, state, folder } = stageOf(t)
    t.match(await first(), { code: 0 })
    t.match(await imported(bob()), { code: 0 })
    const daemon = await startDaemon(t, 'controller', { stateFolder: state, sets: SETS })
    const token = await tokenOf(daemon, 'bob', 'bobs own words')
    const me = () => ask(`${daemon.url}/api/me`, { headers: { authorization: `Bearer ${token}` } })
    t.equal((await me()).status, 200)
    t.match(await imported(bob({ enabled: false })), { code: 0, said: /1 change pending/ })
    t.equal((await me()).status, 401)
    t.match(await imported(bob({ enabled: false })), { code: 0, said: /1 change pending/ })
    const page = await pageOf(daemon)
    t.match((await page.pending()).changes, [{ table: 'auth_user', columns: [{ column: 'enabled' }] }])
    t.match((await page.applyAll()).body, { applied: 1 })
    const after = rows()
    t.match(after, { people: [{ id: 2, username: 'Bob', enabled: 0 }], waiting: 0 })
    t.match(await imported(bob({ enabled: false })), { code: 0, said: SAME })
    t.equal((await me()).status, 401)
    // Records that no answer waits for reach the disk a little later.
    await until('all three are recorded', async () => (await page.audit('path=/api/me')).length === 3)
    t.match(await page.audit('path=/api/me'), [
      { reason: 'invalid_session', status: 401, granted: false },
      { reason: 'invalid_session', status: 401, granted: false },
      { username: 'Bob', status: 200, granted: true },
    ])

    const archive = join(folder, 'b.tar.gz')
    t.match(await plantroom(['backup', 'controller', '--state', state, archive]), { code: 0 })
    await daemon.stop()
    t.match(await imported({ auth_user: [{ id: 2, username: 'Robert', enabled: true }] }), { code: 0 })
    t.match(rows().people, [{ id: 2, username: 'Robert', enabled: 1 }])
    t.match(await plantroom(['restore', 'controller', '--state', state, archive]), { code: 0 })
    t.same(rows(), after)
    t.match(await imported(bob({ enabled: false })), { code: 0, said: SAME })
  },
)
