/** Tests of device definitions as files: those of the package, and everything that is refused. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { createDefinitionLibrary, loadDefinition } from '#kit/device/load.ts'
import { DEFINITION_LIMITS } from '#kit/pure/device/definition.ts'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '../holds.ts'
import { definitionFile, shippedSets } from './shipped-sets.ts'

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

/** The faults of a definition with some values changed by their paths, as `path: message`; undefined removes one. */
function faultsOf(changes: Record<string, unknown>, name = 'pjlink-class-1'): string[] {
  const file = definitionFile(name)
  for (const [path, value] of Object.entries(changes)) change(file as unknown as Part, path.split('/'), value)
  try {
    loadDefinition(bytesOf(file))
    return []
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'definition_invalid') throw error
    const faults = error.details?.faults as { path: string; message: string }[]
    return faults.map(({ path, message }) => `${path}: ${message}`)
  }
}

type Part = { [key: string]: unknown }

function change(part: Part, [key = '', ...rest]: string[], value: unknown): void {
  if (rest.length > 0) change(part[key] as Part, rest, value)
  else if (value === undefined) delete part[key]
  else part[key] = value
}

t.test('every definition of the package loads, with its wire tests and a source that can be found', async (t) => {
  const sets = shippedSets()
  t.ok(sets.names().length >= 12, 'twelve devices at least')
  for (const name of sets.names()) {
    const { definition } = sets.get(name)
    t.equal(definition.name, name)
    t.ok(
      definition.sources.every(({ url }) => url?.startsWith('http')),
      name,
    )
  }
})

t.test('all faults are told at once, with their paths', async (t) => {
  const { tests } = definitionFile('pjlink-class-1')
  const whole = { type: 'integer', min: 2, max: 1 }
  const rows: [string, Record<string, unknown>, RegExp | string][] = [
    ['an unknown key', { comands: {} }, /comands/],
    ['a name that is missing', { title: undefined }, /^title: /],
    [
      'an argument that nothing sends',
      { 'commands/power/args/speed': whole },
      'commands.power.args.speed: send does not',
    ],
    [
      'a value that there is not',
      { 'commands/power/send': '%1POWR {powr}\r' },
      'commands.power.send: there is no value powr, the nearest is power',
    ],
    [
      'a filter for numbers on a text',
      { 'commands/power/send': '{power|hex:2}' },
      'commands.power.send: power: the filter hex takes a number, and gets a text',
    ],
    [
      'a secret in a command',
      { 'commands/power/send': '{power}{$password}' },
      'commands.power.send: $password is secret, and may stand in login only',
    ],
    [
      'an attribute that there is not',
      { 'commands/read_power/reply/0/match': '%1POWR={pwr:text}' },
      'commands.read_power.reply[0].match: there is no attribute pwr',
    ],
    ['a pattern that is none', { 'errors/0/match': '{x' }, 'errors[0].match: at character 1: a brace is not closed'],
    [
      'an enum that there is not',
      { 'commands/input/args/input/of': 'inputs' },
      /no enum "inputs", the nearest is input/,
    ],
    ['min above max', { 'commands/power/args/power': whole }, 'commands.power.args.power: min 2 is above max 1'],
    ['a poll of nothing', { 'polls/0/command': 'read_powr' }, 'polls[0].command: there is no command read_powr'],
    [
      'a wrong wire test',
      { 'tests/3/sends': '%1POWR 9\r' },
      'tests[3]: it sends 25 31 50 4F 57 52 20 31 0D, expected 25 31 50 4F 57 52 20 39 0D',
    ],
    [
      'a command without a wire test',
      { tests: tests.filter(({ command }) => command !== 'mute') },
      'commands.mute: no wire test says what it sends',
    ],
    ['a login without a wire test', { tests: tests.slice(3) }, 'login: no wire test goes through it'],
    ['a login that expects nothing', { login: [{}] }, 'login[0]: it sends nothing and expects nothing'],
    [
      'an attribute of another kind',
      { 'commands/power/sets': { power: { arg: 'power' } } },
      'commands.power.sets.power: the argument is boolean, and the attribute enum',
    ],
  ]
  for (const [what, changes, fault] of rows) {
    const faults = faultsOf(changes)
    const isTold = faults.some((one) => (typeof fault === 'string' ? one.startsWith(fault) : fault.test(one)))
    t.ok(isTold, `${what}: ${faults.join(' | ')}`)
  }
  const both = faultsOf({ 'commands/power/send': '{powr}', 'polls/0/command': 'none' })
  t.ok(both.length > 2, 'more than the first')
})

