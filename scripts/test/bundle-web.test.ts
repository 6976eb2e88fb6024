/** Tests of scripts/bundle-web.ts, on the pages of the gateway. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bundleWeb } from '../bundle-web.ts'

const USERS_ALONE = 'A viewer only reads. Sending to a line needs an administrator.'

t.test('a page carries its own texts, as they stand, and those of no other page', async (t) => {
  const outDir = t.testdir()
  const pages = await bundleWeb({ daemon: 'gateway', outDir })
  const scripts = readdirSync(outDir).filter((name) => name.endsWith('.js'))
  const holding = (text: string) => scripts.filter((name) => readFileSync(join(outDir, name), 'utf8').includes(text))
  t.equal(holding(USERS_ALONE).length, 1, 'one part has it')
  t.ok(pages.length > 10)
  t.ok(
    pages.every(({ gzipBytes }) => gzipBytes <= 40_000),
    'and none is over its bytes',
  )
})
