/** Clocks that a test controls, for processes that it starts. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Builds the library that shifts clocks. @returns its path */
export function buildShiftedClock(t: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'shift-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const library = join(folder, 'shifted-clock.so')
  const source = join(import.meta.dirname, 'shifted-clock.c')
  execFileSync('cc', ['-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', library, source, '-ldl'])
  return library
}

/** The clocks of processes started with `within`; they change while those run. */
export interface SetClock {
  /** Prefix of a command: `within` of `startDaemon`. */
  within: string[]
  /** Their time of day. */
  epochMs(): number
  /** Sets the time of day, as somebody with a wrong watch would; earlier `pass` calls still count. */
  stepWall(ms: number): void
  /** Advances the time of day and the monotonic clock. Pending timers may not notice. */
  pass(ms: number): void
}

/** Clocks equal to the machine's until they are changed. */
export function setClock(t: Pick<Test, 'teardown'>): SetClock {
  const library = buildShiftedClock(t)
  const path = `${library}.set`
  const file = openSync(path, 'w')
  t.teardown(() => closeSync(file))
  const told = [0n, 0n]
  function add(place: 0 | 1, ms: number): void {
    told[place] = (told[place] ?? 0n) + BigInt(ms) * 1_000_000n
    writeSync(file, BigInt64Array.of(told[place]), 0, 8, place * 8)
  }
  add(0, 0)
  add(1, 0)
  return {
    within: ['env', `LD_PRELOAD=${library}`, `CLOCK_FILE=${path}`],
    epochMs: () => Date.now() + Number((told[0] ?? 0n) + (told[1] ?? 0n)) / 1_000_000,
    stepWall: (ms) => add(0, ms),
    pass: (ms) => add(1, ms),
  }
}