t.test('an end of a range that does not fit its filter is found when it is loaded, not when it is sent', async (t) => {
  const faults = faultsOf({ 'commands/volume/args/volume/max': 300 }, 'samsung-mdc')
  t.ok(
    faults.some((one) => /commands\.volume\.send: 300 is not a whole number from 0 to 255/.test(one)),
    faults.join(),
  )
})

t.test('a text that could end a message is refused', async (t) => {
  const faults = faultsOf({ 'commands/display/args/text/except': undefined }, 'mettler-toledo-sics')
  t.strictSame(faults, [], 'a line end is a control character, which no text may have')
  const named = faultsOf(
    {
      'commands/level/args/name': { type: 'text', max_length: 8 },
      'commands/level/send': '>V:1,N:{name},G:{group},L:{level},F:{fade}#',
    },
    'helvarnet',
  )
  t.ok(
    named.some((one) => one.startsWith('commands.level.args.name: it may hold "#", which ends the message')),
    named.join(),
  )
})

t.test('what is no JSON, or too much of it, is refused', async (t) => {
  t.throws(() => loadDefinition(new TextEncoder().encode('{')), { code: 'definition_invalid', message: /not JSON/ })
  t.throws(() => loadDefinition(Uint8Array.of(0xff)), { code: 'definition_invalid' })
  t.throws(() => loadDefinition(new Uint8Array(DEFINITION_LIMITS.fileBytes + 1)), { message: /at most 262144/ })
  t.throws(() => loadDefinition(new TextEncoder().encode('['.repeat(200_000))), { code: 'definition_invalid' })
})

t.test('any JSON is a definition or a Fault', async (t) => {
  holds(
    t,
    fc.property(fc.jsonValue(), (value) => refusedOrLoaded(value)),
    { numRuns: 300 },
  )
})

t.test('a definition with any one part replaced is loaded or refused, and nothing else happens', async (t) => {
  const names = shippedSets().names()
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom(
      '{',
      '{v:text}',
      '{#AA}',
      '{power|pad:3}',
      '{:text}{:text}',
      '__proto__',
      -1,
      1e308,
      65_536,
      [],
      {},
    ),
  )
  holds(
    t,
    fc.property(fc.constantFrom(...names), fc.nat(), junk, (name, at, value) => {
      const file = definitionFile(name)
      const places = placesIn(file)
      places[at % places.length]?.(value)
      refusedOrLoaded(file)
    }),
    { numRuns: 400 },
  )
})

function refusedOrLoaded(value: unknown): void {
  try {
    loadDefinition(bytesOf(value) ?? new Uint8Array(0))
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'definition_invalid') throw error
  }
}

/** A setter for each value in a JSON, at any depth. */
function placesIn(value: unknown): ((value: unknown) => void)[] {
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, part]) => {
    const put = (junk: unknown) => change(value as Part, [key], junk)
    return [put, ...placesIn(part)]
  })
}

t.test('a library reads the folders in order, and says which name is nearest', async (t) => {
  const root = t.testdir()
  const [own, shipped] = [join(root, 'own'), join(root, 'shipped')]
  for (const folder of [own, shipped]) mkdirSync(folder)
  const file = definitionFile('helvarnet')
  writeFileSync(join(shipped, 'helvarnet.json'), JSON.stringify(file))
  writeFileSync(join(own, 'helvarnet.json'), JSON.stringify({ ...file, version: '2.0.0' }))
  writeFileSync(join(own, 'broken.json'), '{')
  writeFileSync(join(own, 'other.json'), JSON.stringify(file))
  const library = createDefinitionLibrary([own, shipped, join(root, 'missing')], 40_000)
  t.equal(library.get('helvarnet').definition.version, '2.0.0')
  t.strictSame(library.names(), ['broken', 'helvarnet', 'other'])
  t.strictSame(createDefinitionLibrary([shipped, own], 40_000).ownNames(), ['helvarnet'])
  t.strictSame(createDefinitionLibrary([join(root, 'missing'), own], 40_000).ownNames(), [])
  t.throws(() => library.get('broken'), { code: 'definition_invalid' })
  t.throws(() => library.get('other'), {
    code: 'definition_invalid',
    message: /it is helvarnet, expected the name of its file, other/,
  })
  t.throws(() => library.get('helvernet'), { code: 'definition_unknown', message: /the nearest is helvarnet/ })
  t.throws(() => library.get('../../etc/passwd'), { code: 'definition_unknown' })
  writeFileSync(join(own, 'broken.json'), JSON.stringify({ ...file, name: 'broken' }))
  t.equal(library.get('broken').definition.name, 'broken', 'one that was refused is read again')
  t.equal(readdirSync(own).length, 3)
})
