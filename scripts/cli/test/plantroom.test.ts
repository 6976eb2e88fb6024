/** The command line as a process: help, exit codes, passwords from a pipe. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { t } from 'tap'

const program = join(import.meta.dirname, '../../plantroom.ts')

function plantroom(args: string[], input = '') {
  // Compiled once: from its sources a start takes seconds.
  const { NODE_COMPILE_CACHE, PATH } = process.env
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', input, env: { NODE_COMPILE_CACHE, PATH } })
}

t.test('lists the daemons that are there and the commands', async (t) => {
  const { status, stdout } = plantroom(['--help'])
  t.equal(status, 0)
  for (const word of ['gateway', 'status', 'check-config', 'password', 'backup', 'restore', 'demo', 'Exit codes'])
    t.match(stdout, word)
})

t.test('has help for every command, with its exit codes', async (t) => {
  for (const name of ['status', 'check-config', 'password', 'backup', 'restore', 'demo', 'gateway']) {
    const { status, stdout } = plantroom([name, '--help'])
    t.equal(status, 0, name)
    t.match(stdout, /Exit codes: 0/, name)
  }
})

t.test('tells its version', async (t) => {
  t.match(plantroom(['--version']).stdout, /^\d+\.\d+\.\d+\n$/)
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
