/** Imports a site, or applies version after version, until it is killed; tells what was acknowledged. Started by store-kill.test.ts. */
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { openSiteStore } from '../../io/database.ts'
import { importFirstSite, importInto } from '../../io/site-import.ts'
import { bytesOf, parts, versioned } from './store-parts.ts'

const [what, folder = '', first = '1'] = process.argv.slice(2)
// Whoever is killed leaves nothing of what was compiled for the next.
flushCompileCache()
writeSync(1, 'begun\n')
if (what === 'first') {
  await importFirstSite(folder, bytesOf(versioned(Number(first), 1500)), parts)
  writeSync(1, `${first}\n`)
  // What remains is to be killed.
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
