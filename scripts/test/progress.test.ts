import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'

const script = join(import.meta.dirname, '../progress.sh')

/** Runs a shell text under the script. */
function run(t: Test, text: string) {
  const log = join(t.testdir(), 'log')
  const { status, stdout, stderr } = spawnSync('/bin/sh', [script, 'the work', log, 'sh', '-c', text], {
    encoding: 'utf8',
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
  const { status, stdout, isLeft } = run(t, 'sleep 2.5')
  t.match(stdout, /^the work \.\.\.\nthe work: done in \d+ s\n$/)
  t.same([status, isLeft], [0, false])
})
