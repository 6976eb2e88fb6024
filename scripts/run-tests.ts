/**
 * Runs the checks and tests, and ends with one line: `N passed, N failed`, with `, N skipped` if some were.
 *
 *     node scripts/run-tests.ts [checks] [unit] [e2e] [measure] [vm] [image] [FILE ...] [--slowest]
 *
 * `checks` are the checks without tests (scripts/checks.ts), each counted as one test. `e2e` is every *.e2e.test.ts,
 * `measure` every *.measure.test.ts, which needs a quiet machine, `unit` every other *.test.ts; `vm` is every
 * *.vm-test.ts, which starts its own guests, `image` every *.image-test.ts, which starts a board. Ends with 0 only if something ran and nothing failed.
 */
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundleTap } from './bundle-tap.ts'
import { type CheckResult, runChecks } from './checks.ts'
import { isMain } from './is-main.ts'
import { type CpuTicks, endedCpuS, idlePercent, readTicks, stolenPercent } from './stolen-time.ts'
import { stripFirst } from './strip-first.ts'
import { emptyTally, type Tally } from './tap-tally.ts'
import { type Batch, COMPILED, type Cost, runBatches, runFiles } from './test-files.ts'

/** Concurrent files, for machines with two cores. Unit tests compute. */
const UNIT_JOBS = 3
/**
 * The others spend part of their time waiting for daemons, lines and peers; four gain nothing, and make waits time out.
 */
const E2E_JOBS = 3
/** Most unit test files that share a process. */
const UNIT_TOGETHER = 24
/** Most end-to-end files that share a process, and a browser if they use one. */
const E2E_TOGETHER = 5
/**
 * Seconds for one file: unit tests never wait, the others start daemons, browsers and peers. Only a file that hangs
 * takes so long: on half of this machine those that measure memory take a minute, and the longest others three.
 */
const UNIT_FILE_S = 150
const E2E_FILE_S = 400
/** A million frames take minutes. */
const MEASURE_FILE_S = 900
/** Guests use both cores, and take minutes if they are emulated. */
const VM_FILE_S = 900
/** A board starts some twenty times, in a minute each; two and more where others use the machine. */
const IMAGE_FILE_S = 5400
/** Seconds for all files of one kind together; beyond it the run is broken, not slow. */
const RUN_S = 3600

const root = dirname(import.meta.dirname)

/** Kinds of test files; measurements of time run alone on the machine. */
const KINDS = ['unit', 'e2e', 'measure', 'vm', 'image'] as const
type Kind = (typeof KINDS)[number]

const COSTS: Record<Kind, Cost> = {
  unit: { jobs: UNIT_JOBS, together: UNIT_TOGETHER, fileS: UNIT_FILE_S, runS: RUN_S },
  e2e: { jobs: E2E_JOBS, together: E2E_TOGETHER, fileS: E2E_FILE_S, runS: RUN_S },
  measure: { jobs: 1, fileS: MEASURE_FILE_S, runS: RUN_S },
  vm: { jobs: 1, fileS: VM_FILE_S, runS: RUN_S },
  image: { jobs: 2, fileS: IMAGE_FILE_S, runS: IMAGE_FILE_S },
}

/** Test files of a kind below `folder`, as relative paths in a stable order. */
export function testFiles(folder: string, kind: Kind): string[] {
  const found = globSync('{daemons,kit,native,scripts}/**/*.{test,vm-test,image-test}.ts', { cwd: folder })
  return found.filter((file) => !file.includes('node_modules/') && kindOf(file) === kind).sort()
}

function kindOf(file: string): Kind {
  return KINDS.find((kind) => new RegExp(`\\.${kind}[.-]test\\.ts$`).test(file)) ?? 'unit'
}

/** Adds up several tallies. */
export function sum(tallies: Tally[]): Tally {
  const total = emptyTally()
  for (const tally of tallies) {
    total.passed += tally.passed
    total.failed += tally.failed
    total.skipped.push(...tally.skipped)
    total.failures.push(...tally.failures)
    total.times.push(...tally.times)
  }
  return total
}

/** The report: failures, skips with reasons, the slowest tests on request, the closing line. */
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

/** Counts checks like tests: a check that passes is one passed. */
export function tallyOfChecks(results: CheckResult[]): Tally {
  const failed = results.filter((result) => !result.ok)
  return {
    ...emptyTally(),
    passed: results.length - failed.length,
    failed: failed.length,
    failures: failed.map(({ name, output }) => ({ path: [`check ${name}`], detail: output })),
    times: results.map(({ name, ms }) => ({ title: `check ${name}`, ms })),
  }
}

/**
 * Where the time of a run went: it is as long as its processor seconds, shared by the cores, and what they idled. Beside
 * other work only the processor seconds can be compared with those of another run.
 */
export function spent(ms: number, cpuS: number, ticks: { from: CpuTicks; to: CpuTicks }): string {
  const idle = idlePercent(ticks.from, ticks.to).toFixed(0)
  return `${Math.round(ms / 1000)} s, with ${Math.round(cpuS)} s of processor; the machine idled ${idle} % of it`
}

async function main(args: string[]): Promise<number> {
  const tallies: Tally[] = []
  const begun = readTicks()
  const named = args.filter((arg) => !['checks', '--slowest', ...KINDS].includes(arg))
  // Beside the tests: the last check leaves a core idle.
  const checks = args.includes('checks') ? runChecks(root) : Promise.resolve([])
  const nodeArgs = await bundleTap(root)
  const batchOf = (kind: Kind): Batch => {
    const files = testFiles(root, kind)
    if (files.length === 0) throw new Error(`no ${kind} test file found below ${root}`)
    return { ...COSTS[kind], files, nodeArgs }
  }
  const asked = KINDS.filter((kind) => args.includes(kind))
  const sideBySide = asked.filter((kind) => COSTS[kind].jobs > 1)
  if (sideBySide.length > 0) {
    const batches = sideBySide.map(batchOf)
    const files = batches.flatMap((batch) => batch.files)
    await stripFirst({ files, folder: root, cache: join(root, COMPILED), nodeArgs })
    tallies.push(...(await runBatches(batches, root)))
  }
  for (const kind of asked.filter((one) => !sideBySide.includes(one)))
    tallies.push(...(await runBatches([batchOf(kind)], root)))
  for (const kind of KINDS) {
    const files = named.filter((file) => kindOf(file) === kind)
    if (files.length > 0) tallies.push(...(await runFiles(files, root, { ...COSTS[kind], nodeArgs })))
  }
  tallies.unshift(tallyOfChecks(await checks))
  const total = sum(tallies)
  if (asked.length > 0) console.log(spent(performance.now(), endedCpuS(), { from: begun, to: readTicks() }))
  if (args.includes('measure'))
    console.log(`the host took ${stolenPercent(begun, readTicks()).toFixed(1)} % of this machine`)
  for (const line of report(total, { slowest: args.includes('--slowest') })) console.log(line)
  return total.failed === 0 && total.passed > 0 ? 0 : 1
}

if (isMain(import.meta)) process.exitCode = await main(process.argv.slice(2))
