import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { docFaults } from '../check-docs.ts'
import { staleParts } from '../doc-parts.ts'
import { strangerFaults } from '../strangers.ts'

const routes = `import { Type } from 'typebox'
import { route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
export const faultStatus = {
  odd_thing: 409,
}
export function thingRoutes(parts) {
  return [
    route({ method: 'GET', path: '/api/things/:id', who: 'user', summary: 'One thing', handle: () => parts.one() }),
    route({ method: 'PUT', path: '/api/things/:id', who: 'admin', summary: 'Change it', handle: () => {
      throw new Fault('odd_thing', 'it is odd')
    } }),
  ]
}
`
const config = `import { Type } from 'typebox'
export const config = Type.Object({ things: Type.Object({ most: Type.Integer({ default: 3, minimum: 1, description: 'things at once' }) }) })
export const memory = () => ({
  ...{ idleBytes: 20_000_000, garbage: 0.5, youngBytes: 0 },
  rows: [
    {
      ...{ what: 'things', of: 'thing', each: () => 1_048_576, isHeap: true },
      all: (setting) => setting('things.most') * 1_048_576,
      shownBy: 'daemons/one/test/things.test.ts',
    },
  ],
  tasks: { all: 4, things: (setting) => setting('things.most') },
})
`

/** A house with one daemon, and docs that are in order once their generated parts are written. */
function house() {
  const errors = '| code | status |\n|---|---|\n| `odd_thing` | 409 | it is odd | make it even |\n'
  return {
    Makefile: 'build: ## builds\n',
    'README.md': 'Start with `make build`.\n',
    daemons: {
      one: {
        'config.ts': config,
        api: { 'thing-routes.ts': routes },
        test: { 'things.test.ts': '' },
        core: { 'thing-table.ts': "export const thingTable = { off: { asked: 'on' }, on: {} }\n" },
      },
    },
    systemd: { 'plantroom-one.service': '[Service]\nMemoryMax=32M\nTasksMax=15\n' },
    docs: {
      'ARCHITECTURE.md': '`daemons/one/config.ts`, `thingRoutes()`\n',
      'GLOSSARY.md': '',
      'INSTALL.md': 'Set `things.most`.\n',
      'ERRORS.md': errors,
      'CHANGELOG.md': '## Unreleased\n',
      'LIFECYCLES.md': '<!-- generated: lifecycles -->\n<!-- end -->\n',
      'one.md': [
        'Ask `GET /api/things/:id`.',
        '<!-- generated: routes one -->\n<!-- end -->',
        '<!-- generated: settings one -->\n<!-- end -->',
        '<!-- generated: memory one -->\n<!-- end -->\n',
      ].join('\n\n'),
    },
  }
}

/** Faults of the house after one text in its docs was replaced. */
async function faultsWith(t: Test, file: keyof ReturnType<typeof house>['docs'], from: string, to: string) {
  const planted = house()
  planted.docs[file] = planted.docs[file].replace(from, to)
  const root = t.testdir(planted)
  await staleParts(root, { write: true })
  return await docFaults(root)
}

t.test('finds nothing in docs in order, and fresh parts stay as they are', async (t) => {
  const root = t.testdir(house())
  t.same(await staleParts(root, { write: true }), ['docs/LIFECYCLES.md', 'docs/one.md'])
  t.same(await docFaults(root), [])
})

t.test('finds generated parts that are old', async (t) => {
  t.match((await docFaults(t.testdir(house()))).join('\n'), /docs\/one\.md: generated parts are old/)
})

t.test('fails when it sees no docs at all', async (t) => {
  t.match(await docFaults(t.testdir({ src: {} })), [/no docs found/])
})

