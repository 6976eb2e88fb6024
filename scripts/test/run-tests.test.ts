import t, { type Test } from 'tap'
import { report, runFiles, sum, tallyOfChecks, testEnvironment, testFiles } from '../run-tests.ts'

const suite = `import t from 'tap'
t.test('holds', async (t) => t.ok(true))
t.test('breaks', async (t) => { await t.test('inside', async (t) => t.equal(1, 2, 'one is two')) })
t.test('waits for mbpoll', { skip: 'mbpoll is not installed' }, async () => {})
`

/** Runs the files given as text; tap is started for real, in a folder of its own. */
async function run(test: Test, files: Record<string, string>, fileSeconds = 20) {
  const folder = test.testdir(files)
  return await runFiles(Object.keys(files), folder, fileSeconds)
}

t.test('counts titled tests, and names what failed and what was skipped', async (t) => {
  const tally = await run(t, { 'a.test.ts': suite })
  t.same([tally.passed, tally.failed, tally.skipped.length], [1, 1, 1])
  const lines = report(tally)
  t.match(lines[0], /a\.test\.ts > breaks > inside > one is two$/)
  t.match(lines.at(-2), /^skipped .*a\.test\.ts: waits for mbpoll \(mbpoll is not installed\)$/)
  t.equal(lines.at(-1), '1 passed, 1 failed, 1 skipped')
})

t.test('counts a file that dies after its tests as a failure', async (t) => {
  const tally = await run(t, {
    'a.test.ts': "import t from 'tap'\nt.test('holds', async (t) => t.ok(1))\nt.teardown(() => process.exit(3))",
  })
  t.same([tally.passed, tally.failed], [1, 1])
})

t.test('counts a file without tests as a failure', async (t) => {
  const tally = await run(t, { 'a.test.ts': "import 'tap'", 'b.test.ts': 'const x = 1' })
  t.same([tally.passed, tally.failed], [0, 2])
})

t.test('counts a file that hangs as a failure', async (t) => {
  const hanging = "import t from 'tap'\nt.test('hangs', () => new Promise(() => setInterval(() => {}, 1000)))"
  const tally = await run(t, { 'a.test.ts': hanging }, 1)
  t.equal(tally.passed, 0)
  t.ok(tally.failed >= 1)
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

t.test('finds unit and end-to-end tests apart', async (t) => {
  const folder = t.testdir({ kit: { test: { 'a.test.ts': '', 'b.e2e.test.ts': '', 'c.ts': '' } } })
  t.same(testFiles(folder, 'unit'), ['kit/test/a.test.ts'])
  t.same(testFiles(folder, 'e2e'), ['kit/test/b.e2e.test.ts'])
})
