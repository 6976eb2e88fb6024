/** Runs test files, several processes at a time: which next, for how long, and with what around them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type CpuTicks, idlePercent, readTicks } from './stolen-time.ts'
import { createTally, emptyTally, type Tally } from './tap-tally.ts'

/** What test files may cost; `runS` is for all files of a kind together. */
export interface Cost {
  jobs: number
  fileS: number
  runS: number
  /** Files that may share a process, at most; default 1. */
  together?: number
  /** Arguments of Node for each process. */
  nodeArgs?: readonly string[]
}

/** How many files may run beside each other: browsers take a core each while a page loads, sound has its instants. */
const MOST = { browser: 2, sound: 1 }
const BROWSER_TEXT = /\/page-rig\.ts'/
const SOUND_TEXT = /\/(gst-here|audio-board|three-clocks)\.ts'/

/** Where the machine has nothing to do, so many processes more than a kind has jobs run beside each other: tests wait for the world. */
const MOST_MORE = 2
/** Percent of all cores over the last second from which on it has nothing to do: the next one begins with a core for itself. */
const IDLE_PERCENT = 40
const LOOK_MS = 1000

/** Niceness of all that is not sound: whatever else runs, sound comes first. */
const NICENESS = '5'

/**
 * What wants a process for itself: addons and their threads, tests that measure a heap, and those that change what is
 * one in a process.
 */
const OWN_PROCESS = /^native\//
const OWN_PROCESS_TEXT = /\/(heap|gst-here)\.ts|process-memory\.ts|process\.(chdir|env\.\w+ =)|--expose-gc/

/** Tap says which test is late at the time of the file; its process is ended when so much more has passed. */
const GRACE = 1.1
/** Seconds more for a process of several files: on a busy machine it takes that long to begin. */
const BEGIN_S = 30
/** What a file left running is ended so long after it. */
const LEFT_OPEN_MS = 500
/** Characters kept of what a file writes to standard error; shown when it fails. */
const MOST_STDERR = 20_000

const TOGETHER = join(import.meta.dirname, 'tests-together.ts')

/** Below the checkout: how long each file took, so that the longest begin first; and modules as the engine left them. */
const TIMES = 'build/test-times.json'
const COMPILED = 'build/compiled-modules'

/** The environment for tests: what a service manager gave to this process is not for them. */
export function testEnvironment(inherited: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isManagers = (name: string) =>
    /^(NOTIFY_|WATCHDOG_|LISTEN_)|_DIRECTORY$|^(JOURNAL_STREAM|INVOCATION_ID)$/.test(name)
  return Object.fromEntries(Object.entries(inherited).filter(([name]) => !isManagers(name)))
}

/** What a file takes that others need too; undefined: nothing but time. */
export type Need = keyof typeof MOST

/** @param text of the file */
export function needOf(file: string, text: string): Need | undefined {
  if (SOUND_TEXT.test(text)) return 'sound'
  return /\/page[^/]*$/.test(file) || BROWSER_TEXT.test(text) ? 'browser' : undefined
}

/** Which file is next: the first that may begin beside those that run; undefined where all that are left must wait. */
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

/** Those that took longest last time come first; new ones before them. @param times ms by file */
export function longestFirst(files: readonly string[], times: Readonly<Record<string, number>>): string[] {
  const ms = (file: string) => times[file] ?? Number.POSITIVE_INFINITY
  return [...files].sort((one, other) => (ms(one) === ms(other) ? 0 : ms(other) - ms(one)))
}

/**
 * Files by the process they share: always the same ones, so that what one does to another shows each time. Those that want
 * a browser are among themselves, and have one.
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

/** Files of a kind, and what they may cost. */
export interface Batch extends Cost {
  files: readonly string[]
}

/** @see runBatches */
export function runFiles(files: readonly string[], folder: string, cost: Cost): Promise<Tally[]> {
  return runBatches([{ ...cost, files }], folder)
}

/**
 * Runs the files of all kinds side by side, so that none waits for the last one of another. A file past its time, and a run
 * past what its kinds may take in all, count as a failure.
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
  const waiting = longestFirst([...groups.keys()], timesOfGroups(groups, times))
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
  // What runs alone is alone because it measures.
  const looking = jobs > 1 ? whileIdle(() => begin(Math.min(running.size + 1, jobs + MOST_MORE))) : undefined
  begin(jobs)
  await allEnded
  clearInterval(looking)
  clearTimeout(late)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted)
  writeTimes(folder, times)
  return tallies
}

/** Calls after each second in which the machine had little to do. */
function whileIdle(call: () => void): NodeJS.Timeout {
  let before: CpuTicks = readTicks()
  return setInterval(() => {
    const now = readTicks()
    if (idlePercent(before, now) >= IDLE_PERCENT) call()
    before = now
  }, LOOK_MS)
}

/** By the first file of each: what its files took together, where that is known of all. */
function timesOfGroups(groups: ReadonlyMap<string, string[]>, times: Readonly<Record<string, number>>) {
  const known: Record<string, number> = {}
  for (const [first, group] of groups)
    if (group.every((file) => times[file] !== undefined))
      known[first] = group.reduce((ms, file) => ms + (times[file] ?? 0), 0)
  return known
}

interface GroupRun {
  group: readonly string[]
  /** Comes first where others want the processor too. */
  isFirst: boolean
  folder: string
  fileS: number
  runS: number
  nodeArgs: readonly string[]
  started(child: ChildProcess): void
}

/** One process; what it wrote to standard error stands with its failures. Never rejects. */
async function runGroup({ group, isFirst, folder, fileS, runS, nodeArgs, started }: GroupRun): Promise<Tally> {
  const { tally, write, end } = createTally(group)
  const [file = ''] = group
  const isShared = group.length > 1
  const args = isShared ? [TOGETHER, String(fileS), ...group] : [file]
  const words = [process.execPath, ...nodeArgs, ...args]
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
  // A file that shares a process and hangs is told by name there, and the next ones run: only one that says nothing at all
  // for longer is ended with all its files.
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
    // What a test left running may hold its output open, and would cost the others their time.
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
    // It has ended just now.
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
