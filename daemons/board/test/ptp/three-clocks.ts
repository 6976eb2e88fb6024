/**
 * Three boards elect a clock on one wire, beside another domain: real ptp4l, real clocks, and the elected one is
 * killed.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { buildShiftedClock } from '#kit/test/shifted-clock.ts'
import { until } from '#kit/test/until.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { findProgram } from '../../io/ptp.ts'
import { makeNetwork, type Network, noNetworkBecause } from '../network.ts'
import { differences, type PtpBoard, startPtpBoard } from './ptp-board.ts'

/** Limit for the sound clock's offset from the master. */
const MOST_NS = 50_000
const RELOCK_MS = 15_000

/** Why this machine cannot run the test; false if it can. */
export function noClocks(): string | false {
  const missing = ['ptp4l', 'pmc', 'setpriv', 'tshark', 'cc'].find((program) => findProgram(program) === undefined)
  return noNetworkBecause() ?? (missing === undefined ? gstMissing() : `${missing} is not installed`)
}

/** Captures packets on the bridge. @returns what ends that, and reads fields of them */
function capture(t: Test, network: Network) {
  const folder = mkdtempSync(join(tmpdir(), 'capture-'))
  const file = join(folder, 'ptp.pcap')
  const [program = '', ...words] = [...network.within, 'tshark', '-q', '-i', 'br0', '-f', 'udp', '-w', file]
  const child = spawn(program, words, { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true })
  })
  return async (filter: string, fields: readonly string[]): Promise<string[][]> => {
    child.kill('SIGINT')
    await ended
    const asked = fields.flatMap((field) => ['-e', field])
    const text = execFileSync('tshark', ['-r', file, '-Y', filter, '-T', 'fields', ...asked], {
      encoding: 'utf8',
      maxBuffer: 64 << 20,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const rows = text.split('\n').filter((row) => row !== '')
    return rows.map((row) => row.split('\t'))
  }
}

/** Resolves with how long it took, in ms. */
async function reaches(board: PtpBoard, state: string, limitMs = 40_000): Promise<number> {
  const beganMs = performance.now()
  await until(`${state}, and is ${board.last()?.state}`, () => board.last()?.state === state, limitMs)
  return Math.round(performance.now() - beganMs)
}

/** @param within `ip netns exec NAME` */
function pidsIn(within: readonly string[]): number[] {
  const list = execFileSync('ip', ['netns', 'pids', within[3] ?? ''], { encoding: 'utf8', timeout: 5000 })
  return (list.match(/\d+/g) ?? []).map(Number)
}

function isPtp4l(pid: number): boolean {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'ptp4l'
}

/** Writable memory of a process, in kB. */
function dataKb(pid: number): number {
  return Number(/VmData:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** Last part of its address. */
const FORGER = 9

/** Announces non-existent clocks. @returns ends that */
function forge(t: Test, within: readonly string[]): () => void {
  const [program = '', ...words] = within
  const own = `10.77.0.${FORGER}`
  const child = spawn(program, [...words, process.execPath, join(import.meta.dirname, 'forger-child.ts'), own])
  t.teardown(() => child.kill('SIGKILL'))
  return () => void child.kill('SIGKILL')
}

function worst(values: readonly number[]): number {
  return Math.max(...values.map(Math.abs))
}

/** Judges one figure; `most` is the limit on a quiet machine. */
export type Judge = (t: Test, what: string, figure: number, most: number) => void

interface Stage {
  first: PtpBoard
  /** Its clock runs 50 ppm fast. */
  drifting: PtpBoard
  third: PtpBoard
  /** In its own domain. */
  apart: PtpBoard
  /** Command prefix for the machine with that last part of its address. */
  place(last: number): readonly string[]
  read: ReturnType<typeof capture>
  judge: Judge
}

/** Three boards and a clock that dies. */
export async function threeClocks(t: Test, judge: Judge): Promise<void> {
  const network = makeNetwork(t)
  const library = buildShiftedClock(t)
  const read = capture(t, network)
  const places = new Map<number, readonly string[]>()
  const place = (last: number) => {
    const within = places.get(last) ?? network.machine(`10.77.0.${last}`).within
    places.set(last, within)
    return within
  }
  // By the time it becomes the master, its time of day is within a millisecond of the others'.
  const shift = { library, ppb: 50_000, offsetNs: -1_000_000 }
  const stage: Stage = {
    first: startPtpBoard(t, { within: place(1), priority1: 100 }),
    drifting: startPtpBoard(t, { within: place(2), priority1: 101, shift }),
    third: startPtpBoard(t, { within: place(3), priority1: 102 }),
    apart: startPtpBoard(t, { within: place(4), priority1: 1, sets: ['domain=7', 'dscp=audinate'] }),
    ...{ place, read, judge },
  }
  await t.test('B the lowest ptp_priority1 wins the election, the others lock to it', (t) => elected(t, stage))
  await t.test('a clock of another domain on the same wire, with a better priority, confuses nobody', (t) =>
    otherDomain(t, stage),
  )
  await t.test('one drifts by 50 ppm, and 1000 forged clocks are announced a second: both stay locked', (t) =>
    forged(t, stage),
  )
  await t.test('the clock is killed: nobody shows it as locked, sound goes on, the next one is locked to', (t) =>
    killed(t, stage),
  )
  await t.test('tshark finds no malformed message, and the marks of each domain', (t) => onTheWire(t, stage))
}

async function elected(t: Test, { first, drifting, third }: Stage): Promise<void> {
  const tookMs = await reaches(first, 'master')
  await until('both lock', () => [drifting, third].every((board) => board.last()?.state === 'locked'), 40_000)
  const id = first.last()?.clock_id
  for (const board of [first, drifting, third]) {
    t.match(board.last()?.grandmaster, { id, priority1: 100, domain: 0, is_self: board === first })
    t.match(board.last()?.ref, { kind: 'ptp', grandmaster: id, domain: 0 })
  }
  t.comment(`alone to master in ${tookMs} ms`)
}

async function otherDomain(t: Test, { first, drifting, third, apart }: Stage): Promise<void> {
  await reaches(apart, 'master')
  t.match(apart.last(), { grandmaster: { domain: 7, is_self: true } })
  for (const board of [first, drifting, third]) t.not(board.last()?.grandmaster?.id, apart.last()?.clock_id)
}

async function forged(t: Test, { first, drifting, third, place, judge }: Stage): Promise<void> {
  const endForging = forge(t, place(FORGER))
  const from = [first, drifting, third].map(({ readings }) => readings.length)
  await until('six seconds passed', () => third.readings.length > (from[2] ?? 0) + 60)
  for (const [index, board] of [drifting, third].entries()) {
    const apartNs = differences(board.readings, first.readings, from[index + 1] ?? 0)
    t.ok(apartNs.length > 40, `${apartNs.length} readings`)
    judge(t, `ns that board ${index + 2} is apart`, worst(apartNs), MOST_NS)
  }
  endForging()
  for (const board of [drifting, third])
    t.match(board.last(), { state: 'locked', grandmaster: { id: first.last()?.clock_id } })
  const largest = Math.max(...pidsIn(place(3)).filter(isPtp4l).map(dataKb))
  t.ok(largest > 0 && largest < 4096, `ptp4l has ${largest} kB of data`)
  judge(t, 'ppm that its drift is misjudged', Math.abs((drifting.last()?.rate_ppm ?? 0) + 50), 5)
}

async function killed(t: Test, { first, drifting, third, place, judge }: Stage): Promise<void> {
  const steps = third.last()?.steps ?? 0
  const from = third.readings.length
  const pids = pidsIn(place(1))
  t.ok(pids.length >= 3, 'the daemon, ptp4l and pmc')
  first.kill()
  const beganMs = performance.now()
  await until('both hold over', () => [drifting, third].every((board) => board.last()?.state === 'holdover'))
  judge(t, 'ms until both hold over', performance.now() - beganMs, 3000)
  await until('its ptp4l is gone too', () => pids.every((pid) => !existsSync(`/proc/${pid}`)))
  await until('one is elected', () => drifting.last()?.state === 'master')
  await until('the other locks', () => third.last()?.state === 'locked')
  judge(t, 'ms until it is locked again', performance.now() - beganMs, RELOCK_MS)
  t.match(third.last()?.ref, { grandmaster: drifting.last()?.clock_id })
  judge(t, 'steps of sound', (third.last()?.steps ?? 0) - steps, 1)
  const paces = third.readings.slice(from).map(({ audioNs, monotonicNs }) => Number(audioNs - monotonicNs))
  const jumps = paces.slice(1).map((pace, index) => pace - (paces[index] ?? 0))
  judge(t, 'ns faster or slower in a tenth of a second', worst(jumps), 100_000)
}

async function onTheWire(t: Test, { read }: Stage): Promise<void> {
  const rows = await read(`ptp && ip.src != 10.77.0.${FORGER}`, [
    '_ws.malformed',
    'ptp.v2.domainnumber',
    'ptp.v2.messagetype',
    'ip.dsfield.dscp',
    'ip.ttl',
  ])
  t.ok(rows.length > 500, `${rows.length} messages`)
  t.same(
    rows.filter(([malformed]) => malformed !== ''),
    [],
  )
  const kinds = new Set(rows.map(([, domain, type, dscp, ttl]) => `${domain} ${Number(type)} ${dscp} ${ttl}`))
  const general = [8, 9, 11]
  const expected = [0, 1, ...general].map((type) => `0 ${type} ${general.includes(type) ? 34 : 46} 1`)
  t.same([...kinds].filter((kind) => kind.startsWith('0')).sort(), expected.sort())
  const others = [...kinds].filter((kind) => kind.startsWith('7')).sort()
  t.same(others, ['7 0 56 1', '7 11 46 1', '7 8 46 1'])
}
