import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { report, spent, sum, tallyOfChecks, testFiles } from '../run-tests.ts'
import { createTally, emptyTally, type FileEnd } from '../tap-tally.ts'
import { longestFirst, needOf, nextFile, runFiles, shared, testEnvironment } from '../test-files.ts'

/** What a file prints under tap 21 with a test that holds, one that breaks inside, and one that is skipped. */
const mixed = `TAP version 14
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
`

/** The tally of what a file prints, given as text. */
function tallyOf(text: string, how: Partial<FileEnd> = {}) {
  const { tally, write, end } = createTally(['a.test.ts'])
  write(text)
  end({ code: 0, signal: null, ...how })
  return tally
}

/** Runs a script as the only test file. */
async function runScript(test: Test, script: string, fileS = 20) {
  const folder = test.testdir({ 'a.test.ts': script })
  return sum(await runFiles(['a.test.ts'], folder, { jobs: 1, fileS, runS: 40 }))
}

t.test('counts titled tests, and names what failed and what was skipped', async (t) => {
  const tally = tallyOf(mixed, { code: 1 })
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

t.test('a difference of thousands of lines is cut, and says so', async (t) => {
  const lines = Array.from({ length: 5000 }, (_, at) => `    +${at}`).join('\n')
  const tally = tallyOf(`not ok 1 - same\n  ---\n  diff: |\n${lines}\n  ...\n1..1\n`, { code: 1 })
  const told = report(tally)
  t.equal(told.length, 63)
  t.equal(told.at(-2), '    ... and 4940 more lines')
})

/** What a process prints that ran files one after the other. */
function tallyOfFiles(text: string, how: Partial<FileEnd> = {}) {
  const { tally, write, end } = createTally(['a.test.ts', 'b.test.ts', 'c.test.ts'])
  write(text)
  end({ code: 0, signal: null, ...how })
  return tally
}

const indented = mixed
  .replace(/^TAP.*\n/, '')
  .replace(/^/gm, '    ')
  .trimEnd()
const empty = '# Subtest: b.test.ts\n    1..0\nok 2 - b.test.ts # time=2ms\n'

t.test('counts the tests of files that share a process, each under its file', async (t) => {
  const skipped = '# Subtest: c.test.ts\n    1..0 # needs root\nok 3 - c.test.ts # SKIP needs root\n1..3\n'
  const tally = tallyOfFiles(`# Subtest: a.test.ts\n${indented}\nnot ok 1 - a.test.ts # time=30ms\n${empty}${skipped}`)
  t.same([tally.passed, tally.failed, tally.skipped.length], [1, 2, 2])
  t.equal(tally.files['a.test.ts'], 30)
  t.match(
    report(tally).join('\n'),
    /FAILED a\.test\.ts > breaks > inside > one is two[\s\S]*FAILED b\.test\.ts\n {4}no test/,
  )
  t.match(tally.skipped, [{ title: 'a.test.ts: waits for mbpoll' }, { title: 'c.test.ts', reason: 'needs root' }])
})

t.test('a file that cannot be read is a failure beside those that share its process', async (t) => {
  const cannot = "not ok 1 - a.test.ts\n  ---\n  message: Cannot find module 'x'\n  ...\n"
  const tally = tallyOfFiles(`${cannot}1..1\n`, { code: 1 })
  t.match(report(tally).join('\n'), /FAILED a\.test\.ts\n.*Cannot find module/)
})

t.test('files that a process did not come to are failures, each by its name', async (t) => {
  const tally = tallyOfFiles(`# Subtest: a.test.ts\n${indented}\nok 1 - a.test.ts\n`, { code: null, signal: 'SIGSEGV' })
  t.match(report(tally).join('\n'), /FAILED b\.test\.ts\n {4}not run: .*SIGSEGV"\nFAILED c\.test\.ts\n {4}not run/)
})

t.test('what wants a process for itself gets one, and the others share theirs', async (t) => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `kit/test/${name}.test.ts`)
  const [a, b, c, d, e, f] = names
  const texts = {
    'b.test.ts': "import { heapOf } from '#kit/test/heap.ts'",
    'c.test.ts': "const isMany = process.env.RUNS === 'many'",
    'd.test.ts': 'const mb = residentMb(board.pid)',
    'e.test.ts': 'const mb = residentMb(process.pid)',
    'f.test.ts': "process.env.PATH = ''",
  }
  const folder = t.testdir({ kit: { test: { 'a.test.ts': '', ...texts } } })
  t.same(shared(names, folder, 2), [[b], [e], [f], [a, c], [d]])
  t.same(shared(names, folder, 1), [[a], [b], [c], [d], [e], [f]])
})

t.test('files with a browser share a process among themselves, and what has sound has its own', async (t) => {
  const names = ['page-a', 'door', 'feed', 'heard', 'routes'].map((name) => `x/${name}.e2e.test.ts`)
  const [one = '', other = '', feed = '', heard = '', routes = ''] = names
  const texts = {
    [basename(heard)]: "import { noClocks } from './three-clocks.ts'",
    [basename(other)]: "import { openPage } from '#kit/test/web/page-rig.ts'",
  }
  const folder = t.testdir({ x: { ...Object.fromEntries(names.map((name) => [basename(name), ''])), ...texts } })
  t.same(shared(names, folder, 5), [[heard], [one, other], [feed, routes]])
})

t.test('files that share a process are told apart, and one that hangs does not keep the next', async (t) => {
  const test = (body: string) => `import t from 'tap'\nt.test('one', async (t) => { ${body} })\n`
  const files = {
    'a.test.ts': test('t.equal(1 + 1, 2)'),
    'b.test.ts': test('await new Promise(() => {})'),
    'c.test.ts': test('t.fail("x")'),
  }
  const folder = t.testdir({
    ...files,
    node_modules: t.fixture('symlink', join(import.meta.dirname, '../../node_modules')),
  })
  const tally = sum(await runFiles(Object.keys(files), folder, { jobs: 1, together: 3, fileS: 2, runS: 40 }))
  t.same([tally.passed, tally.failed], [1, 2])
  t.match(report(tally).join('\n'), /FAILED b\.test\.ts > one > timeout![\s\S]*FAILED c\.test\.ts > one > x/)
})

t.test('counts a file that dies after its tests as a failure', async (t) => {
  const holds = '# Subtest: holds\n    1..0\nok 1 - holds\n1..1\n'
  const tally = tallyOf(holds, { code: 3 })
  t.same([tally.passed, tally.failed], [1, 1])
  t.same(report(tally).slice(0, 2), ['FAILED a.test.ts', '    exitCode: 3'])
  t.same(report(tallyOf(holds, { code: null, signal: 'SIGSEGV' })).slice(0, 2), [
    'FAILED a.test.ts',
    '    signal: "SIGSEGV"',
  ])
  t.equal(tallyOf(holds).failed, 0)
})

t.test('counts a file without tests as a failure, and a file that skips itself as skipped', async (t) => {
  for (const text of ['', '1..0\n', 'TAP version 14\n1..0\n']) {
    const empty = tallyOf(text)
    t.same([empty.passed, empty.failed, empty.skipped.length], [0, 1, 0])
  }
  const skipped = tallyOf('TAP version 14\n1..0 # needs root\n')
  t.same(report(skipped), ['skipped a.test.ts (needs root)', '0 passed, 0 failed, 1 skipped'])
})

t.test('counts a file that hangs as a failure, though nothing in it failed', async (t) => {
  const tally = await runScript(t, 'setInterval(() => {}, 1000)', 1)
  t.same(report(tally), ['FAILED a.test.ts', '    not done after 1 s', '0 passed, 1 failed'])
})

t.test('a file that ends badly without a word is a failure, with what it wrote', async (t) => {
  const tally = await runScript(t, "console.error('out of memory'); process.exitCode = 9")
  t.equal(tally.failed, 1)
  t.match(report(tally).join('\n'), /FAILED a.test.ts\n {4}exitCode: 9[\s\S]*out of memory/)
})

t.test('reads what the file that it runs prints, to its last line', async (t) => {
  const tally = await runScript(t, `process.stdout.write(${JSON.stringify(mixed)}); process.exitCode = 1`)
  t.same([tally.passed, tally.failed, tally.skipped.length], [1, 1, 1])
})

t.test('what a file leaves running does not hold the run up', async (t) => {
  const spawning = "import { spawn } from 'node:child_process'"
  // Longer than the file may take: a run that waited for it would be late.
  const leaving = `${spawning}\nspawn('sleep', ['60'], { stdio: 'inherit' }).unref()`
  const tally = await runScript(t, `${leaving}\nprocess.stdout.write(${JSON.stringify(mixed)})`)
  t.same([tally.passed, tally.failed], [1, 1])
})

t.test('a run past its time is a failure that names what was still running', async (t) => {
  const folder = t.testdir({ 'a.test.ts': 'setInterval(() => {}, 1000)', 'b.test.ts': '' })
  const tally = sum(await runFiles(['a.test.ts', 'b.test.ts'], folder, { jobs: 1, fileS: 20, runS: 1 }))
  t.match(report(tally).join('\n'), /the whole run\n {4}not done after 1 s: a.test.ts, and 1 that had not begun/)
})

t.test('the longest files begin first, new ones before them', async (t) => {
  t.same(longestFirst(['a', 'b', 'c', 'd', 'e'], { b: 3, c: 7, e: 3 }), ['a', 'd', 'c', 'b', 'e'])
})

t.test('files that run one at a time begin before a longer one, if all of them take longer', async (t) => {
  const times = { long: 10, short: 1, page: 9, next: 8, loud: 4, soft: 5, still: 2 }
  const needs: Record<string, 'browser' | 'sound'> = { page: 'browser', next: 'browser' }
  for (const name of ['loud', 'soft', 'still']) needs[name] = 'sound'
  const order = longestFirst(Object.keys(times), times, (file) => needs[file])
  t.same(order, ['soft', 'loud', 'still', 'long', 'page', 'next', 'short'])
})

t.test('two files with a browser run at a time, and one with sound', async (t) => {
  const [one, two, three] = ['x/page.e2e.test.ts', 'x/page-a.e2e.test.ts', 'x/page-b.e2e.test.ts']
  const [other, heard, played] = ['x/other.e2e.test.ts', 'x/heard.test.ts', 'x/played.test.ts']
  const sound = "import { gstMissing } from '#native/node-gst/test/gst-here.ts'"
  const need = (file: string) => needOf(file, file === heard || file === played ? sound : '')
  const next = (waiting: string[], ...running: string[]) => nextFile(waiting, new Set(running), need)
  t.equal(next([three, other], one, two), other)
  t.equal(next([three, other], one), three)
  t.equal(next([three], one, two), undefined)
  t.equal(next([played, three], heard), three)
  t.equal(next([played], heard), undefined)
  t.equal(next([played], one, two), played)
  t.equal(next([]), undefined)
  t.equal(needOf('x/web/page-words.test.ts', ''), undefined, 'a unit test of a page has no browser')
})

t.test('a file that fails is run once', async (t) => {
  const folder = t.testdir({
    'a.test.ts':
      "import { appendFileSync } from 'node:fs'\nappendFileSync('runs', 'x')\nconsole.log('not ok 1 - never\\n1..1')",
  })
  t.equal(sum(await runFiles(['a.test.ts'], folder, { jobs: 1, fileS: 20, runS: 40 })).failed, 1)
  t.equal(readFileSync(join(folder, 'runs'), 'utf8'), 'x')
})

t.test('ends with the closing line alone', async (t) => {
  t.same(report(sum([])), ['0 passed, 0 failed'])
})

t.test('says how long a run was, what it computed, and what it left idle', async (t) => {
  const ticks = { from: { all: 0, stolen: 0, idle: 0 }, to: { all: 2000, stolen: 0, idle: 620 } }
  t.equal(spent(14_800, 13.6, ticks), '15 s, with 14 s of processor; the machine idled 31 % of it')
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
  const lines = report({ ...emptyTally(), passed: 6, times }, { slowest: true })
  t.same(lines, ['9 ms t9', '6 ms t6', '5 ms t5', '4 ms t4', '3 ms t3', '6 passed, 0 failed'])
})

t.test('gives no test what a service manager gave to it', async (t) => {
  const env = { PATH: '/bin', NOTIFY_SOCKET: '@x', WATCHDOG_USEC: '1', STATE_DIRECTORY: '/x', JOURNAL_STREAM: '1:2' }
  t.same(testEnvironment(env), { PATH: '/bin' })
})

t.test('finds unit, end-to-end, measuring and guest tests apart', async (t) => {
  const files = { 'a.test.ts': '', 'b.e2e.test.ts': '', 'c.ts': '', 'd.vm-test.ts': '', 'e.measure.test.ts': '' }
  const folder = t.testdir({ kit: { test: files } })
  t.same(testFiles(folder, 'unit'), ['kit/test/a.test.ts'])
  t.same(testFiles(folder, 'e2e'), ['kit/test/b.e2e.test.ts'])
  t.same(testFiles(folder, 'measure'), ['kit/test/e.measure.test.ts'])
  t.same(testFiles(folder, 'vm'), ['kit/test/d.vm-test.ts'])
})
