/** What values take in memory, measured: for the tests behind the rows of each daemon's core/memory.ts. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type MemoryLine, sumOfMemory } from '#kit/config/memory.ts'
import type { MemoryRow } from '#kit/pure/memory-plan.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** Two collections that differ by less have nothing more to let go. */
const SETTLED_BYTES = 4096

/** What is held once nothing more can be let go, and buffers outside V8's heap with it. */
export async function heldBytes(): Promise<number> {
  let held = Number.POSITIVE_INFINITY
  // What one lets go of, such as a buffer behind its view or a task behind its signal, is free after the next.
  for (let times = 0; times < 4; times++) {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    const isSettled = Math.abs(held - heapUsed - external) < SETTLED_BYTES
    held = heapUsed + external
    if (isSettled) break
    await new Promise(setImmediate)
  }
  return held
}

/**
 * Bytes that `make` leaves held by what it gives back: the least that was measured. The second time is without what V8
 * compiles and learns at the first; where it held clearly more even so, V8 went on learning, and a third time tells. Of many or
 * large things, so that some kilobytes that come and go do not matter.
 */
export async function heapBytesOf(make: () => unknown): Promise<number> {
  const first = await measured(make)
  const second = await measured(make)
  return second < first * 1.05 ? second : Math.min(first, await measured(make))
}

async function measured(make: () => unknown): Promise<number> {
  const before = await heldBytes()
  const made = { held: await make() }
  const bytes = (await heldBytes()) - before
  // Read again, so that it lives until here.
  if (!('held' in made)) throw new Error('nothing was made')
  return bytes
}

/**
 * The figures of a row.
 * @param what how its name begins
 * @param settings those that it follows from, as the test has set them
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
