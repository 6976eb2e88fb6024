/** Three boards that elect a clock on one wire, beside another domain: real ptp4l's, real clocks, the clock killed. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { buildShiftedClock } from '#kit/test/shifted-clock.ts'
import { until } from '#kit/test/until.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { findProgram } from '../../io/ptp.ts'
import { makeNetwork, type Network, noNetworkBecause } from '../network.ts'
import { differences, type PtpBoard, startPtpBoard } from './ptp-board.ts'

/** The bar: sound's clock against the master's. */
const MOST_NS = 50_000
const RELOCK_MS = 15_000

function skipReason(): string | false {
  const missing = ['ptp4l', 'pmc', 'setpriv', 'tshark', 'cc'].find((program) => findProgram(program) === undefined)
  return noNetworkBecause() ?? (missing === undefined ? gstMissing() : `${missing} is not installed`)
}

/** Writes down what passes the bridge. @returns what ends that, and reads fields of it */
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

/** Memory of a process that it can write, in kB. */
function dataKb(pid: number): number {
  return Number(/VmData:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** The last part of its address. */
const FORGER = 9

/** Announces clocks that are not there. @returns what ends that */
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

t.test('three boards and a clock that dies', { skip: skipReason(), timeout: 110_000 }, async (t) => {
  const network = makeNetwork(t)
  const library = buildShiftedClock(t)
  const read = capture(t, network)
  const place = (last: number) => network.machine(`10.77.0.${last}`).within
  const firstPlace = place(1)
  const first = startPtpBoard(t, { within: firstPlace, priority1: 100 })
  // By the time it is the clock itself, its time of day is within a millisecond of the others'.
  const shift = { library, ppb: 50_000, offsetNs: -1_000_000 }
  const drifting = startPtpBoard(t, { within: place(2), priority1: 101, shift })
  const thirdPlace = place(3)
  const third = startPtpBoard(t, { within: thirdPlace, priority1: 102 })
  const apart = startPtpBoard(t, { within: place(4), priority1: 1, sets: ['domain=7', 'dscp=audinate'] })
  const boards = [first, drifting, third]

  await t.test('B the lowest ptp_priority1 wins the election, the others lock to it', async (t) => {
    const tookMs = await reaches(first, 'master')
    await until('both lock', () => [drifting, third].every((board) => board.last()?.state === 'locked'), 40_000)
    const id = first.last()?.clock_id
    for (const board of boards) {
      t.match(board.last()?.grandmaster, { id, priority1: 100, domain: 0, is_self: board === first })
      t.match(board.last()?.ref, { kind: 'ptp', grandmaster: id, domain: 0 })
    }
    t.comment(`alone to master in ${tookMs} ms`)
  })

  await t.test('a clock of another domain on the same wire, with a better priority, confuses nobody', async (t) => {
    await reaches(apart, 'master')
    t.match(apart.last(), { grandmaster: { domain: 7, is_self: true } })
    for (const board of boards) t.not(board.last()?.grandmaster?.id, apart.last()?.clock_id)
  })

  await t.test('within 50 us, one drifts by 50 ppm, while 1000 forged clocks are announced a second', async (t) => {
    const endForging = forge(t, place(FORGER))
    const from = boards.map(({ readings }) => readings.length)
    await until('six seconds passed', () => third.readings.length > (from[2] ?? 0) + 60)
    for (const [index, board] of [drifting, third].entries()) {
      const apartNs = differences(board.readings, first.readings, from[index + 1] ?? 0)
      const mostNs = worst(apartNs)
      t.ok(apartNs.length > 40 && mostNs < MOST_NS, `${mostNs} ns at most, of ${apartNs.length} readings`)
      t.comment(`board ${index + 2}: ${mostNs} ns at most, ${board.last()?.rate_ppm} ppm`)
    }
    endForging()
    const largest = Math.max(...pidsIn(thirdPlace).filter(isPtp4l).map(dataKb))
    t.ok(largest > 0 && largest < 4096, `ptp4l has ${largest} kB of data`)
    t.ok(Math.abs((drifting.last()?.rate_ppm ?? 0) + 50) < 5, `${drifting.last()?.rate_ppm} ppm`)
  })

  await t.test(
    'the clock is killed: nobody shows it as locked, sound goes on, the next one is locked to',
    async (t) => {
      const steps = third.last()?.steps
      const from = third.readings.length
      const pids = pidsIn(firstPlace)
      t.ok(pids.length >= 3, 'the daemon, ptp4l and pmc')
      first.kill()
      const beganMs = performance.now()
      await until('both hold over', () => [drifting, third].every((board) => board.last()?.state === 'holdover'), 3000)
      const noticedMs = Math.round(performance.now() - beganMs)
      await until('its ptp4l is gone too', () => pids.every((pid) => !existsSync(`/proc/${pid}`)), 1000)
      await until('one is elected', () => drifting.last()?.state === 'master', RELOCK_MS)
      await until('the other locks', () => third.last()?.state === 'locked', RELOCK_MS)
      const tookMs = Math.round(performance.now() - beganMs)
      t.ok(tookMs < RELOCK_MS, `${tookMs} ms`)
      t.match(third.last()?.ref, { grandmaster: drifting.last()?.clock_id })
      t.equal(third.last()?.steps, steps, 'sound did not jump')
      const paces = third.readings.slice(from).map(({ audioNs, monotonicNs }) => Number(audioNs - monotonicNs))
      const jumps = paces.slice(1).map((pace, index) => pace - (paces[index] ?? 0))
      t.ok(worst(jumps) < 100_000, `at most ${worst(jumps)} ns faster or slower in a tenth of a second`)
      t.comment(`noticed in ${noticedMs} ms, locked again in ${tookMs} ms`)
    },
  )

  await t.test('tshark finds no malformed message, and the marks of each domain', async (t) => {
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
  })
})
