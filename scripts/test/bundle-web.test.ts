/** Tests of scripts/bundle-web.ts, on the pages of the gateway. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { bundleWeb } from '../bundle-web.ts'

const USERS_ALONE = 'A viewer only reads. Sending to a line needs an administrator.'

t.test('a page carries its own texts, as they stand, and those of no other page', async (t) => {
  const outDir = t.testdir()
  const pages = await bundleWeb({ daemon: 'gateway', outDir })
  const scripts = readdirSync(outDir).filter((name) => name.endsWith('.js'))
  const holding = (text: string) => scripts.filter((name) => readFileSync(join(outDir, name), 'utf8').includes(text))
  t.equal(holding(USERS_ALONE).length, 1, 'one part has it')
  for (const name of scripts.filter((script) => readFileSync(join(outDir, script)).length > 2000))
    t.ok(gunzipSync(readFileSync(join(outDir, `${name}.gz`))).equals(readFileSync(join(outDir, name))), name)
  t.ok(pages.length > 10)
  t.ok(
    pages.every(({ gzipBytes }) => gzipBytes <= 40_000),
    'and none is over its bytes',
  )
})
