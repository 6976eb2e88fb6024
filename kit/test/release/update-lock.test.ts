import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { isUpdating, lockUpdates } from '../../release/update-lock.ts'

/** A folder of releases that everybody may enter, and whose path is longer than that of a socket may be. */
function rootFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'lock-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const root = join(folder, 'long'.repeat(30))
  mkdirSync(root)
  chmodSync(folder, 0o755)
  return root
}

t.test('one holds the lock, everybody sees it, and it is free afterwards', async (t) => {
  const root = rootFolder(t)
  t.equal(await isUpdating(root), false)
  const lock = await lockUpdates(root)
  t.equal(await isUpdating(root), true)
  await t.rejects(lockUpdates(root), { code: 'update_running', message: 'an update is running already' })
  lock.release()
  t.equal(await isUpdating(root), false)
  ;(await lockUpdates(root)).release()
})

t.test('what a killed updater left holds nothing, and is seen as nothing', async (t) => {
  const root = rootFolder(t)
  const module = JSON.stringify(join(import.meta.dirname, '../../release/update-lock.ts'))
  const script = `const { lockUpdates } = await import(${module}); await lockUpdates(${JSON.stringify(root)}); process.kill(process.pid, 'SIGKILL')`
  t.equal(spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: process.cwd() }).signal, 'SIGKILL')
  t.ok(existsSync(join(root, '.update.sock')))
  t.equal(await isUpdating(root), false)
  ;(await lockUpdates(root)).release()
})

/** As nobody: reaches the socket, and tries to take its place and the lock. */
const STRANGER = `
import os, socket, sys
os.chdir(sys.argv[1])
said = []
try: socket.socket(socket.AF_UNIX).connect('.update.sock'); said.append('seen')
except OSError as error: said.append(error.strerror)
for what in (lambda: os.unlink('.update.sock'), lambda: socket.socket(socket.AF_UNIX).bind('.other.sock'), lambda: open('daemon.lock')):
    try: what(); said.append('done')
    except OSError as error: said.append(error.strerror)
print(said)`

t.test(
  'no other user can hold it: else anybody could stop all updates',
  { skip: process.getuid?.() !== 0 },
  async (t) => {
    const root = rootFolder(t)
    const lock = await lockUpdates(root)
    const words = ['--reuid=65534', '--regid=65534', '--clear-groups', '/usr/bin/python3', '-c', STRANGER, root]
    const { stdout } = await promisify(execFile)('setpriv', words)
    const denied = "'Permission denied'"
    t.equal(stdout.trim(), `['seen', ${denied}, ${denied}, ${denied}]`)
    lock.release()
    t.same(readdirSync(root), ['daemon.lock'])
  },
)
