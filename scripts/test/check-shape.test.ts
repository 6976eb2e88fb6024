import t from 'tap'
import { shapeFaults } from '../check-shape.ts'

const opening = '/** Owns something. */\n'

/** A house with one daemon in order. */
function house() {
  return {
    daemons: {
      one: {
        'main.ts': opening,
        'assemble.ts': opening,
        'config.ts': opening,
        wire: { 'code.ts': opening },
        core: {},
        io: {},
        api: {},
        web: {},
        test: { 'one.e2e.test.ts': '' },
      } as Record<string, string | Record<string, string>>,
    },
    systemd: { 'plantroom-one.service': '' } as Record<string, string>,
    docs: { 'one.md': '' } as Record<string, string>,
  }
}

t.test('finds nothing in a house in order', async (t) => {
  t.same(shapeFaults(t.testdir(house())), [])
})

t.test('fails when it sees no file at all', async (t) => {
  t.match(shapeFaults(t.testdir({ src: {} })), [/no source file/])
})

t.test('names a hidden file, which no listing shows', async (t) => {
  const planted = { ...house(), scripts: { '.scratch.sh': '' } }
  t.same(shapeFaults(t.testdir(planted)), ['scripts/.scratch.sh is hidden: give it a name that is seen, or remove it'])
})

t.test('misses a folder, a unit, a chapter and an end-to-end test', async (t) => {
  const planted = house()
  delete planted.daemons.one.api
  planted.daemons.one.test = {}
  planted.systemd = {}
  planted.docs = {}
  t.same(shapeFaults(t.testdir(planted)), [
    'daemons/one has no api',
    'daemons/one has no unit systemd/plantroom-one.service',
    'daemons/one has no chapter docs/one.md',
    'daemons/one has no end-to-end test',
  ])
})

t.test('refuses a folder that other daemons do not have', async (t) => {
  const planted = house()
  planted.daemons.one.services = {}
  t.same(shapeFaults(t.testdir(planted)), ['daemons/one/services is no part of a daemon'])
})

t.test('refuses a unit that starts nothing', async (t) => {
  const planted = house()
  planted.systemd['plantroom-two.service'] = ''
  t.same(shapeFaults(t.testdir(planted)), ['systemd/plantroom-two.service starts no daemon of this house'])
})

t.test('takes the units of the helper where there is one, and refuses them where not', async (t) => {
  const planted = house()
  planted.systemd['plantroom-helper.service'] = ''
  planted.systemd['plantroom-helper.socket'] = ''
  t.same(shapeFaults(t.testdir({ ...planted, native: { helper: {} } })), [])
  t.same(shapeFaults(t.testdir(planted)), [
    'systemd/plantroom-helper.service starts no daemon of this house',
    'systemd/plantroom-helper.socket starts no daemon of this house',
  ])
})

t.test('refuses 501 lines, takes 500', async (t) => {
  const planted = house()
  planted.daemons.one.wire = { 'long.ts': opening + 'x\n'.repeat(500), 'full.ts': opening + 'x\n'.repeat(499) }
  t.match(shapeFaults(t.testdir(planted)), [
    /^daemons\/one\/wire\/long.ts has 501 lines, at most 500 .* a file of its own$/,
  ])
})

t.test('refuses a name that says nothing and a file that opens without a word', async (t) => {
  const planted = house()
  planted.daemons.one.core = { 'utils.ts': 'export const a = 1\n' }
  t.match(shapeFaults(t.testdir(planted)), [/utils.ts: the name/, /utils.ts does not open/])
})

t.test('refuses a stylesheet of 501 lines', async (t) => {
  const planted = house()
  planted.daemons.one.web = { 'page.css': `/* Colours. */\n${'a {}\n'.repeat(500)}`, 'small.css': '/* Sizes. */\n' }
  t.match(shapeFaults(t.testdir(planted)), [/^daemons\/one\/web\/page.css has 501 lines, at most 500 /])
})

t.test(
  'an export of wire says where its bytes are laid down, itself or in the comment that opens its file',
  async (t) => {
    const codec = (docstring: string) => `${docstring}export function openFrame() {}\n`
    const planted = house()
    planted.daemons.one.wire = {
      'said.ts': opening + codec('/**\n * Opens it.\n * @source RFC 1, 2\n */\n'),
      'opened.ts': `/**\n * Owns a frame.\n * @source RFC 1\n */\n${codec('')}`,
      'frame.ts': `${opening}export interface Frame {}\n`,
      'untold.ts': opening + codec('/** Opens it. */\n'),
      'bare.ts': `${opening}/** @source RFC 1 */\nconst own = 1\n${codec('')}`,
    }
    planted.daemons.one.core = { 'rule.ts': opening + codec('') }
    t.same(shapeFaults(t.testdir(planted)), [
      'daemons/one/wire/bare.ts: openFrame has no @source, nor has the comment that opens the file',
      'daemons/one/wire/untold.ts: openFrame has no @source, nor has the comment that opens the file',
    ])
  },
)
