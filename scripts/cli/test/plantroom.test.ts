/** The command line from its sources, as a process; what it does is in plantroom.e2e.test.ts. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { t } from 'tap'

const program = join(import.meta.dirname, '../../plantroom.ts')

function plantroom(args: string[]) {
  // Compiled once: from its sources a start takes seconds.
  const { NODE_COMPILE_CACHE, PATH } = process.env
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', env: { NODE_COMPILE_CACHE, PATH } })
}

t.test('lists the daemons that are there and the commands', async (t) => {
  const { status, stdout } = plantroom(['--help'])
  t.equal(status, 0)
  for (const word of ['gateway', 'status', 'check-config', 'password', 'backup', 'restore', 'demo', 'Exit codes'])
    t.match(stdout, word)
})

t.test('tells its version', async (t) => {
  t.match(plantroom(['--version']).stdout, /^\d+\.\d+\.\d+\n$/)
})
