/** The controller from the installer's point of view: a first start, and resources already in use. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ask, startDaemon } from '#kit/test/running-daemon.ts'
import { PASSWORD, plantroom, post, SETS, tokenOf } from './operating.ts'

t.test('a start without a site says what to do, and the page makes the first account, once', async (t) => {
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
})

t.test('a port that is taken, and a folder that is in use, are reported with what to do', async (t) => {
  const daemon = await startDaemon(t, 'controller', { sets: SETS })
  const args = ['controller', '--config', '/dev/null', '--listen', daemon.url.slice(7)]
  const taken = await plantroom([...args, '--state', mkdtempSync(join(t.testdir(), 'state-'))])
  t.match(taken, { code: 1, said: /127\.0\.0\.1:\d+: something listens there already; stop it, or set http\.listen/ })
  t.match(await plantroom([...args, '--state', daemon.stateFolder]), {
    code: 1,
    said: /is in use by a daemon that runs: stop/,
  })
})

t.test('mail that cannot be sent is reported at the start, and is not a reason to start again', async (t) => {
  const state = mkdtempSync(join(t.testdir(), 'state-'))
  const start = (...sets: string[]) => {
    const more = [...SETS, 'smtp.host=mail.example.org', ...sets].flatMap((set) => ['--set', set])
    return plantroom(['controller', '--config', '/dev/null', '--listen', '127.0.0.1:0', '--state', state, ...more])
  }
  t.match(await start(), { code: 2, said: /smtp\.from is not: say who mail comes from/ })
  const file = join(state, 'no-such-file')
  const unreadable = await start('smtp.from=house@example.org', `smtp.password_file=${file}`)
  t.match(unreadable, { code: 2, said: /smtp\.password_file .* cannot be read \(ENOENT\)/ })
})