const planted: [string, Parameters<typeof faultsWith>[1], string, string, RegExp][] = [
  ['a path that is not there', 'ARCHITECTURE.md', 'one/config.ts', 'one/gone.ts', /gone\.ts` is not there/],
  [
    'a symbol that is defined nowhere',
    'ARCHITECTURE.md',
    'thingRoutes',
    'goneRoutes',
    /`goneRoutes\(\)` is defined nowhere/,
  ],
  [
    'a path in a sentence that is not there',
    'ARCHITECTURE.md',
    '`daemons',
    'See kit/gone.ts. `daemons',
    /`kit\/gone\.ts` is not/,
  ],
  [
    'a file that no folder has, by its name alone',
    'ARCHITECTURE.md',
    '`daemons',
    '`core/gone-rule.ts` `daemons',
    /`core\/gone-rule\.ts` is not a file of the checkout/,
  ],
  ['a link that leads nowhere', 'ARCHITECTURE.md', '`daemons', '[x](gone.md) `daemons', /`gone\.md` is linked/],
  ['a route that is none', 'one.md', 'GET /api/things/:id', 'DELETE /api/things/:id', /is no route/],
  ['a setting that is none', 'INSTALL.md', 'things.most', 'things.least', /`things\.least` is not a setting/],
  ['a target that make has not', 'INSTALL.md', 'things.most', 'make coffee', /`make coffee` is not a target/],
  [
    'a code that is made nowhere',
    'ERRORS.md',
    'odd_thing',
    'even_thing',
    /even_thing is made nowhere\n.*odd_thing is missing/,
  ],
  ['a status that is another', 'ERRORS.md', '| 409 |', '| 404 |', /odd_thing is answered with 409, not 404/],
  [
    'a chapter without its routes',
    'one.md',
    'generated: routes one',
    'nothing',
    /has no <!-- generated: routes one -->/,
  ],
  ['a changelog without a date', 'CHANGELOG.md', 'Unreleased', '1.0.0', /begins with '1\.0\.0'/],
]

for (const [title, file, from, to, expected] of planted)
  t.test(`finds ${title}`, async (t) => t.match((await faultsWith(t, file, from, to)).join('\n'), expected))

t.test('finds a route in the chapter of another daemon, by its method and by its path alone', async (t) => {
  const own = house()
  const other = '/** One that does nothing. */\nexport const otherRoutes = () => []\n'
  const daemons = { ...own.daemons, two: { 'config.ts': config, api: { 'other-routes.ts': other } } }
  const chapter = (own.docs['one.md'] ?? '')
    .replaceAll(' one -->', ' two -->')
    .replace(':id`', ':id`, or `/api/things/:id`')
  const root = t.testdir({ ...own, daemons, docs: { ...own.docs, 'two.md': chapter } })
  await staleParts(root, { write: true })
  const faults = (await docFaults(root)).filter((fault) => fault.startsWith('docs/two.md'))
  t.same(faults, [
    'docs/two.md: `GET /api/things/:id` is a route of another daemon',
    'docs/two.md: `/api/things/:id` is a route of another daemon',
  ])
})

t.test('finds a fault whose code is a variable, but in the files that say which codes they make', async (t) => {
  const made =
    "import { Fault } from '#kit/pure/fault.ts'\nexport const fail = (code) => new Fault(code, 'it is odd')\n"
  const wire = { 'reply.ts': made, 'one.ts': "new Fault(isOdd ? 'odd_thing' : 'odd_thing', 'it is odd')" }
  const daemons = { one: { ...house().daemons.one, wire } }
  const listed = { pure: { 'fault.ts': made, 'line.ts': "new Fault('odd_thing', 'it is odd')" } }
  const root = t.testdir({ ...house(), daemons, kit: listed })
  await staleParts(root, { write: true })
  t.same(await docFaults(root), [
    'daemons/one/wire/reply.ts: the code of a fault is code: say in scripts/fault-codes.ts which codes it makes',
    'scripts/fault-codes.ts names kit/pure/line.ts, which writes its codes',
  ])
})

t.test('a chapter has what a daemon may hold in memory, by its settings', async (t) => {
  const root = t.testdir(house())
  await staleParts(root, { write: true })
  const text = readFileSync(join(root, 'docs/one.md'), 'utf8')
  t.match(text, '| things | 1 MiB for each thing | 3 MiB | `things.most` |')
  t.match(text, '| garbage that V8 has yet to collect |  | 1.5 MiB |  |')
  t.match(text, '| **sum** | | **24 MiB** | |')
})

