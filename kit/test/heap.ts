/** What values take in memory, measured: for the tests behind the rows of each daemon's core/memory.ts. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type MemoryLine, sumOfMemory } from '#kit/config/memory.ts'
import type { MemoryRow } from '#kit/pure/memory-plan.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** What is held once nothing more can be let go, and buffers outside V8's heap with it. */
export async function heldBytes(): Promise<number> {
  // What one lets go of, such as a buffer behind its view or a task behind its signal, is free after the next.
  for (let times = 0; times < 3; times++) {
    collect()
    await new Promise(setImmediate)
  }
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/**
 * Bytes that `make` leaves held by what it gives back. It is run twice: what V8 compiles and learns is there the second
 * time. Of many or large things, so that some kilobytes that come and go do not matter.
 */
export async function heapBytesOf(make: () => unknown): Promise<number> {
  await runOnce(make)
  const before = await heldBytes()
  const made = { held: await make() }
  const bytes = (await heldBytes()) - before
  // Read again, so that it lives until here.
  if (!('held' in made)) throw new Error('nothing was made')
  return bytes
}

/** Apart, so that nothing of it is held by whoever waits for it. */
async function runOnce(make: () => unknown): Promise<void> {
  await make()
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
