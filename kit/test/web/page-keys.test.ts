/** Tests of the keys by which pages are gone to, over all daemons. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../../..')

for (const file of globSync('daemons/{*/web/app,controller/web/main}.ts', { cwd: root }).sort())
  t.test(`${file}: no two pages have the same key, with which none would be drawn`, async (t) => {
    const keys = [...readFileSync(join(root, file), 'utf8').matchAll(/\bword: '.*?\bkey: '(\w)'/gs)].map(
      ([, key]) => key,
    )
    t.ok(keys.length > 1)
    t.same(
      keys.filter((key, at) => keys.indexOf(key) !== at),
      [],
    )
  })
