/** Commands of who is not root, on a state folder that is not his. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { asUser } from '#kit/test/another-user.ts'

const skip = process.geteuid?.() === 0 ? false : 'only root starts a command as another user'
const BOB = 64_125

t.test('who may not look into a state folder is told so, and not that there is none', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'no-right-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o755)
  const state = join(folder, 'state')
  mkdirSync(state, { mode: 0o700 })
  const { within, command } = asUser(t, BOB)
  const call = (...words: string[]) => {
    const [program = '', ...rest] = [...within, command, ...words]
    const { status, stderr } = spawnSync(program, rest, {
      encoding: 'utf8',
      input: 'correct horse\n',
      timeout: 400_000,
    })
    return { code: status, said: stderr }
  }
  const file = join(folder, 'file')
  for (const words of [
    ['backup', 'gateway', '--state', state, file],
    ['password', 'gateway', '--state', join(state, 'below')],
    ['controller', 'import', file, '--state', state],
  ])
    t.match(call(...words), { code: 1, said: /no right to .*no-right-.*: run the command as root/ }, words.join(' '))
  t.match(call('backup', 'gateway', '--state', join(folder, 'none'), file), {
    code: 1,
    said: /there is no state folder/,
  })
})
