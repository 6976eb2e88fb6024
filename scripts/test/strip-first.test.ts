import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stripFirst } from '../strip-first.ts'

/** Whoever runs it writes a file. */
const PART = "import { writeFileSync } from 'node:fs'\nwriteFileSync('ran', '')\nexport const three: number = 3\n"

function stage(t: Test, test: string) {
  const folder = t.testdir({ 'part.ts': PART, 'a.test.ts': test, 'package.json': '{ "type": "module" }' })
  const cache = join(folder, 'cache')
  const compiled = () => readdirSync(cache, { recursive: true }).map(String).sort()
  const strip = () => stripFirst({ files: ['a.test.ts'], folder, cache, nodeArgs: [] })
  return { cache, compiled, folder, strip }
}

t.test('a run finds all its modules without their types, none of which was run for that', async (t) => {
  const { cache, compiled, folder, strip } = stage(
    t,
    "import { three } from './part.ts'\nprocess.exitCode = three as number\n",
  )
  t.equal(await strip(), true)
  t.notOk(existsSync(join(folder, 'ran')))
  const before = compiled()
  const env = { ...process.env, NODE_COMPILE_CACHE: cache }
  t.equal(spawnSync(process.execPath, ['a.test.ts'], { cwd: folder, env }).status, 3)
  t.same(compiled(), before, 'nothing was left to compile')
  t.ok(before.length > 4, 'each file as it is, and without its types')
  t.equal(await strip(), false, 'once is enough')
})

t.test('where a file cannot be loaded, the tests tell, and the next run tries again', async (t) => {
  const { folder, strip } = stage(t, "import { four } from './part.ts'\nprocess.exitCode = four\n")
  t.equal(await strip(), false)
  writeFileSync(join(folder, 'part.ts'), 'export const four: number = 4\n')
  t.equal(await strip(), true)
})
