/** Measures the memory of values, for the tests of the rows in each daemon's core/memory.ts. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type MemoryLine, sumOfMemory } from '#kit/config/memory.ts'
import type { MemoryRow } from '#kit/pure/memory-plan.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** A collection that frees fewer bytes has left nothing to the next. */
const NOTHING_BYTES = 1024
const MOST_COLLECTIONS = 4

/** Bytes held after garbage collection, including buffers outside V8's heap. */
export async function heldBytes(): Promise<number> {
  // Some memory, such as a buffer behind its view or a task behind its signal, is only free after the next collection.
  let held = afterCollection()
  for (let times = 1; times < MOST_COLLECTIONS; times++) {
    await new Promise(setImmediate)
    const before = held
    held = afterCollection()
    if (before - held < NOTHING_BYTES) break
  }
  return held
}

function afterCollection(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Runs that agree to a fiftieth are of the thing itself: what V8 compiles or lets go of meanwhile differs each time. */
const AGREE = 1.02
const MOST_RUNS = 8

/**
 * Bytes held by the result of `make`, as soon as two runs agree. The first does not count: V8 compiles and learns. If no
 * two agree it is the middle one. Measure many or large things, so that a few stray kilobytes do not matter.
 */
export async function heapBytesOf(make: () => unknown): Promise<number> {
  await measured(make)
  const runs: number[] = []
  while (runs.length < MOST_RUNS) {
    const bytes = await measured(make)
    if (runs.some((other) => Math.max(other, bytes) < Math.min(other, bytes) * AGREE)) return bytes
    runs.push(bytes)
  }
  return runs.sort((one, other) => one - other)[MOST_RUNS / 2] ?? 0
}

async function measured(make: () => unknown): Promise<number> {
  const before = await heldBytes()
  const made = { held: await make() }
  const bytes = (await heldBytes()) - before
  // Used again, so that it lives until here.
  if (!('held' in made)) throw new Error('nothing was made')
  return bytes
}

/**
 * The figures of a row.
 * @param what the beginning of its name
 * @param settings the settings it depends on, as the test has set them
 */
export function rowOf(
  rows: readonly MemoryRow[],
  what: string,
  settings: Readonly<Record<string, number>> = {},
): MemoryLine {
  const plan = { idleBytes: 0, garbage: 0, youngBytes: 0, tasks: {} }
  const found = rows.filter((row) => row.what.startsWith(what))
  const [, line] = sumOfMemory({ ...plan, rows: found }, (name) => settings[name] ?? Number.NaN).lines
  if (found.length !== 1 || !line) throw new Error(`${found.length} rows begin with '${what}'`)
  if (Number.isNaN(line.allBytes)) throw new Error(`'${what}' follows from ${line.settings}`)
  return line
}
