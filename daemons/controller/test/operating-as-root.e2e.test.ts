/** The command line as root, with a controller that runs as its own user, as under systemd. */
import { chownSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { asUser } from '#kit/test/another-user.ts'
import { startDaemon } from '#kit/test/running-daemon.ts'
import { placeOf, plantroom, post, SETS, tokenOf } from './operating.ts'

const cannot = process.geteuid?.() === 0 ? false : 'only root starts a daemon as another user'
const UID = 64_123

t.test('files that root makes on the command line belong to the daemon', { skip: cannot }, async (t) => {
  const { folder, file, state } = placeOf(t)
  chownSync(folder, UID, UID)
  const user = asUser(t, UID)
  const start = () => startDaemon(t, 'controller', { stateFolder: state, sets: SETS, ...user })
  const place = ['--state', state, '--config', '/dev/null']
  const others = () => ['.', ...readdirSync(state)].filter((name) => statSync(join(state, name)).uid !== UID)

  t.match(await plantroom(['controller', 'import', file, ...place]), { code: 0 })
  t.same(others(), [], 'a first import')
  const first = await start()
  t.match(await tokenOf(first), /^\w{32}$/)
  writeFileSync(file, JSON.stringify({ zone: [{ name: 'Attic', device_id: 'Rack' }] }))
  t.match(await plantroom(['controller', 'import', file, ...place]), { code: 0, said: /1 change pending/ })
  t.same(others(), [], 'an import while it runs')
  await first.stop('SIGKILL')
  t.match(await plantroom(['backup', 'controller', '--state', state, join(folder, 'b.tar.gz')]), { code: 0 })
  t.same(others(), [], 'a backup after a crash')
  t.match(await plantroom(['password', 'controller', '--state', state, '--user', 'ada'], 'another long one\n'), {
    code: 0,
  })
  t.same(others(), [], 'a new password')
  t.match(await plantroom(['restore', 'controller', '--state', state, join(folder, 'b.tar.gz')]), { code: 0 })
  t.same(others(), [], 'a restore')
  const second = await start()
  const token = await tokenOf(second)
  t.match(token, /^\w{32}$/, 'the password of the backup')
  const { body } = await post(second, '/api/control/command', { zone: 'Hall', level: 4 }, token)
  t.match(body, { success: true })
})
