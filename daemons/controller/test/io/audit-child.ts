/** Writes an audit until it is killed, or until its disk is full; started by audit-file.test.ts. */
import { rmSync, writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { systemClock, wait } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { AuditFile } from '../../io/audit-file.ts'
import { LIMITS, recordOf, rowsIn } from './audit-here.ts'

const [folder = '', what = ''] = process.argv.slice(2)
const limits = { ...LIMITS, retry_ms: 20, retry_max_ms: 20 }
const say = (event: string, { fault }: { fault?: Error } = {}) =>
  void process.stderr.write(`${event} ${fault?.message}\n`)
// Without pino, which takes longer to load than everything tested here.
const log: Log = { error: say, warning: say, notice: say, info: say, debug: say, child: () => log }
// As the server does in a daemon.
setInterval(() => {}, 1000)
const audit = new AuditFile({ folder, clock: systemClock, log, limits })
await audit.start()
// A killed process would not save its compiled code for the next one.
flushCompileCache()
if (what === 'full') await fillUp()
else await writeOn(Number(what) * 1_000_000)

/** Prints each record only after it is on disk. */
async function writeOn(first: number): Promise<void> {
  let run = first
  async function one(): Promise<void> {
    for (;;) {
      const mine = run++
      await audit.add(recordOf({ runId: mine }), mine % 3 === 0)
      process.stdout.write(`${mine}\n`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, one))
}

async function fillUp(): Promise<void> {
  await audit.add(recordOf({ status: 200 }), true)
  const tookBefore = audit.takes()
  const filler = join(folder, 'filler')
  const chunk = Buffer.alloc(4096)
  try {
    for (let size = 0; size < 200; size++) writeFileSync(filler, chunk, { flag: 'a' })
  } catch {
    // The disk is now full.
  }
  let isKept = false
  const kept = Array.from({ length: 400 }, (_, i) =>
    audit.add(recordOf({ status: 200 + i, path: `/${'x'.repeat(500)}` }), true),
  )
  const all = Promise.all(kept).then(() => {
    isKept = true
  })
  await wait(systemClock, 200)
  const took = audit.takes()
  const isWaiting = !isKept
  rmSync(filler)
  await all
  const tookAgain = audit.takes()
  const rows = rowsIn(folder)
  const gaps = rows.slice(1).filter(({ status }, i) => status !== 200 + i).length
  process.stdout.write(JSON.stringify({ tookBefore, took, isWaiting, tookAgain, rows: rows.length, gaps }))
  await audit.stop()
  process.exit()
}
