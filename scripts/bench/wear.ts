/**
 * What each daemon writes to its card in a day, idle and busy. Idle: the real commands with nothing to do. Busy: the demo,
 * which polls six lines, plays and records, and serves an update. Footage is the recorder's purpose: what it writes is
 * told, and is no wear of a system card.
 *
 *     node scripts/bench/wear.ts [--seconds 120] [--folder FOLDER]
 *
 * FOLDER is on a disk, not in memory; default build/wear. The log is what a daemon says, and journald writes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { end } from './bridges.ts'
import { optionOf } from './chapter.ts'
import { writtenBytesOf } from './figures.ts'
import { listeningUrl } from './listening-url.ts'

const DAEMONS = ['gateway', 'board', 'controller', 'recorder', 'updates'] as const
type Daemon = (typeof DAEMONS)[number]

/** What is written at a start has been written by then; memory is swept half a minute after it. */
const SETTLE_MS = 45_000
/** A bad line's entries are written once a minute only after a few minutes (`ledger.save_most_ms`). */
const BUSY_SETTLE_MS = 180_000
const DEMO_START_MS = 180_000
const DAY_S = 86_400
const MB = 1e6
/** @source statfs(2): TMPFS_MAGIC, RAMFS_MAGIC */
const IN_MEMORY = new Set([0x01021994, 0x858458f6])

const root = join(import.meta.dirname, '../..')
const command = join(root, 'build/plantroom')

/** Bytes. */
interface Written {
  disk: number
  log: number
}

/** A process that listens, and what it said. */
interface Started {
  child: ChildProcess
  saidBytes(): number
}

async function startIdle(name: Daemon, folder: string): Promise<Started> {
  const sets = name === 'board' ? ['--set', 'board.role=serial'] : []
  const args = [name, '--config', '/dev/null', '--state', join(folder, name), '--listen', '127.0.0.1:0', ...sets]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let bytes = 0
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (bytes += text.length))
  await listeningUrl(name, child)
  return { child, saidBytes: () => bytes }
}

async function idle(folder: string, seconds: number): Promise<Map<string, Written>> {
  const started = new Map<Daemon, Started>()
  try {
    for (const name of DAEMONS) started.set(name, await startIdle(name, folder))
    await sleep(SETTLE_MS)
    const now = () =>
      new Map([...started].map(([name, { child, saidBytes }]) => [name, [writtenBytesOf(child.pid ?? 0), saidBytes()]]))
    const before = now()
    await sleep(seconds * 1000)
    return new Map(
      [...now()].map(([name, [disk = 0, log = 0]]) => {
        const [diskBefore = 0, logBefore = 0] = before.get(name) ?? []
        return [name, { disk: disk - diskBefore, log: log - logBefore }]
      }),
    )
  } finally {
    await Promise.all([...started.values()].map(({ child }) => end(child)))
  }
}

/** The daemons that a process has started, by pid. */
function daemonsOf(parent: number): Map<number, string> {
  const found = new Map<number, string>()
  for (const file of globSync('/proc/[0-9]*/stat')) {
    try {
      const stat = readFileSync(file, 'utf8')
      const [pid, ppid] = [Number.parseInt(stat, 10), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])]
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      const name = words[words.findIndex((word) => word.endsWith('plantroom.mjs')) + 1]
      if (ppid === parent && DAEMONS.some((one) => one === name)) found.set(pid, name ?? '')
    } catch {
      // It has ended meanwhile.
    }
  }
  return found
}

/** Bytes of all films below a folder. */
function filmBytes(folder: string): number {
  const sizes = globSync('**/*.mp4', { cwd: folder }).map((file) =>
    statSync(join(folder, file), { throwIfNoEntry: false }),
  )
  return sizes.reduce((sum, stat) => sum + (stat?.size ?? 0), 0)
}

async function busy(folder: string, seconds: number) {
  const demo = spawn(command, ['demo', '--listen', '127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  })
  try {
    await saidBy(demo, /Ctrl-C stops everything/, DEMO_START_MS)
    await sleep(BUSY_SETTLE_MS)
    const pids = daemonsOf(demo.pid ?? 0)
    const now = () => new Map([...pids.keys()].map((pid) => [pid, writtenBytesOf(pid)]))
    const [before, filmBefore] = [now(), filmBytes(folder)]
    await sleep(seconds * 1000)
    const film = filmBytes(folder) - filmBefore
    const sums = new Map<string, number[]>()
    for (const [pid, disk] of now()) {
      const name = pids.get(pid) ?? ''
      sums.set(name, [...(sums.get(name) ?? []), disk - (before.get(pid) ?? 0)])
    }
    return { sums, film }
  } finally {
    await end(demo)
  }
}

/** @throws Error with what it said instead */
async function saidBy(child: ChildProcess, words: RegExp, mostMs: number): Promise<void> {
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (said += text.toString()))
  for (const endMs = performance.now() + mostMs; performance.now() < endMs && child.exitCode === null; await sleep(100))
    if (words.test(said)) return
  throw new Error(`the demo did not start:\n${said}`)
}

/** A folder on a disk, removed at the end. @throws Error for one in memory, which the kernel does not count */
function folderOnDisk(): string {
  const parent = resolve(optionOf('--folder') ?? join(root, 'build/wear'))
  mkdirSync(parent, { recursive: true })
  if (IN_MEMORY.has(statfsSync(parent).type))
    throw new Error(`${parent} is in memory: give a folder on a disk, --folder`)
  return mkdtempSync(join(parent, 'day-'))
}

/** 2.6 MB a day. */
function aDay(bytes: number, seconds: number): string {
  return `${((bytes * DAY_S) / seconds / MB).toFixed(1)} MB`
}

const seconds = Number(optionOf('--seconds') ?? 120)
if (!(seconds >= 1 && seconds <= DAY_S)) throw new Error('--seconds takes 1 to 86400')
const folder = folderOnDisk()
try {
  console.log(`written in a day, from ${seconds} s of each\n`)
  const still = await idle(folder, seconds)
  const { film, sums } = await busy(folder, seconds)
  const row = (cells: string[]) =>
    console.log(cells.map((cell, at) => (at ? cell.padStart(16) : cell.padEnd(12))).join(''))
  row(['', 'idle, disk', 'idle, log', 'busy, disk'])
  for (const [name, { disk, log }] of still) {
    const most = sums.get(name)
    const busyDay = most ? aDay(Math.max(...most), seconds) : 'not in the demo'
    row([name, aDay(disk, seconds), aDay(log, seconds), busyDay])
  }
  console.log(
    `\nbusy is the demo, and of several boards the one that wrote most; of the recorder ${aDay(film, seconds)} is footage`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
