/** Tests of assemble/house.ts. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

/**
 * 20 MB of live data, and garbage that grows old beside it. Prints the growth of the heap relative to the live data.
 * Without a limit it is 2.9 on a machine with 4 GB, with 25 % it is 1.6.
 */
const CHILD = `
const { boundHeapGrowth } = await import(process.argv[1])
boundHeapGrowth(Number(process.argv[2]))
const made = (count) => Array.from({ length: count }, (_, id) => ({ id, text: 'x' + id, list: [id, id, id, id] }))
const lives = made(150_000)
globalThis.gc()
globalThis.gc()
const { heapUsed } = process.memoryUsage()
const ring = Array.from({ length: 4 })
let most = 0
for (let at = 0; at < 80; at++) {
  ring[at % ring.length] = made(5000)
  most = Math.max(most, process.memoryUsage().heapUsed)
}
console.log(most / heapUsed, lives.length)
`

async function growthWith(percent: number): Promise<number> {
  const file = join(import.meta.dirname, '../../assemble/house.ts')
  const flags = ['--expose-gc', '--max-semi-space-size=4', '--input-type=module', '--eval', CHILD]
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, file, String(percent)])
  return Number.parseFloat(stdout)
}

t.test('garbage grows to no more than the set fraction of live data', async (t) => {
  const bound = await growthWith(25)
  t.ok(bound < 2.2, `grew to ${bound.toFixed(2)} of live data`)
})
