/** Fills a small disk and saves to it; prints what happened. Started by whole-file.test.ts in a namespace of its own. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createStore } from '#kit/store/store.ts'

const disk = process.argv[2] ?? ''
const folder = join(disk, 'state')
const check = (value: unknown) => value as { n: number; filler?: string }
const initial = (): { n: number; filler?: string } => ({ n: 0 })
const store = createStore({ folder, name: 'x', check, initial, log: silentLog })
await store.load()
await store.save({ n: 1 })
writeFileSync(join(disk, 'filler'), new Uint8Array(40_000))
const fault = await store.save({ n: 2, filler: 'x'.repeat(60_000) }).then(
  () => undefined,
  (error) => error,
)
const value = await store.load()
const files = readdirSync(folder)
rmSync(join(disk, 'filler'))
await store.save({ n: 3 })
const code = fault instanceof Fault ? fault.code : String(fault)
const says = fault instanceof Fault && /the disk is full/.test(fault.message)
process.stdout.write(JSON.stringify({ code, says, value, files, afterwards: await store.load() }))
