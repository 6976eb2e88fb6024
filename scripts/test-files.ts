/** Runs test files in several processes: which is next, for how long, and in what environment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type CpuTicks, idlePercent, readTicks } from './stolen-time.ts'
import { createTally, emptyTally, type Tally } from './tap-tally.ts'

/** Limits for test files; `runS` is for all files of a kind together. */
export interface Cost {
  jobs: number
  fileS: number
  runS: number
  /** Most files that share a process; default 1. */
  together?: number
  /** Arguments of Node for each process. */
  nodeArgs?: readonly string[]
}

/** Concurrency limits: browsers take a core each while a page loads, sound needs exact timing. */
const MOST = { browser: 2, sound: 1 }
const BROWSER_TEXT = /\/page-rig\.ts'/
/** Some have the browser through a stage of their daemon. A unit test of a page's words has none. */
const PAGE_FILE = /\/page[^/]*\.(e2e|measure)\.test\.ts$/
const SOUND_TEXT = /\/(gst-here|audio-board|three-clocks)\.ts'/

/**
 * Extra processes beyond the jobs of a kind while the machine is idle: tests wait a lot. A process of tests takes half a
 * core on average, so that three left a quarter of two cores idle; with more than one beside them waits time out.
 */
const MOST_MORE = 1
/** Idle percentage since the last look from which the machine counts as idle: the next process finds half a core. */
const IDLE_PERCENT = 20
const LOOK_MS = 500

/** Niceness of everything but sound, which takes precedence. */
const NICENESS = '5'

/**
 * Files that need their own process: addons and their threads, tests that measure a heap or the memory of their
 * process, and those that change process-wide state.
 */
const OWN_PROCESS = /^native\//
const OWN_PROCESS_TEXT = /\/(heap|gst-here)\.ts|(Mb|Most)\(process\.pid\)|process\.(chdir|env\.\w+ =[^=])|--expose-gc/

/**
 * For a unit test with a process of its own: it mostly collects all garbage again and again, and each time would wake a
 * thread for a part of the work.
 */
const ALONE_ARGS = ['--single-threaded-gc']

/** Tap reports the late test at the file's limit; its process is killed after this factor more. */
const GRACE = 1.1
/** Extra seconds for a process of several files: on a busy machine its start takes that long. */
const BEGIN_S = 30
/** Processes that a file leaves running are killed after this time. */
const LEFT_OPEN_MS = 500
/** Most characters kept of a file's standard error; shown if it fails. */
const MOST_STDERR = 20_000

const TOGETHER = join(import.meta.dirname, 'tests-together.ts')

/** In the checkout: duration of each file, so that the longest start first; and Node's compile cache. */
const TIMES = 'build/test-times.json'
export const COMPILED = 'build/compiled-modules'

/** The environment for tests, without variables from the service manager. */
export function testEnvironment(inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isManagers = (name: string) =>
    /^(NOTIFY_|WATCHDOG_|LISTEN_)|_DIRECTORY$|^(JOURNAL_STREAM|INVOCATION_ID)$/.test(name)
  return Object.fromEntries(Object.entries(inherited).filter(([name]) => !isManagers(name)))
}

/** A limited resource that a file needs; undefined: only time. */
export type Need = keyof typeof MOST

/** @param text of the file */
export function needOf(file: string, text: string): Need | undefined {
  if (SOUND_TEXT.test(text)) return 'sound'
  return PAGE_FILE.test(file) || BROWSER_TEXT.test(text) ? 'browser' : undefined
}

/** The next file: the first that may run beside the running ones; undefined if all the rest must wait. */
export function nextFile(
  waiting: readonly string[],
  running: ReadonlySet<string>,
  need: (file: string) => Need | undefined,
): string | undefined {
  const needed = [...running].map(need)
  return waiting.find((file) => {
    const what = need(file)
    return what === undefined || needed.filter((each) => each === what).length < MOST[what]
  })
}

/**
 * Sorts by last duration, longest first; new files come before all. Files that share a limited resource count as long as
 * all of them one after another take: begun last, they would run alone at the end.
 * @param times ms by file
 */
