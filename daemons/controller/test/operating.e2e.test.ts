/** The controller as who installs it meets it: a first start, backups while it runs, what is taken already. */
import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ask, startDaemon } from '#kit/test/running-daemon.ts'
import { PASSWORD, placeOf, plantroom, post, SETS, tokenOf } from './operating.ts'

t.test(
  'a start without a site says what to do, and the page makes the first account, once',
  { timeout: 60_000 },
  async (t) => {
    const daemon = await startDaemon(t, 'controller', { sets: SETS })
    t.match((await ask(`${daemon.url}/ui/site`, {})).body, { me: null, setup: true })
    t.match(daemon.output(), /nobody can sign in yet: open the page and make the first account/)
    t.equal(await tokenOf(daemon), 'invalid_credential')
    const form = { username: 'ada', password: PASSWORD, site: 'Mill', time_zone: 'Europe/Oslo' }
    const answers = await Promise.all([1, 2, 3].map(() => post(daemon, '/ui/setup', form)))
    t.same(answers.map(({ status }) => status).sort(), [200, 409, 409], 'of three at once one is the first')
    const token = await tokenOf(daemon)
    const asked = await ask(`${daemon.url}/api/data/auth_user`, { headers: { authorization: `Bearer ${token}` } })
    t.match(asked.body, [{ username: 'ada', enabled: true, hash: null }])
    t.match((await ask(`${daemon.url}/ui/site`, {})).body, { name: 'Mill', time_zone: 'Europe/Oslo', setup: undefined })
    t.match(await plantroom(['status', 'controller', '--listen', daemon.url.slice(7)]), { code: 0, said: /answers/ })
  },
)

t.test(
  'what is backed up while it runs is a whole site with its audit, and no notice holds a secret',
  { timeout: 60_000 },
  async (t) => {
    const { folder, file, state } = placeOf(t)
    t.match(await plantroom(['controller', 'import', file, '--state', state, '--config', '/dev/null']), { code: 0 })
    const daemon = await startDaemon(t, 'controller', { stateFolder: state, sets: SETS })
    const token = await tokenOf(daemon)
    let isOver = false
    const calls = (async () => {
      let count = 0
      for (; !isOver; count++) await post(daemon, '/api/control/command', { zone: 'Hall', level: count % 100 }, token)
      return count
    })()
    t.match(await post(daemon, '/api/control/macro', { macro: 'Tell', args: { door: 3, pin: '4711' } }, token), {
      status: 200,
    })
    const archive = join(folder, 'backup.tar.gz')
    const { code, said } = await plantroom(['backup', 'controller', '--state', state, archive])
    isOver = true
    t.equal(code, 0, said)
    t.ok((await calls) > 0)
    await daemon.stop()
    t.match(readFileSync(join(state, 'journal.jsonl'), 'utf8'), /3 opens with null/)
    for (const name of readdirSync(state)) t.notMatch(readFileSync(join(state, name), 'latin1'), '4711', name)

    const other = join(folder, 'other')
    t.match(await plantroom(['restore', 'controller', '--state', other, archive]), { code: 0 })
    t.same(readdirSync(other).sort(), ['audit.db', 'controller.db', 'journal.jsonl'])
    t.equal(statSync(join(other, 'controller.db')).mode & 0o077, 0)
    const again = await startDaemon(t, 'controller', { stateFolder: other, sets: SETS })
    const headers = { authorization: `Bearer ${await tokenOf(again)}` }
    const { body } = await ask(`${again.url}/api/data/request_history?path=/api/control/macro&_count=true`, { headers })
    t.same(body, { count: 1 })
  },
)

t.test(
  'a port that is taken, and a folder that is in use, are told with what to do',
  { timeout: 60_000 },
  async (t) => {
    const daemon = await startDaemon(t, 'controller', { sets: SETS })
    const args = ['controller', '--config', '/dev/null', '--listen', daemon.url.slice(7)]
    const taken = await plantroom([...args, '--state', mkdtempSync(join(t.testdir(), 'state-'))])
    t.match(taken, { code: 1, said: /127\.0\.0\.1:\d+: something listens there already; stop it, or set http\.listen/ })
    t.match(await plantroom([...args, '--state', daemon.stateFolder]), {
      code: 1,
      said: /is in use by a daemon that runs: stop/,
    })
  },
)
