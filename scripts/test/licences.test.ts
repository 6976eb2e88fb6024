import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { bundleFile } from '../bundle.ts'
import { packageFolders, readLicence, writeLicences } from '../licences.ts'

const repository = join(import.meta.dirname, '../..')

function unpacked(folder: string, name: string): unknown {
  return JSON.parse(String(gunzipSync(readFileSync(join(folder, `${name}.json.gz`)))))
}

t.test(
  'the packages of a bundle are those of its metafile, nested ones and those of its threads included',
  async (t) => {
    const folder = t.testdir({
      'main.ts': "import 'fastify'\nnew Worker(new URL('./own-thread.ts', import.meta.url))",
      'own-thread.ts': "import { parse } from 'smol-toml'\nconsole.log(parse(''))",
    })
    const { packages } = await bundleFile(repository, {
      entry: join(folder, 'main.ts'),
      outfile: join(folder, 'out.mjs'),
    })
    t.ok(packages.includes('node_modules/fastify') && packages.includes('node_modules/avvio'), 'what fastify needs')
    t.ok(packages.includes('node_modules/smol-toml'), 'what only the thread needs')
    t.notOk(packages.includes('node_modules/mqtt'))
    t.same(
      packageFolders([
        'kit/log.ts',
        'node_modules/@a/b/index.js',
        'node_modules/c/node_modules/d/lib/e.js',
        'builtin:fs',
      ]),
      ['node_modules/@a/b', 'node_modules/c/node_modules/d'],
    )
  },
)

t.test('a package without a licence, or without its text, ends the build', async (t) => {
  const about = (keys: object) => JSON.stringify({ name: 'one', version: '1.0.0', ...keys })
  const folder = t.testdir({
    bare: { 'package.json': about({ license: 'MIT' }) },
    empty: { 'package.json': about({ license: 'MIT' }), LICENSE: ' \n' },
    unnamed: { 'package.json': about({}), LICENSE: 'terms' },
    whole: {
      'package.json': about({ license: 'MIT' }),
      'LICENSE.md': 'terms\n',
      NOTICE: 'who made it',
      'licence-tool.js': '',
    },
  })
  for (const name of ['bare', 'empty', 'unnamed'])
    t.throws(() => readLicence(join(folder, name)), /has no licence/, name)
  t.match(readLicence(join(folder, 'whole')), { name: 'one', licence: 'MIT', text: 'terms\n\nwho made it' })
})

t.test('a text that several packages have is kept once', async (t) => {
  const out = join(t.testdir(), 'licences')
  const one = { name: 'one', version: '1.0.0', licence: 'MIT', text: 'terms' }
  const two = { ...one, name: 'two' }
  writeLicences(
    out,
    new Map([
      ['board', [two]],
      ['gateway', [two, one, one]],
    ]),
  )
  const list = unpacked(out, 'gateway') as { name: string; text: string }[]
  t.same(
    list.map(({ name }) => name),
    ['one', 'two'],
  )
  t.same(unpacked(out, list[0]?.text ?? ''), { text: 'terms' })
  t.equal(readdirSync(out).length, 4, 'two lists, one text, and the file of all')
  t.equal(readFileSync(join(out, 'copyright'), 'utf8'), 'one 1.0.0 (MIT)\ntwo 1.0.0 (MIT)\n\nterms\n')
})
