/** Fills a small disk and writes to a store on it; store-kill.test.ts starts it in a namespace of its own. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Row } from '../../core/site/book.ts'
import { openSiteStore } from '../../io/database.ts'
import { importFirstSite, importInto } from '../../io/site-import.ts'
import { bytesOf, parts, versioned } from './store-parts.ts'

const disk = process.argv[2] ?? ''
const folder = join(disk, 'state')
const filler = join(disk, 'filler')
const open = () => openSiteStore(folder, parts.clock, parts.store)
const pending = { mode: 'replace', becomes: 'pending', author: 'test' } as const
const versionsOf = (rows: readonly Row[]) => [...new Set(rows.map(({ position }) => position))]
let says = false

/** Fills the disk. */
function fill(): void {
  for (let bytes = 4_000_000; bytes >= 1024; bytes = Math.floor(bytes / 2))
    try {
      writeFileSync(filler, new Uint8Array(bytes), { flag: 'a' })
    } catch {
      // No room for this much; less may fit.
    }
}

async function codeOf(run: Promise<unknown>): Promise<string> {
  try {
    await run
    return 'done'
  } catch (error) {
    const { code, message } = error as Error & { code: string }
    says ||= /the disk is full/.test(message)
    return code
  }
}

mkdirSync(folder)
const first = await codeOf(importFirstSite(folder, bytesOf(versioned(1, 9000)), parts))
const left = readdirSync(folder)
await importFirstSite(folder, bytesOf(versioned(1)), parts)
const store = open()
await importInto(store, bytesOf(versioned(2)), parts, pending)
fill()
const changes = Array.from({ length: 300 }, (_, n) => store.keeper.change('zone', n + 1, { position: 7 }))
const outcomes = await Promise.all(changes.map(codeOf))
const change = [...new Set(outcomes)].join()
const applied = await codeOf(store.pending.applyAll())
const inMemory = versionsOf(store.book.rows('zone')).join()
await store.close()
rmSync(filler)
const again = open()
const afterRestart = { versions: versionsOf(again.book.rows('zone')), pending: again.pending.list().length }
const all = await again.pending.applyAll()
const versions = versionsOf(again.book.rows('zone'))
await again.keeper.change('zone', 1, { position: 9 })
const withRoom = { applied: all, changed: again.book.row('zone', 1)?.position, versions }
await again.close()
process.stdout.write(
  JSON.stringify({ first, left, change, says, applied, inMemory: Number(inMemory), afterRestart, withRoom }),
)
