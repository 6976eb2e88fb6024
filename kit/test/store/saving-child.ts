/** Saves increasing numbers until it is killed; prints each once it is acknowledged. Started by whole-file.test.ts. */
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store/store.ts'

const [folder = '', first = '1'] = process.argv.slice(2)
const store = createStore({
  folder,
  name: 'x',
  // Long enough to need more than one write to the disk.
  check: (value) => value as { n: number; filler: string },
  initial: () => ({ n: 0, filler: '' }),
  // The real log would double the start time, and there are dozens of starts.
  log: { error() {} } as unknown as Log,
})
await store.load()
// A killed process would not save its compile cache for the next.
flushCompileCache()
const filler = 'x'.repeat(20_000)
writeSync(1, 'saving\n')
for (let n = Number(first); ; n++) {
  await store.save({ n, filler })
  writeSync(1, `${n}\n`)
}
