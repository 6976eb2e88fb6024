/** Ends a process that writes footage at random instants, and judges what is left by the files and their index. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { checkFootage } from '../io/footage-check.ts'
import { openStage } from './footage-stage.ts'

/** Of the only picture of a group. */
export const UNIT_BYTES = 4000

/** A group that the disk took. */
export interface TakenGroup {
  camera: string
  number: number
  /** Monotonic, of the machine. */
  atMs: number
}

export interface Writer {
  pid: number
  taken(): TakenGroup[]
  /** Resolves once it has written so many groups. */
  wrote(groups: number): Promise<void>
  kill(): Promise<void>
}

export function startWriter(root: string, flushMs: number): Writer {
  const script = join(import.meta.dirname, 'footage-writer-child.ts')
  const child = spawn(process.execPath, [script, root, String(flushMs)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  let tell = () => {}
  child.stdout.setEncoding('utf8').on('data', (some: string) => {
    text += some
    tell()
  })
  // A line that was cut off was not said.
  const lines = () =>
    text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .slice(1, -1)
  return {
    pid: child.pid ?? 0,
    taken: () =>
      lines().map((line) => {
        const [camera = '', number, atMs] = line.split(' ')
        return { camera, number: Number(number), atMs: Number(atMs) }
      }),
    wrote: (groups) =>
      new Promise((resolve) => {
        tell = () => {
          if (lines().length >= groups) resolve()
        }
        tell()
      }),
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'close')
    },
  }
}

/** Opens what is left as a start does, and reads every group of it. @returns numbers of the groups of each camera */
export async function judged(t: Test, root: string): Promise<{ groups: Map<string, number[]>; startMs: number }> {
  const begunMs = performance.now()
  const stage = await openStage(t, { root, folders: ['disk'] })
  const startMs = performance.now() - begunMs
  const groups = new Map<string, number[]>()
  for (const camera of ['aa', 'bb'])
    groups.set(
      camera,
      stage.footage.between(camera, 0, 4e12).flatMap(({ fragments, path }) => {
        const bytes = readFileSync(path)
        return fragments.map(({ length, offset }) => numberOf(bytes.subarray(offset, offset + length)))
      }),
    )
  await stage.footage.close()
  for await (const { faults } of checkFootage(join(root, 'index'), [{ folder: join(root, 'disk'), id: undefined }]))
    t.same(faults, [], 'the index equals the files')
  return { groups, startMs }
}

/** The number in the only picture of a fragment, all of whose bytes follow from it. */
function numberOf(fragment: Uint8Array): number {
  const unit = fragment.subarray(fragment.length - UNIT_BYTES)
  const number = new DataView(unit.buffer, unit.byteOffset).getUint32(0)
  const isWhole = unit.subarray(4).every((byte) => byte === number % 251)
  return isWhole ? number : Number.NaN
}

/** Each group once and in order, and none that was taken is missing. */
export function judgeGroups(t: Test, found: ReadonlyMap<string, number[]>, taken: readonly TakenGroup[]): void {
  for (const [camera, numbers] of found) {
    t.ok(
      numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? 0)),
      `${camera}: each group once, whole, and in order`,
    )
    const there = new Set(numbers)
    const missing = taken.filter((one) => one.camera === camera && !there.has(one.number))
    t.same(missing, [], `${camera}: no group that was taken is missing`)
  }
}
