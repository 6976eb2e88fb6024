import t, { type Test } from 'tap'
import { layerFaults } from '../check-layers.ts'

/** A small house in order; tests plant one fault each. */
const house = {
  kit: { 'clock.ts': 'export const clock = 1', pure: { 'fault.ts': 'export class Fault {}', 'hex.ts': '' } },
  native: { serial: { 'index.ts': "import fs from 'node:fs'" } },
  daemons: {
    one: {
      wire: { 'code.ts': "import { Fault } from '#kit/pure/fault.ts'\nimport '#kit/pure/hex.ts'" },
      core: { 'rule.ts': "import '../wire/code.ts'\nimport { clock } from '#kit/clock.ts'", 'ports.ts': '' },
      io: { 'line.ts': "import '#native/serial/index.ts'\nimport type { x } from '../core/ports.ts'" },
      api: { 'routes.ts': "import '../core/rule.ts'" },
      'assemble.ts': "import './io/line.ts'\nimport './api/routes.ts'",
    },
    two: { core: { 'rule.ts': '' } },
  },
}

/** Faults of the house with one file written anew. */
function faultsWith(test: Test, path: string, text: string): string[] {
  const steps = path.split('/')
  const name = steps.pop() ?? ''
  const changed: Record<string, unknown> = structuredClone(house)
  let at = changed
  for (const step of steps) at = at[step] as Record<string, unknown>
  at[name] = text
  return layerFaults(test.testdir(changed as typeof house))
}

t.test('finds nothing in a house in order', async (t) => {
  t.same(layerFaults(t.testdir(house)), [])
})

t.test('fails when it sees no file at all', async (t) => {
  t.match(layerFaults(t.testdir({ src: { 'a.ts': '' } })), [/no source file/])
})

