import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLog } from '#kit/log.ts'
import { workFolder } from '#kit/store/restore.ts'
import { until } from '#kit/test/until.ts'
import { openSessions } from '../../io/session-file.ts'

const HOUR_MS = 3_600_000
const log = createLog({ level: 'error' })
const anna = { name: 'anna', accountId: 'a', password: 'p'.repeat(43) }

async function stage(t: Test, folder = t.testdir({})) {
  const clock = fakeClock(1_700_000_000_000)
  const { part, sessions } = await openSessions({ clock, folder, log, max: 8 })
  await part.start()
  const path = join(folder, 'sessions.json')
  const saved = () => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).sessions : [])
  const again = async () => (await openSessions({ clock, folder, log, max: 8 })).sessions
  return { again, clock, folder, part, path, saved, sessions }
}

t.test(
  '3A.accounts a session outlives a restart and a cut of the power, and one that was ended does not',
  async (t) => {
    const { again, clock, part, path, saved, sessions } = await stage(t)
    const [token, ended] = [sessions.issue(anna), sessions.issue(anna)]
    clock.advance(60_000)
    await until('they are written', () => saved().length === 2)
    t.same((await again()).use(token), anna, 'without an orderly stop')
    t.notOk(readFileSync(path, 'utf8').includes(token))
    t.equal(statSync(path).mode & 0o777, 0o600)
    sessions.revoke(ended)
    clock.advance(1000)
    await until('the end is written', () => saved().length === 1)
    t.equal((await again()).use(ended), undefined, 'soon, also without an orderly stop')
    await part.stop()
    const after = await again()
    t.same([after.use(token), after.use(ended)], [anna, undefined])
    t.equal(clock.pending(), 0)
  },
)

t.test('sessions that are used are written once an hour, and not for each request', async (t) => {
  const { again, clock, saved, sessions } = await stage(t)
  const token = sessions.issue(anna)
  clock.advance(60_000)
  await until('it is written', () => saved().length === 1)
  const [{ usedAt }] = saved()
  for (let minute = 0; minute < 58; minute++) {
    sessions.use(token)
    clock.advance(60_000)
  }
  t.equal(saved()[0].usedAt, usedAt)
  clock.advance(2 * 60_000)
  sessions.use(token)
  const lastAt = clock.epochMs()
  clock.advance(60_000)
  await until('its use is written', () => saved()[0].usedAt === lastAt)
  clock.advance(12 * HOUR_MS)
  t.equal((await again()).use(token), undefined)
})

t.test('a damaged file and a backup that was put back end all sessions, and keep nobody from starting', async (t) => {
  const { again, clock, folder, part, path, sessions } = await stage(t)
  const token = sessions.issue(anna)
  await part.stop()
  const done = { by: 'anna', at: clock.epochMs() + 1, what: 'backup', madeAt: 1, isTold: true }
  writeFileSync(join(workFolder(folder), 'done.json'), JSON.stringify(done))
  t.equal((await again()).use(token), undefined)
  for (const file of [path, `${path}.bak`]) writeFileSync(file, '{"version":1,"sessions":[{}]}')
  const fresh = await again()
  t.equal(fresh.use(fresh.issue(anna)), anna)
})
