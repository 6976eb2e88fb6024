import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'

const script = join(import.meta.dirname, '../progress.sh')

/** The clock of the script: it waits for as long as whatever else takes, or the first time not at all. */
const CLOCK = { stands: 'exec /bin/sleep 600', strikes: '[ "$1" = 2 ] || exec /bin/sleep 600' }

/** Runs a shell text under the script. The text knows `$told`, which is there once something was told. */
function run(t: Test, text: string, clock = CLOCK.stands) {
  const folder = t.testdir({ sleep: `#!/bin/sh\n${clock}\n` })
  chmodSync(join(folder, 'sleep'), 0o755)
  const log = join(folder, 'log')
  const { status, stdout, stderr } = spawnSync('/bin/sh', [script, 'the work', log, 'sh', '-c', text], {
    encoding: 'utf8',
    env: { PATH: `${folder}:/usr/bin:/bin`, told: `${log}.told` },
  })
  return { status, stdout, stderr, kept: readFileSync(log, 'utf8'), isLeft: existsSync(`${log}.told`) }
}

t.test('says nothing of what is quick, and keeps what it said', async (t) => {
  t.same(run(t, 'echo fine'), { status: 0, stdout: '', stderr: '', kept: 'fine\n', isLeft: false })
})

t.test('ends as the command does, and shows what it said', async (t) => {
  const { status, stderr } = run(t, 'echo no room; exit 7')
  t.same([status, stderr], [7, 'no room\n'])
})

t.test('tells what is going on when it takes a while, and how long it took', async (t) => {
  const { status, stdout, isLeft } = run(t, 'until [ -e "$told" ]; do /bin/sleep 0.05; done', CLOCK.strikes)
  t.match(stdout, /^the work \.\.\.\nthe work: done in \d+ s\n$/)
  t.same([status, isLeft], [0, false])
})