const planted: [string, string, string, RegExp][] = [
  ['refuses Node in wire', 'daemons/one/wire/code.ts', "import 'node:fs'", /wire may not touch Node/],
  ['refuses a package in wire', 'daemons/one/wire/code.ts', "import 'fastify'", /wire may not import fastify/],
  [
    'refuses a clock in wire',
    'daemons/one/wire/code.ts',
    "import { c } from '#kit/clock.ts'",
    /wire may not import kit/,
  ],
  ['refuses Node in core', 'daemons/one/core/rule.ts', "import { x } from 'node:fs'", /core may not touch Node/],
  ['allows events in core', 'daemons/one/core/rule.ts', "import { x } from 'node:events'", /^$/],
  ['refuses io from core', 'daemons/one/core/rule.ts', "import '../io/line.ts'", /core may not import io/],
  ['refuses io from api', 'daemons/one/api/routes.ts', "import '../io/line.ts'", /api may not import io/],
  [
    'refuses types of io in api',
    'daemons/one/api/routes.ts',
    "import type { x } from '../io/line.ts'",
    /api may not import io/,
  ],
  ['refuses api from io', 'daemons/one/io/line.ts', "import '../api/routes.ts'", /io may not import api/],
  [
    'refuses native outside io',
    'daemons/one/api/routes.ts',
    "import '#native/serial/index.ts'",
    /api may not import native/,
  ],
  ['refuses a daemon in kit', 'kit/clock.ts', "import '../daemons/one/core/rule.ts'", /kit may not import core/],
  ['refuses Node in kit/pure', 'kit/pure/hex.ts', "import 'node:fs'", /kit.pure may not touch Node/],
  ['refuses a clock in kit/pure', 'kit/pure/hex.ts', "import '../clock.ts'", /kit.pure may not import kit/],
  ['refuses another daemon', 'daemons/one/core/rule.ts', "import '../../two/core/rule.ts'", /one may not know two/],
  ['refuses kit by a relative path', 'daemons/one/core/rule.ts', "import '../../../kit/clock.ts'", /#kit and #native/],
  ['refuses a missing ending', 'daemons/one/core/rule.ts', "import './ports'", /ending is missing/],
  ['refuses what is not there', 'daemons/one/core/rule.ts', "import './gone.ts'", /no such file/],
  [
    'sees an import() of a type',
    'daemons/one/api/routes.ts',
    `type T = ${'import'}('../io/line.ts').T`,
    /api may not import io/,
  ],
  ['sees an export from', 'daemons/one/api/routes.ts', "export { x } from '../io/line.ts'", /api may not import io/],
  ['sees an import over lines', 'daemons/one/api/routes.ts', "import {\n  a,\n} from '../io/line.ts'", /routes.ts:3: /],
  [
    'refuses the time of day in core',
    'daemons/one/core/rule.ts',
    '\nconst now = Date.now()',
    /rule.ts:2: Date.now: a Clock/,
  ],
  [
    'refuses a timer in core',
    'daemons/one/core/rule.ts',
    'setTimeout(() => {}, 5)',
    /setTimeout: a Clock is handed in/,
  ],
  ['refuses setInterval in wire', 'daemons/one/wire/code.ts', 'setInterval(run, 5)', /setInterval: a Clock/],
  ['refuses setImmediate in core', 'daemons/one/core/rule.ts', 'setImmediate(run)', /setImmediate: a Clock/],
  ['refuses a new Date of now in core', 'daemons/one/core/rule.ts', 'const at = new Date()', /new Date: a Clock/],
  ['refuses chance in wire', 'daemons/one/wire/code.ts', 'const n = Math.random()', /Math.random: chance is handed in/],
  ['refuses fetch in core', 'daemons/one/core/rule.ts', "await fetch('http://x')", /fetch: io does that/],
  ['refuses the console in kit/pure', 'kit/pure/hex.ts', 'console.log(1)', /console: io does that/],
  ['refuses the console in wire', 'daemons/one/wire/code.ts', 'console.log(1)', /console: io does that/],
  ['refuses the process in core', 'daemons/one/core/rule.ts', 'const arg = process.argv[2]', /process: io does that/],
  [
    'refuses a dynamic import in core',
    'daemons/one/core/rule.ts',
    `await ${'import'}('./ports.ts')`,
    /import: a module is/,
  ],
  ['sees a reach inside a template', 'daemons/one/core/rule.ts', `const s = \`\${Date.now()}\``, /Date.now/],
  ['lets io reach for the world', 'daemons/one/io/line.ts', 'setTimeout(run, Date.now())', /^$/],
  [
    'is not misled by texts, methods and dates that are given',
    'daemons/one/core/rule.ts',
    "// Date.now()\nconst s = 'fetch(x)'\nthis.#fetch(s)\nlog.console(new Date(at))",
    /^$/,
  ],
  ['is not misled by comments', 'daemons/one/wire/code.ts', "// import 'node:fs'\n/* import 'node:fs' */", /^$/],
]

for (const [title, path, text, expected] of planted)
  t.test(title, async (t) => t.match(faultsWith(t, path, text).join('\n'), expected))

t.test('what all roles of a board share knows none of them, what puts them together does', async (t) => {
  const role = { core: { 'desk.ts': "import '../../../core/peers.ts'" } }
  const knows = "import './roles/door/core/desk.ts'"
  const board = { core: { 'peers.ts': '' }, 'assemble.ts': knows, 'config.ts': knows, roles: { door: role } }
  const faults = (core: string) =>
    layerFaults(
      t.testdir({
        ...house,
        daemons: { ...house.daemons, board: { ...board, core: { 'peers.ts': '', 'list.ts': core } } },
      }),
    )
  t.same(faults(''), [])
  t.match(faults("import type { Desk } from '../roles/door/core/desk.ts'"), [/core may not know board\/roles\/door/])
})

t.test('a protocol of the gateway is known in core by its own folder and the list of protocols alone', async (t) => {
  const knows = "import type { Reply } from '../modbus/master.ts'\nimport '../../wire/modbus-reply.ts'"
  const faults = (core: Record<string, unknown>) => {
    const modbus = { 'master.ts': "import '../../wire/modbus-reply.ts'\nimport '../bus/bus.ts'" }
    const list = "import './modbus/master.ts'\nimport './raw/raw.ts'"
    const all = { modbus, raw: { 'raw.ts': '' }, bus: { 'bus.ts': '' }, 'protocols.ts': list, ...core }
    const gateway = {
      core: all,
      wire: { 'modbus-reply.ts': '' },
      api: { 'scan.ts': "import '../core/modbus/master.ts'" },
    }
    return layerFaults(t.testdir({ ...house, daemons: { ...house.daemons, gateway } }))
  }
  t.same(faults({}), [])
  t.match(faults({ points: { 'book.ts': knows } }), [
    /book.ts:1: .* may not know modbus/,
    /book.ts:2: .* not know modbus/,
  ])
  t.match(faults({ raw: { 'raw.ts': knows } }), [/raw.ts:1: .* may not know modbus/, /raw.ts:2: .* not know modbus/])
  t.match(faults({ 'status.ts': "import './raw/raw.ts'" }), [/status.ts:1: .* may not know raw/])
})

t.test('a protocol on the list of the gateway has a row that says which files are its own', async (t) => {
  const core = { wmbus: { 'wmbus.ts': '' }, lines: { 'adapter.ts': '' } }
  const list = "import './wmbus/wmbus.ts'\nimport './lines/adapter.ts'"
  const gateway = { core: { ...core, 'protocols.ts': list } }
  t.match(layerFaults(t.testdir({ ...house, daemons: { ...house.daemons, gateway } })), [
    /protocols.ts:1: .*wmbus has no row in PROTOCOLS of scripts\/layers.ts/,
  ])
})

t.test('refuses scripts in kit and native, their tests too', async (t) => {
  const scripts = { 'answers.ts': '' }
  const kit = { ...house.kit, test: { 'tool.ts': "import '../../scripts/answers.ts'" } }
  t.match(layerFaults(t.testdir({ ...house, kit, scripts })), [/kit and native know no scripts, their tests too/])
})

t.test('refuses an index.ts outside an addon', async (t) => {
  t.match(faultsWith(t, 'daemons/one/core/index.ts', ''), [/only the face of an addon/])
})

t.test('refuses a folder that the house has no place for', async (t) => {
  t.match(faultsWith(t, 'daemons/one/helpers.ts', ''), [/no such place/])
})

t.test('finds a cycle, types included', async (t) => {
  const faults = faultsWith(t, 'daemons/one/core/ports.ts', "import type { x } from './rule.ts'")
  t.same(faults, [])
  const folder = t.testdir({ kit: { 'a.ts': "import './b.ts'", 'b.ts': "import type { a } from './a.ts'" } })
  t.same(layerFaults(folder), ['cycle: kit/a.ts -> kit/b.ts -> kit/a.ts'])
})

/** Faults of a house whose native/ has these files beside. */
function nativeFaultsWith(test: Test, native: Record<string, unknown>): string[] {
  return layerFaults(test.testdir({ ...house, native: { ...house.native, ...native } } as typeof house))
}

t.test('finds units of native that include each other, a header and its source being one', async (t) => {
  const src = { 'a.h': '', 'a.cc': '#include "a.h"\n#include "b.h"\n', 'b.h': '#include "a.h"\n' }
  t.same(nativeFaultsWith(t, { line: { src } }), ['cycle: native/line/src/a -> native/line/src/b -> native/line/src/a'])
  t.same(nativeFaultsWith(t, { line: { src: { ...src, 'b.h': '' } } }), [])
})

t.test('the rules of sound know the standard library and each other alone', async (t) => {
  const sound = { 'fade.h': '#include <vector>\n#include <pthread.h>\n', 'ring.cc': '#include "fade.h"\n' }
  const player = { src: { 'play.cc': '#include <gst/gst.h>\n#include "fade.h"\n' } }
  t.same(nativeFaultsWith(t, { sound, player }), [])
  const planted = '#include <gst/gst.h>\n#include <node_api.h>\n#include "failure.h"\n#include "play.h"\n'
  t.same(nativeFaultsWith(t, { common: { 'failure.h': '' }, sound: { ...sound, 'ring.cc': planted }, player }), [
    'native/sound/ring.cc: <gst/gst.h>: native/sound may include the standard library alone',
    'native/sound/ring.cc: <node_api.h>: native/sound may include the standard library alone',
    'native/sound/ring.cc: "failure.h": native/sound may not know native/common',
    'native/sound/ring.cc: "play.h": no such header here, nor in native/common or native/sound',
  ])
})
