/**
 * Runs test files one after the other in this process, each as one tap test under its name: loading tap and the tests'
 * imports takes longer than most tests do.
 *
 *     node scripts/tests-together.ts SECONDS FILE...
 *
 * SECONDS are for one file, counted by a timer of this process: they do not pass while a busy machine keeps it from
 * running.
 */
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'

/** Where the replacement for tap looks up whose tests are being read. */
const READING = Symbol.for('plantroom: the file whose tests are being read')

/** Functions that files leave here run at the end: they close what is shared. */
const AT_END = Symbol.for('plantroom: what is done when all files have run')
const atEnd: (() => Promise<void>)[] = []
Object.assign(globalThis, { [AT_END]: atEnd })

/** What a file imports as tap: the test of that file. */
const TAP_OF_FILE = `const reading = () => globalThis[Symbol.for(${JSON.stringify(READING.description)})]
export const t = new Proxy({}, {
  get(_, name) {
    const test = reading()
    const found = test[name]
    return typeof found === 'function' ? found.bind(test) : found
  },
  set: (_, name, value) => Reflect.set(reading(), name, value),
})
export default t`

// Tap derives folder names from the process's arguments, which would be too long.
const [seconds, ...files] = process.argv.splice(2)
const { default: whole } = await import('tap')
const url = `data:text/javascript,${encodeURIComponent(TAP_OF_FILE)}`
registerHooks({
  resolve: (name, context, next) => (name === 'tap' ? { url, shortCircuit: true } : next(name, context)),
})

const TICKS_PER_S = 10
let running: { test: Test; ticks: number } | undefined
// A file run alone is kept alive by its open handles; here by this timer.
const alive = setInterval(() => {
  if (running && ++running.ticks === TICKS_PER_S * Number(seconds)) running.test.timeout()
}, 1000 / TICKS_PER_S)
const run = (file: string) =>
  whole.test(file, async (test: Test) => {
    running = { test, ticks: 0 }
    Object.assign(globalThis, { [READING]: test })
    await import(pathToFileURL(join(process.cwd(), file)).href)
  })
await Promise.all(files.map(run))
for (const end of atEnd) await end()
clearInterval(alive)