export function longestFirst(
  files: readonly string[],
  times: Readonly<Record<string, number>>,
  need: (file: string) => Need | undefined = () => undefined,
): string[] {
  const ms = (file: string) => times[file] ?? Number.POSITIVE_INFINITY
  const together = { browser: 0, sound: 0 }
  for (const file of files) {
    const what = need(file)
    if (what !== undefined) together[what] += ms(file) / MOST[what]
  }
  const weight = (file: string) => {
    const what = need(file)
    return what === undefined ? ms(file) : Math.max(ms(file), together[what])
  }
  const downwards = (one: number, other: number) => (one === other ? 0 : other - one)
  return [...files].sort((one, other) => downwards(weight(one), weight(other)) || downwards(ms(one), ms(other)))
}

/**
 * Groups files that share a process: always the same ones, so that interference shows each time. Files with a browser
 * are grouped together, and share one.
 * @param most files of a process
 */
export function shared(files: readonly string[], folder: string, most: number): string[][] {
  const groups: string[][] = []
  const sharing: Record<'browser' | 'nothing', string[]> = { browser: [], nothing: [] }
  for (const file of files) {
    const text = readFileSync(join(folder, file), 'utf8')
    const need = needOf(file, text) ?? 'nothing'
    const isAlone = most === 1 || OWN_PROCESS.test(file) || OWN_PROCESS_TEXT.test(text)
    if (isAlone || need === 'sound') groups.push([file])
    else sharing[need].push(file)
  }
  for (const others of Object.values(sharing))
    for (let at = 0; at < others.length; at += most) groups.push(others.slice(at, at + most))
  return groups
}

/** Files of a kind, and their limits. */
export interface Batch extends Cost {
  files: readonly string[]
}

/** @see runBatches */
export function runFiles(files: readonly string[], folder: string, cost: Cost): Promise<Tally[]> {
  return runBatches([{ ...cost, files }], folder)
}

/**
 * Runs the files of all kinds in parallel, so that no kind waits for the last file of another. A file beyond its time,
 * or a run beyond the limit of its kinds, counts as a failure.
 * @returns one tally per process
 */
export async function runBatches(batches: readonly Batch[], folder: string): Promise<Tally[]> {
  const times = readTimes(folder)
  const groups = new Map<string, string[]>()
  const costs = new Map<string, Cost>()
  for (const batch of batches)
    for (const group of shared(batch.files, folder, batch.together ?? 1)) {
      groups.set(group[0] ?? '', group)
      costs.set(group[0] ?? '', batch)
    }
  const files = [...groups.values()].flat()
  const jobs = Math.max(...batches.map((batch) => batch.jobs))
  const runS = batches.reduce((sum, batch) => sum + batch.runS, 0)
  const needs = new Map(files.map((file) => [file, needOf(file, readFileSync(join(folder, file), 'utf8'))]))
  const need = (file: string) => needs.get(file)
  const waiting = longestFirst([...groups.keys()], timesOfGroups(groups, times), need)
  const running = new Map<string, ChildProcess>()
  const tallies: Tally[] = []
  const stop = (signal: NodeJS.Signals) => {
    waiting.length = 0
    for (const child of running.values()) signalGroup(child, signal)
  }
  const interrupted = () => stop('SIGTERM')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted)
  const late = setTimeout(() => {
    const left = waiting.length
    const detail = `not done after ${runS} s: ${[...running.keys()].join(', ')}, and ${left} that had not begun`
    tallies.push({ ...emptyTally(), failed: 1, failures: [{ path: ['the whole run'], detail }] })
    stop('SIGKILL')
  }, runS * 1000)
  const run = async (file: string) => {
    const startMs = performance.now()
    const { fileS = 0, nodeArgs = [] } = costs.get(file) ?? {}
    const group = groups.get(file) ?? []
    const tally = await runGroup({
      group,
      isFirst: need(file) === 'sound',
      folder,
      fileS,
      runS,
      nodeArgs,
      started: (child) => running.set(file, child),
    })
    tallies.push(tally)
    if (group.length === 1) times[file] = Math.round(performance.now() - startMs)
    for (const [name, ms] of Object.entries(tally.files)) times[name] = Math.round(ms)
    running.delete(file)
    begin(jobs)
  }
  const { promise: allEnded, resolve: endAll } = Promise.withResolvers<void>()
  const begin = (most: number) => {
    for (;;) {
      const file = running.size < most ? nextFile(waiting, new Set(running.keys()), need) : undefined
      if (file === undefined) break
      waiting.splice(waiting.indexOf(file), 1)
      void run(file)
    }
    if (running.size === 0) endAll()
  }
  // What runs alone does so because it measures.
  const looking = jobs > 1 ? whileIdle(() => begin(Math.min(running.size + 1, jobs + MOST_MORE))) : undefined
  begin(jobs)
  await allEnded
  clearInterval(looking)
  clearTimeout(late)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted)
  writeTimes(folder, times)
  return tallies
}

