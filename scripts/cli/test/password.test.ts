/** plantroom password. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { verifyPassword } from '#kit/auth/password.ts'
import { createUsersFile } from '#kit/auth/users-file.ts'
import { silentLog } from '#kit/log.ts'
import { lockState } from '#kit/run/state-folder.ts'
import { makeFolder } from '#kit/store/store.ts'
import { password } from '../password.ts'
import { runCommand } from './world.ts'

const GOOD = 'correct horse'
const stateOf = (t: Test) => join(t.testdirName, 'state')
const users = async (t: Test) => (await createUsersFile(stateOf(t), silentLog).load()).users

async function keep(t: Test, ...names: string[]): Promise<void> {
  await makeFolder(stateOf(t))
  const list = names.map((username) => ({ username, role: 'viewer' as const, passwordHash: 'old', createdAt: 1 }))
  await createUsersFile(stateOf(t), silentLog).save({ version: 1, users: list })
}

t.beforeEach((t) => void t.testdir())

t.test('makes the administrator where there is no user yet', async (t) => {
  t.match(await runCommand(password, ['small', '--state', stateOf(t)], GOOD), {
    code: 0,
    out: 'admin of small has a new password.\n',
  })
  const [admin] = await users(t)
  t.match(admin, { username: 'admin', role: 'admin' })
  t.equal(await verifyPassword(GOOD, admin?.passwordHash), true)
  t.equal((await stat(join(stateOf(t), 'users.json'))).mode & 0o777, 0o600)
})

t.test('changes the only user without asking for a name, and nothing but the password', async (t) => {
  await keep(t, 'ann')
  t.match(await runCommand(password, ['small', '--state', stateOf(t)], GOOD), { code: 0 })
  const [ann] = await users(t)
  t.match(ann, { username: 'ann', role: 'viewer', createdAt: 1 })
  t.equal(await verifyPassword(GOOD, ann?.passwordHash), true)
})

t.test('asks which of several, and takes the one that is named', async (t) => {
  await keep(t, 'ann', 'bob')
  t.match(await runCommand(password, ['small', '--state', stateOf(t)], GOOD), { code: 'bad_usage', err: /ann, bob/ })
  t.match(await runCommand(password, ['small', '--state', stateOf(t), '--user', 'eve'], GOOD), { code: 'bad_usage' })
  t.match(await runCommand(password, ['small', '--state', stateOf(t), '--user', 'bob'], GOOD), { code: 0 })
  t.match(await users(t), [
    { username: 'ann', passwordHash: 'old' },
    { username: 'bob', passwordHash: /^\$argon2id/ },
  ])
})

t.test('a board has the user admin and no other', async (t) => {
  const daemonsFolder = join(import.meta.dirname, '../../../daemons')
  const run = (...more: string[]) =>
    runCommand(password, ['board', '--state', stateOf(t), ...more], { typed: GOOD, daemonsFolder })
  t.match(await run('--user', 'bob'), { code: 'bad_usage', err: 'the only user of board is admin' })
  t.match(await run(), { code: 0, out: 'admin of board has a new password.\n' })
  t.match(await run('--user', 'admin'), { code: 0 })
})

t.test(
  "a board's password is held to what its API takes: any of 1 to 256 characters that a header can hold",
  async (t) => {
    const daemonsFolder = join(import.meta.dirname, '../../../daemons')
    const give = (typed: string) => runCommand(password, ['board', '--state', stateOf(t)], { typed, daemonsFolder })
    for (const typed of ['x', 'short', '🔑'.repeat(256)]) t.match(await give(typed), { code: 0 }, typed.slice(0, 8))
    t.match(await give('x'.repeat(257)), { code: 'bad_usage', err: /has 257 characters, expected 1 to 256/ })
    t.match(await give('a\tb'), { code: 'bad_usage', err: /holds a control character/ })
  },
)

t.test('refuses a password that the API would refuse', async (t) => {
  for (const text of ['short', 'x'.repeat(257)])
    t.match(await runCommand(password, ['small', '--state', stateOf(t)], text), {
      code: 'bad_usage',
      err: /expected 8 to 256/,
    })
  const typed = await runCommand(password, ['small', '--state', stateOf(t)], 'long enough\t1')
  t.match(typed, { code: 'bad_usage', err: /control character/ })
})

t.test('refuses while the daemon runs', async (t) => {
  await keep(t, 'ann')
  const lock = lockState(stateOf(t))
  t.match(await runCommand(password, ['small', '--state', stateOf(t)], GOOD), { code: 'state_locked' })
  lock.release()
})

t.test('writes into the journal that it was done, and never the password', async (t) => {
  await runCommand(password, ['small', '--state', stateOf(t)], GOOD)
  const { readFile } = await import('node:fs/promises')
  const text = await readFile(join(stateOf(t), 'journal.jsonl'), 'utf8')
  t.match(JSON.parse(text), { who: 'plantroom', from: 'console', what: 'password changed', target: 'admin' })
  t.notMatch(text, GOOD)
})

t.test('makes no administrator of a name that the API would refuse', async (t) => {
  for (const name of ['__proto__', 'key:pump', ' ada', '\u0430dmin'])
    t.match(await runCommand(password, ['small', '--state', stateOf(t), '--user', name], GOOD), {
      code: 'bad_usage',
      err: /not a user name/,
    })
  t.same(await users(t), [])
})
