/** Imports a site, or applies versions, until killed; prints what was acknowledged. For store-kill.test.ts. */
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { openSiteStore } from '../../io/database.ts'
import { importFirstSite, importInto } from '../../io/site-import.ts'
import { bytesOf, parts, versioned } from './store-parts.ts'

const [what, folder = '', first = '1'] = process.argv.slice(2)
// A killed process would not save its compiled code for the next one.
flushCompileCache()
writeSync(1, 'begun\n')
if (what === 'first') {
  await importFirstSite(folder, bytesOf(versioned(Number(first), 1500)), parts)
  writeSync(1, `${first}\n`)
  // All that is left is to be killed.
  setInterval(() => {}, 1000)
} else {
  const store = openSiteStore(folder, parts.clock, parts.store)
  await store.pending.discard()
  for (let version = Number(first); ; version++) {
    await importInto(store, bytesOf(versioned(version)), parts, { mode: 'replace', becomes: 'pending', author: 'test' })
    await store.pending.applyAll()
    writeSync(1, `${version}\n`)
  }
}