/** Calls after each look at a machine that had time to spare. */
function whileIdle(call: () => void): NodeJS.Timeout {
  let before: CpuTicks = readTicks()
  return setInterval(() => {
    const now = readTicks()
    if (idlePercent(before, now) >= IDLE_PERCENT) call()
    before = now
  }, LOOK_MS)
}

/** By the first file of each group: total duration of its files, if known for all. */
function timesOfGroups(groups: ReadonlyMap<string, string[]>, times: Readonly<Record<string, number>>) {
  const known: Record<string, number> = {}
  for (const [first, group] of groups)
    if (group.every((file) => times[file] !== undefined))
      known[first] = group.reduce((ms, file) => ms + (times[file] ?? 0), 0)
  return known
}

interface GroupRun {
  group: readonly string[]
  /** Has precedence over others for the processor. */
  isFirst: boolean
  folder: string
  fileS: number
  runS: number
  nodeArgs: readonly string[]
  started(child: ChildProcess): void
}

/** Runs one process; its standard error is added to its failures. Never rejects. */
async function runGroup({ group, isFirst, folder, fileS, runS, nodeArgs, started }: GroupRun): Promise<Tally> {
  const { tally, write, end } = createTally(group)
  const [file = ''] = group
  const isShared = group.length > 1
  const args = isShared ? [TOGETHER, String(fileS), ...group] : [file]
  const isUnit = !/\.(e2e|measure|vm-test)\b/.test(file)
  const words = [process.execPath, ...(isUnit && !isShared ? ALONE_ARGS : []), ...nodeArgs, ...args]
  const child = spawn('nice', ['-n', isFirst ? '0' : NICENESS, ...words], {
    cwd: folder,
    env: {
      ...testEnvironment(process.env),
      TAP_TIMEOUT: String(isShared ? runS : fileS),
      NODE_COMPILE_CACHE: join(folder, COMPILED),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  started(child)
  // In a shared process a hanging file is reported by name and the next ones run. Only a process silent for longer is
  // killed with all its files.
  const mostS = isShared ? fileS + BEGIN_S : fileS
  let lateS: number | undefined
  const late = setTimeout(
    () => {
      lateS = mostS
      signalGroup(child, 'SIGKILL')
    },
    mostS * GRACE * 1000,
  )
  if (isShared) child.stdout.on('data', () => late.refresh())
  child.stdout.setEncoding('utf8').on('data', write)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-MOST_STDERR)
  })
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.on('error', () => resolve([null, null]))
    child.on('close', (...how) => resolve(how))
    // A process left running by a test may hold its output open, and would cost the others their time.
    child.on('exit', () => void setTimeout(signalGroup, LEFT_OPEN_MS, child, 'SIGKILL'))
  })
  clearTimeout(late)
  end({ code, signal, lateS })
  if (tally.failed > 0 && said !== '') tally.failures.push({ path: [file, 'written to standard error'], detail: said })
  return tally
}

/** A process of tests and what it started. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has just ended.
  }
}

function readTimes(folder: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(join(folder, TIMES), 'utf8'))
  } catch {
    return {} // the first run, or an unreadable file: the order is the only thing that hangs on it
  }
}

function writeTimes(folder: string, times: Record<string, number>): void {
  mkdirSync(dirname(join(folder, TIMES)), { recursive: true })
  writeFileSync(join(folder, TIMES), JSON.stringify(times, null, 1))
}
