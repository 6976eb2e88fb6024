import { join } from 'node:path'
import t, { type Test } from 'tap'
import { report, runFiles, sum, tallyOfChecks, testEnvironment, testFiles } from '../run-tests.ts'
import { createTally } from '../tap-tally.ts'

/** What tap 21 prints for a file with a test that holds, one that breaks inside, and one that is skipped. */
const mixed = `TAP version 14
1..1
# Subtest: a.test.ts
    # Subtest: holds
        ok 1 - should be equal
        1..1
    ok 1 - holds # time=3.7ms
    # Subtest: breaks
        # Subtest: inside
            not ok 1 - one is two
              ---
              at:
                fileName: a.test.ts
                lineNumber: 3
              diff: |
                -2
                +1
              ...
            1..1
        not ok 1 - inside # time=2ms
        1..1
    not ok 2 - breaks # time=24.7ms
    ok 3 - waits for mbpoll # SKIP mbpoll is not installed
    1..3
not ok 1 - a.test.ts # time=51ms
`

/** The tally of what a tap prints, given as text. */
function tallyOf(text: string) {
  const { tally, write, end } = createTally()
  write(text)
  end()
  return tally
}

/** Runs a script in tap's place. */
async function runInstead(test: Test, script: string) {
  const folder = test.testdir({ 'tap.mjs': script })
  return await runFiles(['a.test.ts'], folder, { jobs: 1, fileS: 20, runS: 40 }, join(folder, 'tap.mjs'))
}

t.test('counts titled tests, and names what failed and what was skipped', async (t) => {
  const tally = tallyOf(mixed)
  t.same([tally.passed, tally.failed, tally.skipped.length], [1, 1, 1])
  t.same(report(tally), [
    'FAILED a.test.ts > breaks > inside > one is two',
    '    at a.test.ts:3',
    '    -2',
    '    +1',
    'skipped a.test.ts: waits for mbpoll (mbpoll is not installed)',
    '1 passed, 1 failed, 1 skipped',
  ])
})

t.test('counts a file that dies after its tests as a failure', async (t) => {
  const text =
    '# Subtest: a.test.ts\n    ok 1 - holds\n    1..1\nnot ok 1 - a.test.ts\n  ---\n  exitCode: 3\n  ...\n1..1\n'
  const tally = tallyOf(text)
  t.same([tally.passed, tally.failed], [1, 1])
  t.same(report(tally).slice(0, 2), ['FAILED a.test.ts', '    exitCode: 3'])
})

t.test('counts a file without tests as a failure, and a file that skips itself as skipped', async (t) => {
  const empty = tallyOf('ok 1 - a.test.ts # SKIP no tests found\n1..1\n')
  t.same([empty.passed, empty.failed, empty.skipped.length], [0, 1, 0])
  const skipped = tallyOf('ok 1 - a.test.ts # SKIP needs root\n1..1\n')
  t.same([skipped.passed, skipped.failed, skipped.skipped.length], [0, 0, 1])
})

t.test('counts a file that hangs as a failure', async (t) => {
  const tally = tallyOf('not ok 1 - timeout!\n  ---\n  expired: a.test.ts\n  ...\n1..1\n')
  t.same(report(tally), ['FAILED timeout!', '    expired: "a.test.ts"', '0 passed, 1 failed'])
})

t.test('counts a tap that ends badly without a word as a failure, with what it wrote', async (t) => {
  const tally = await runInstead(t, "console.error('out of memory'); process.exitCode = 9")
  t.equal(tally.failed, 1)
  t.match(report(tally).join('\n'), /FAILED tap\n {4}ended with 9[\s\S]*out of memory/)
})

t.test('reads what the tap that it runs prints', async (t) => {
  const tally = await runInstead(t, `process.stdout.write(${JSON.stringify(mixed)}); process.exitCode = 1`)
  t.same([tally.passed, tally.failed, tally.skipped.length], [1, 1, 1])
})

t.test('ends with the closing line alone', async (t) => {
  t.same(report(sum([])), ['0 passed, 0 failed'])
})

t.test('counts checks like tests', async (t) => {
  const results = [
    { name: 'types', ok: true, output: '', ms: 1 },
    { name: 'layers', ok: false, output: 'a.ts: no', ms: 2 },
  ]
  t.same(report(tallyOfChecks(results)), ['FAILED check layers', '    a.ts: no', '1 passed, 1 failed'])
})

t.test('lists the slowest when asked', async (t) => {
  const times = [1, 9, 3, 4, 5, 6].map((ms) => ({ title: `t${ms}`, ms }))
  const lines = report({ passed: 6, failed: 0, skipped: [], failures: [], times }, { slowest: true })
  t.same(lines, ['9 ms t9', '6 ms t6', '5 ms t5', '4 ms t4', '3 ms t3', '6 passed, 0 failed'])
})

t.test('gives no test what a service manager gave to it', async (t) => {
  const env = { PATH: '/bin', NOTIFY_SOCKET: '@x', WATCHDOG_USEC: '1', STATE_DIRECTORY: '/x', JOURNAL_STREAM: '1:2' }
  t.same(testEnvironment(env), { PATH: '/bin' })
})

t.test('finds unit, end-to-end and guest tests apart', async (t) => {
  const files = { 'a.test.ts': '', 'b.e2e.test.ts': '', 'c.ts': '', 'd.vm-test.ts': '' }
  const folder = t.testdir({ kit: { test: files } })
  t.same(testFiles(folder, 'unit'), ['kit/test/a.test.ts'])
  t.same(testFiles(folder, 'e2e'), ['kit/test/b.e2e.test.ts'])
  t.same(testFiles(folder, 'vm'), ['kit/test/d.vm-test.ts'])
})
