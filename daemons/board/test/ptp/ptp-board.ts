/** Clocks of boards as processes, each in a network and with clocks that a test gives it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import type { PtpView } from '../../core/ptp/ptp.ts'
import type { OwnRefClock } from '../../wire/streams/description.ts'

/** How a board's clocks differ from the machine's. */
export interface Shift {
  ppb: number
  /** Of the time of day alone. */
  offsetNs: number
}

/** What a board said of itself at an instant. */
export interface Said extends PtpView {
  ref: OwnRefClock
  clocks: { audio: string; monotonic: string; realtime: string }
  changes: number
  cpu_us: number
}

/** A reading of a board's clock of sound, by the machine's own CLOCK_MONOTONIC. */
export interface Reading {
  monotonicNs: bigint
  audioNs: bigint
}

export interface PtpBoard {
  readonly pid: number
  /** Everything it said, in order. */
  readonly said: Said[]
  readonly readings: Reading[]
  last(): Said | undefined
  /** Kills it as nothing else does. */
  kill(): void
}

const CHILD = join(import.meta.dirname, 'ptp-board-child.ts')

export interface PtpBoardOptions {
  /** What stands before its command: the machine that it runs on. */
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

/** Undoes what the library does to CLOCK_MONOTONIC. */
function realMonotonic(shownNs: bigint, baseNs: bigint, ppb: bigint): bigint {
  return baseNs + ((shownNs - baseNs) * SECOND_NS) / (SECOND_NS + ppb)
}

/**
 * How far one clock is from another, at each of its readings that lies between two of the other's.
 * @param from leave out readings before this one, by their place in `one`
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
