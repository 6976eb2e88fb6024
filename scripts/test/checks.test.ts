/** Tests of checks.ts. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ONLY_TESTS } from '../checks.ts'

const root = join(import.meta.dirname, '../..')

/** What the check says of a small house with these files in kit/. */
function saidOf(t: Test, kit: NonNullable<Parameters<Test['testdir']>[0]>): string {
  const folder = t.testdir({
    'knip.json': readFileSync(join(root, 'knip.json'), 'utf8'),
    'package.json': '{ "name": "small", "type": "module", "imports": { "#kit/*": "./kit/*" } }',
    daemons: { one: { 'main.ts': "import { used } from '#kit/tool.ts'\nused()\n" } },
    kit,
  })
  const knip = join(root, 'node_modules/knip/bin/knip.js')
  // Knip's loader would leave a folder in /tmp.
  const env = { ...process.env, JITI_FS_CACHE: 'false' }
  const { stdout, stderr } = spawnSync(process.execPath, [knip, ...ONLY_TESTS], { cwd: folder, encoding: 'utf8', env })
  return stdout + stderr
}

t.test('an export and a file that only tests use are found, unless they say that they are for tests', async (t) => {
  const used = 'export function used() {}\n'
  const spare = 'export function spare() {}\n'
  const test = { 'tool.test.ts': "import { spare, used } from '../tool.ts'\nimport '../lone.ts'\nused(spare())\n" }
  t.equal(saidOf(t, { 'tool.ts': used, test }), '')
  t.match(saidOf(t, { 'tool.ts': used + spare, test }), /Unused exports \(1\)\nspare .* kit\/tool\.ts/)
  t.equal(saidOf(t, { 'tool.ts': `${used}/** @internal a client's half: tests play it */\n${spare}`, test }), '')
  t.match(saidOf(t, { 'tool.ts': used, 'lone.ts': spare, test }), /Unused files \(1\)\nkit\/lone\.ts/)
})