t.test(
  'finds a unit that allows other memory than follows from the settings, and a row whose test is not there',
  async (t) => {
    const planted = house()
    planted.daemons.one['config.ts'] = config
      .replace('default: 3', 'default: 30')
      .replace('things.test.ts', 'gone.test.ts')
    const root = t.testdir(planted)
    await staleParts(root, { write: true })
    t.same(await docFaults(root), [
      'systemd/plantroom-one.service: by the settings of the one it must say MemoryMax=96M',
      'systemd/plantroom-one.service: by the settings of the one it must say TasksMax=42',
      "daemons/one/core/memory.ts: 'things' is shown by daemons/one/test/gone.test.ts, which is not there",
    ])
  },
)

t.test('finds a status for a code that nothing makes', async (t) => {
  const planted = house()
  planted.daemons.one.api['thing-routes.ts'] = routes.replace('odd_thing: 409,', 'odd_thing: 409,\n  even_thing: 400,')
  const root = t.testdir(planted)
  await staleParts(root, { write: true })
  t.same(await docFaults(root), ['even_thing has a status and is made nowhere'])
})

t.test(
  'finds a decision that is not in the index, one that is only there, and one that is named and nowhere',
  async (t) => {
    const folder = ['docs', 'decisions'].join('/')
    const decisions = {
      'README.md': '[late](late.md), [gone](gone.md)\n',
      'late.md': '# Late\n',
      'early.md': '# Early\n',
    }
    const named = `// ${folder}/late.md, ${folder}/lost.md, ${folder}/041, ${folder}/README.md, ${folder}\n`
    const daemons = { one: { ...house().daemons.one, 'named.ts': named } }
    const root = t.testdir({ ...house(), daemons, docs: { ...house().docs, decisions } })
    await staleParts(root, { write: true })
    t.same(await docFaults(root), [
      `${folder}/README.md: \`gone.md\` is linked and not there`,
      `${folder}/early.md is not in ${folder}/README.md`,
      `daemons/one/named.ts: ${folder}/lost.md is not there`,
      `daemons/one/named.ts: ${folder}/041 is not there`,
    ])
  },
)

t.test('forty decisions are few enough to look through, one more is not', async (t) => {
  const house40 = (count: number) => {
    const names = Array.from({ length: count }, (_, at) => `topic-${at}.md`)
    const index = names.map((name) => `[x](${name})`).join('\n')
    const decisions = { 'README.md': index, ...Object.fromEntries(names.map((name) => [name, '# Topic\n'])) }
    return { ...house(), docs: { ...house().docs, decisions } }
  }
  for (const [count, faults] of [
    [40, []],
    [41, ['docs/decisions: 41 topics, at most 40']],
  ] as const) {
    const root = t.testdir(house40(count))
    await staleParts(root, { write: true })
    t.same(await docFaults(root), faults)
  }
})

t.test('pictures are few, and each is shown in a chapter', async (t) => {
  const names = Array.from({ length: 9 }, (_, at) => `p${at}.png`)
  const shown = names.slice(1).map((name) => `![A page](img/${name})\n`)
  const img = Object.fromEntries(names.map((name) => [name, '']))
  const docs = { ...house().docs, img, 'GLOSSARY.md': `${house().docs['GLOSSARY.md']}\n${shown.join('')}` }
  const root = t.testdir({ ...house(), docs })
  await staleParts(root, { write: true })
  t.same(await docFaults(root), [
    'docs/img/p0.png is shown in no chapter',
    'docs/img: 9 pictures, at most 8; make pictures makes all in build/',
  ])
})

t.test('finds hosts of registries and paths of machines', async (t) => {
  const host = ['registry', 'npmjs', 'org'].join('.')
  const root = t.testdir({ 'a.md': `from https://${host}/x\n`, 'b.md': `see ${['', 'work', 'main'].join('/')}\n` })
  t.same(strangerFaults(root).sort(), [
    'a.md:1: names a package registry',
    "b.md:1: names a path of somebody's machine",
  ])
})
