/** Clocks of boards as processes, each in a network and with clocks provided by a test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { PtpView } from '../../core/ptp/ptp.ts'
import type { OwnRefClock } from '../../wire/streams/description.ts'

/** Deviation of a board's clocks from the machine's. */
export interface Shift {
  ppb: number
  /** Applies to the time of day only. */
  offsetNs: number
}

/** A board's report at an instant. */
export interface Said extends PtpView {
  ref: OwnRefClock
  clocks: { audio: string; monotonic: string; realtime: string }
  changes: number
  cpu_us: number
}

/** A reading of a board's sound clock, by the machine's own CLOCK_MONOTONIC. */
export interface Reading {
  monotonicNs: bigint
  audioNs: bigint
}

export interface PtpBoard {
  readonly pid: number
  /** All its reports, in order. */
  readonly said: Said[]
  readonly readings: Reading[]
  last(): Said | undefined
  /** Kills it with SIGKILL. */
  kill(): void
}

const CHILD = join(import.meta.dirname, 'ptp-board-child.ts')

export interface PtpBoardOptions {
  /** Prefix of its command: selects the machine it runs on. */
  within: readonly string[]
  priority1: number
  /** Keys of the table `ptp`, `domain=3`. */
  sets?: readonly string[]
  shift?: Shift & { library: string }
}

/** Starts one; killed with the test. */
export function startPtpBoard(t: Test, { priority1, sets = [], shift, within }: PtpBoardOptions): PtpBoard {
  const folder = mkdtempSync(join(tmpdir(), 'ptp-'))
  const baseNs = process.hrtime.bigint()
  const clocks = shift && [
    'env',
    `LD_PRELOAD=${shift.library}`,
    `CLOCK_PPB=${shift.ppb}`,
    `CLOCK_OFFSET_NS=${shift.offsetNs}`,
    `CLOCK_BASE_NS=${baseNs}`,
  ]
  const [program = '', ...words] = [
    ...within,
    ...(clocks ?? []),
    process.execPath,
    CHILD,
    folder,
    'eth0',
    String(priority1),
    ...sets,
  ]
  const child: ChildProcess = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-20_000)
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true })
    if (!t.passing()) t.comment(log)
  })
  const said: Said[] = []
  const readings: Reading[] = []
  if (child.stdout)
    createInterface({ input: child.stdout }).on('line', (line) => {
      const one = JSON.parse(line) as Said
      said.push(one)
      const shownNs = BigInt(one.clocks.monotonic)
      const monotonicNs = shift ? realMonotonic(shownNs, baseNs, BigInt(shift.ppb)) : shownNs
      readings.push({ monotonicNs, audioNs: BigInt(one.clocks.audio) })
    })
  return { pid: child.pid ?? 0, said, readings, last: () => said.at(-1), kill: () => void child.kill('SIGKILL') }
}

const SECOND_NS = 1_000_000_000n

/** Undoes the library's change of CLOCK_MONOTONIC. */
function realMonotonic(shownNs: bigint, baseNs: bigint, ppb: bigint): bigint {
  return baseNs + ((shownNs - baseNs) * SECOND_NS) / (SECOND_NS + ppb)
}

/**
 * Difference between two clocks, at each reading of one that lies between two of the other.
 * @param from skip readings before this index of `one`
 */
export function differences(one: readonly Reading[], other: readonly Reading[], from: number): number[] {
  return one.slice(from).flatMap(({ audioNs, monotonicNs }) => {
    const next = other.findIndex((reading) => reading.monotonicNs > monotonicNs)
    const [before, after] = [other[next - 1], other[next]]
    if (!before || !after) return []
    const passedNs = monotonicNs - before.monotonicNs
    const spanNs = after.monotonicNs - before.monotonicNs
    const thereNs = before.audioNs + ((after.audioNs - before.audioNs) * passedNs) / spanNs
    return [Number(audioNs - thereNs)]
  })
}
