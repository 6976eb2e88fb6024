import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { bundleFile, bundleJobs } from '../bundle.ts'

const repository = join(import.meta.dirname, '../..')

t.test('makes one file that runs alone, with CommonJS packages inside', async (t) => {
  const entry = [
    "import Fastify from 'fastify'",
    "import pino from 'pino'",
    'const compilersFactory = { buildValidator() {}, buildSerializer() {} }',
    'const app = Fastify({ schemaController: { compilersFactory } })',
    "app.get('/', async () => ({ level: pino({ enabled: false }).level }))",
    "console.log(await (await fetch(await app.listen({ port: 0, host: '127.0.0.1' }))).text())",
    'await app.close()',
  ].join('\n')
  const folder = t.testdir({ 'main.ts': entry, away: {} })
  const outfile = join(folder, 'away/main.mjs')
  const { bytes } = await bundleFile(repository, { entry: join(folder, 'main.ts'), outfile })
  t.ok(bytes > 100_000)
  const { stdout, stderr } = spawnSync(process.execPath, [outfile], { encoding: 'utf8', cwd: '/' })
  t.equal(stdout, '{"level":"silent"}\n', stderr)
})

t.test('finds every daemon and the command line', async (t) => {
  const folder = t.testdir({ daemons: { one: { 'main.ts': '' }, two: {} }, scripts: { 'plantroom.ts': '' } })
  const names = bundleJobs(folder).map(({ outfile }) => outfile.slice(folder.length + 1))
  t.same(names, ['build/one.mjs', 'build/plantroom.mjs'])
})

t.test('a thread of a daemon is carried in its file', async (t) => {
  const folder = t.testdir({
    'main.ts': "import { start } from './io/echo-courier.ts'\nstart()",
    io: {
      'echo-courier.ts': [
        "import { Worker } from 'node:worker_threads'",
        'export function start() {',
        "  const file: string | URL = new URL('./echo-thread.ts', import.meta.url)",
        "  new Worker(file, { eval: typeof file === 'string' }).on('message', (text) => console.log(text))",
        '}',
      ].join('\n'),
      'echo-thread.ts':
        "import { parentPort } from 'node:worker_threads'\nparentPort?.postMessage(['from', 'within'].join(' '))",
    },
    away: {},
  })
  const outfile = join(folder, 'away/main.mjs')
  await bundleFile(repository, { entry: join(folder, 'main.ts'), outfile })
  const { stdout, stderr } = spawnSync(process.execPath, [outfile], { encoding: 'utf8', cwd: '/' })
  t.equal(stdout, 'from within\n', stderr)
})
