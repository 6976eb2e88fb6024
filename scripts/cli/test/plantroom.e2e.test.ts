/** The command line as it is built, as a process: help, exit codes, passwords from a pipe. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { t } from 'tap'

const COMMAND = join(import.meta.dirname, '../../../build/plantroom')

function plantroom(args: string[], input = '') {
  const { NODE_COMPILE_CACHE, PATH } = process.env
  return spawnSync(COMMAND, args, { encoding: 'utf8', input, env: { NODE_COMPILE_CACHE, PATH } })
}

t.test('has help for every command, with its exit codes', async (t) => {
  for (const name of [
    'status',
    'check-config',
    'password',
    'backup',
    'restore',
    'publish',
    'updates keys',
    'updates backup',
    'updates restore',
    'demo',
    'gateway',
  ]) {
    const { status, stdout } = plantroom([...name.split(' '), '--help'])
    t.equal(status, 0, name)
    t.match(stdout, /Exit codes: 0/, name)
  }
})

t.test('ends with 2 for what it does not know, and names the nearest', async (t) => {
  t.match(plantroom([]), { status: 2, stderr: /Start a daemon/ })
  t.match(plantroom(['gatewy']), { status: 2, stderr: /did you mean gateway\?/ })
  t.match(plantroom(['xylophone']), { status: 2, stderr: /in this installation; plantroom --help/ })
  t.match(plantroom(['gateway', '--import', 'x']), { status: 2, stderr: /Unknown option '--import'/ })
  t.match(plantroom(['backup', 'gateway']), { status: 2, stderr: /expected: plantroom backup DAEMON/ })
})

t.test('sets a password from a pipe and backs it up', async (t) => {
  const state = join(t.testdir(), 'state')
  t.match(plantroom(['password', 'gateway', '--state', state], 'correct horse\n'), { status: 0, stderr: '' })
  t.match(plantroom(['password', 'gateway', '--state', state], ''), { status: 2, stderr: /expected the password/ })
  t.match(plantroom(['backup', 'gateway', '--state', state, join(t.testdirName, 'b.tar.gz')]), { status: 0 })
  t.match(plantroom(['restore', 'gateway', '--state', state, join(t.testdirName, 'b.tar.gz')]), { status: 0 })
})
