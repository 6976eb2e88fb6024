/**
 * Runs what shows that the product holds, and closes with one line: `N passed, N failed`, with `, N skipped` where
 * some were.
 *
 *     node scripts/run-tests.ts [checks] [unit] [e2e] [vm] [FILE ...] [--slowest]
 *
 * `checks` are the checks without tests (scripts/checks.ts), each counted as one test. `unit` is every *.test.ts but
 * *.e2e.test.ts, `e2e` those; `vm` is every *.vm-test.ts, which starts guests of its own. Ends with 0 only when something ran and nothing failed.
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type CheckResult, runChecks } from './checks.ts'
import { isMain } from './is-main.ts'
import { createTally, type Tally } from './tap-tally.ts'

/** Files at a time; the machines this must do on have two cores. */
const JOBS = 2
/** Seconds for one file: unit tests never wait, the others start daemons, browsers and peers. */
const UNIT_FILE_S = 60
const E2E_FILE_S = 180
/** Guests take both cores, and minutes where they are emulated. */
const VM_FILE_S = 900
/** Seconds for all files of one kind together; past this the run is broken, not slow. */
const RUN_S = 540
const VM_RUN_S = 1800

/** Characters kept of what tests write to standard error; shown when something fails. */
const MOST_STDERR = 20_000

const root = dirname(import.meta.dirname)
const TAP = join(root, 'node_modules/tap/dist/esm/run.mjs')

/** What a test file may cost; `runS` is for all files of its kind together. */
export interface Cost {
  jobs: number
  fileS: number
  runS: number
}

const COSTS: Record<'unit' | 'e2e' | 'vm', Cost> = {
  unit: { jobs: JOBS, fileS: UNIT_FILE_S, runS: RUN_S },
  e2e: { jobs: JOBS, fileS: E2E_FILE_S, runS: RUN_S },
  vm: { jobs: 1, fileS: VM_FILE_S, runS: VM_RUN_S },
}

/** Test files of a kind below `folder`, as relative paths in a stable order. */
export function testFiles(folder: string, kind: 'unit' | 'e2e' | 'vm'): string[] {
  if (kind === 'vm') return globSync('{daemons,kit,native,scripts}/**/*.vm-test.ts', { cwd: folder }).sort()
  const found = globSync('{daemons,kit,native,scripts}/**/*.test.ts', { cwd: folder })
  const isE2e = (file: string) => file.endsWith('.e2e.test.ts')
  return found.filter((file) => !file.includes('node_modules/') && isE2e(file) === (kind === 'e2e')).sort()
}

/** The environment for tests: what a service manager gave to this process is not for them. */
export function testEnvironment(inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isManagers = (name: string) =>
    /^(NOTIFY_|WATCHDOG_|LISTEN_)|_DIRECTORY$|^(JOURNAL_STREAM|INVOCATION_ID)$/.test(name)
  return Object.fromEntries(Object.entries(inherited).filter(([name]) => !isManagers(name)))
}

/**
 * Runs test files under tap, in `folder`. Rejects when it cannot be started; a run past its time counts as one failure.
 * @param tap the script that is run in tap's place by our own tests: two taps in one checkout share its .tap folder
 */
export async function runFiles(files: string[], folder: string, cost: Cost, tap = TAP): Promise<Tally> {
  const { tally, write, end } = createTally()
  const args = [tap, '--reporter=tap', `--jobs=${cost.jobs}`, `--timeout=${cost.fileS}`, ...files]
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: testEnvironment(process.env),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const stop = (signal: NodeJS.Signals) => {
    // The whole group: tap, the test processes and what they started.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal)
  }
  const interrupted = () => stop('SIGTERM')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted)
  const late = setTimeout(() => {
    tally.failed += 1
    tally.failures.push({ path: ['the whole run'], detail: `not done after ${cost.runS} s` })
    stop('SIGKILL')
  }, cost.runS * 1000)
  child.stdout.setEncoding('utf8').on('data', write)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-MOST_STDERR)
  })
  const code = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
  clearTimeout(late)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted)
  end()
  if (code !== 0 && tally.failed === 0) {
    tally.failed += 1
    tally.failures.push({ path: ['tap'], detail: `ended with ${code}` })
  }
  if (tally.failed > 0 && said !== '')
    tally.failures.push({ path: ['what the tests wrote to standard error'], detail: said })
  return tally
}

/** One tally of several. */
export function sum(tallies: Tally[]): Tally {
  const total: Tally = { passed: 0, failed: 0, skipped: [], failures: [], times: [] }
  for (const tally of tallies) {
    total.passed += tally.passed
    total.failed += tally.failed
    total.skipped.push(...tally.skipped)
    total.failures.push(...tally.failures)
    total.times.push(...tally.times)
  }
  return total
}

/** What is printed: failures, skips with their reasons, the slowest when asked for, the closing line. */
export function report(tally: Tally, { slowest = false } = {}): string[] {
  const lines: string[] = []
  for (const { path, detail } of tally.failures) {
    lines.push(`FAILED ${path.join(' > ')}`)
    for (const line of detail.split('\n')) if (line !== '') lines.push(`    ${line}`)
  }
  for (const { title, reason } of tally.skipped) lines.push(`skipped ${title} (${reason})`)
  if (slowest) {
    const order = [...tally.times].sort((a, b) => b.ms - a.ms)
    for (const { title, ms } of order.slice(0, 5)) lines.push(`${Math.round(ms)} ms ${title}`)
  }
  const skipped = tally.skipped.length > 0 ? `, ${tally.skipped.length} skipped` : ''
  lines.push(`${tally.passed} passed, ${tally.failed} failed${skipped}`)
  return lines
}

/** Checks are counted like tests: a check that passes is one passed. */
export function tallyOfChecks(results: CheckResult[]): Tally {
  const failed = results.filter((result) => !result.ok)
  return {
    passed: results.length - failed.length,
    failed: failed.length,
    skipped: [],
    failures: failed.map(({ name, output }) => ({ path: [`check ${name}`], detail: output })),
    times: results.map(({ name, ms }) => ({ title: `check ${name}`, ms })),
  }
}

async function main(args: string[]): Promise<number> {
  const tallies: Tally[] = []
  const named = args.filter((arg) => !['checks', 'unit', 'e2e', 'vm', '--slowest'].includes(arg))
  if (args.includes('checks')) tallies.push(tallyOfChecks(await runChecks(root)))
  for (const kind of ['unit', 'e2e', 'vm'] as const) {
    const files = args.includes(kind) ? testFiles(root, kind) : []
    if (args.includes(kind) && files.length === 0) throw new Error(`no ${kind} test file found below ${root}`)
    if (files.length > 0) tallies.push(await runFiles(files, root, COSTS[kind]))
  }
  if (named.length > 0) tallies.push(await runFiles(named, root, COSTS.e2e))
  const total = sum(tallies)
  for (const line of report(total, { slowest: args.includes('--slowest') })) console.log(line)
  return total.failed === 0 && total.passed > 0 ? 0 : 1
}

if (isMain(import.meta)) process.exitCode = await main(process.argv.slice(2))
