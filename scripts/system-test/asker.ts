// Asks a daemon all the time, and writes down the longest time without an answer: node asker.ts URL FILE
import { writeFileSync } from 'node:fs'

const [url = '', file = ''] = process.argv.slice(2)
let lastMs = performance.now()
let longestMs = 0
const isWell = async () => (await fetch(url, { signal: AbortSignal.timeout(1000) })).ok
for (;;) {
  if (await isWell().catch(() => false)) {
    const nowMs = performance.now()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
  }
  writeFileSync(file, `${Math.round(Math.max(longestMs, performance.now() - lastMs))}\n`)
  await new Promise((resolve) => setTimeout(resolve, 20))
}
