/**
 * Assigns files to parts of the house, and says what each part may import: the arrow of docs/ARCHITECTURE.md as a
 * table.
 */

/** A place in the house. `unit` is the daemon or role, `part` its folder or file. */
export interface Place {
  part: Part
  unit?: string
}

/** The parts, from left to right of the arrow. */
export type Part =
  | 'native'
  | 'kit'
  | 'kit/pure'
  | 'kit/web'
  | 'wire'
  | 'core'
  | 'io'
  | 'api'
  | 'config'
  | 'web'
  | 'assemble'
  | 'main'
  | 'scripts'
  | 'test'

/** What a part may import: Node's modules, packages, and files of other parts of the same unit. */
interface Rule {
  /** Node's modules: `all`, or those listed. */
  node: 'all' | string[]
  /** npm packages: `all`, or those listed. */
  packages: 'all' | string[]
  parts: Part[]
  /** Parts from which only types may be imported. */
  types?: Part[]
  /** The only files of kit, besides kit/pure, that may be imported for more than types; all if omitted. */
  kitFiles?: string[]
}

/** The rules. Anything not listed is forbidden. */
export const RULES: Record<Part, Rule> = {
  native: { node: 'all', packages: 'all', parts: ['native'] },
  'kit/pure': { node: [], packages: ['typebox', 'semver'], parts: ['kit/pure'], types: ['kit'] },
  kit: { node: 'all', packages: 'all', parts: ['kit', 'kit/pure', 'native'] },
  // Runs in a browser, so what it imports must too.
  'kit/web': {
    node: [],
    packages: ['preact', 'htm', '@preact/signals', 'uplot'],
    parts: ['kit/web', 'kit/pure'],
    types: ['kit'],
  },
  // A parser that takes text and calls back needs nothing of the world.
  wire: { node: [], packages: ['sax'], parts: ['wire', 'kit/pure'] },
  core: {
    node: ['node:events'],
    packages: ['typebox'],
    parts: ['core', 'wire', 'kit/pure', 'kit'],
    // Tests provide the clock, and a revision is a hash: both work the same everywhere.
    kitFiles: ['kit/clock.ts', 'kit/revision.ts'],
  },
  io: { node: 'all', packages: 'all', parts: ['io', 'core', 'wire', 'kit', 'kit/pure', 'native'] },
  api: { node: 'all', packages: 'all', parts: ['api', 'core', 'wire', 'kit', 'kit/pure'] },
  config: { node: [], packages: ['typebox'], parts: ['core', 'wire', 'kit', 'kit/pure'] },
  web: {
    node: [],
    packages: ['preact', 'htm', '@preact/signals', 'uplot'],
    parts: ['web', 'kit/web', 'kit/pure', 'wire'],
    types: ['core', 'api', 'kit'],
  },
  assemble: {
    node: 'all',
    packages: 'all',
    parts: ['assemble', 'config', 'api', 'io', 'core', 'wire', 'kit', 'kit/pure'],
  },
  main: { node: [], packages: [], parts: ['assemble', 'config', 'kit'] },
  scripts: { node: 'all', packages: 'all', parts: ['scripts', 'config', 'wire', 'kit', 'kit/pure', 'native', 'main'] },
  test: {
    node: 'all',
    packages: 'all',
    parts: [
      'test',
      'native',
      'kit',
      'kit/pure',
      'kit/web',
      'wire',
      'core',
      'io',
      'api',
      'config',
      'web',
      'assemble',
      'main',
      'scripts',
    ],
  },
}

/** The place of a file of the checkout; undefined if the house has none for it. */
export function placeOf(path: string): Place | undefined {
  const folders = path.split('/')
  const [top, name] = folders
  const isTest = folders.includes('test') || path.endsWith('.test.ts')
  // Benchmarks check behaviour like tests, and may use their tools.
  if (top === 'scripts' && name === 'bench') return { part: 'test' }
  if (top === 'native' || top === 'scripts') return { part: isTest ? 'test' : top }
  if (top === 'kit') {
    if (isTest) return { part: 'test' }
    return { part: name === 'pure' ? 'kit/pure' : name === 'web' ? 'kit/web' : 'kit' }
  }
  if (top !== 'daemons' || name === undefined) return undefined
  const isRole = folders[2] === 'roles' && folders[3] !== undefined
  const unit = isRole ? folders.slice(1, 4).join('/') : name
  if (isTest) return { part: 'test', unit }
  const within = folders[isRole ? 4 : 2] ?? ''
  const part = within.replace(/\.ts$/, '')
  const known = ['wire', 'core', 'io', 'api', 'config', 'web', 'assemble', 'main']
  return known.includes(part) ? { part: part as Part, unit } : undefined
}

/** Why `file` may not import `target` (paths from the root), or undefined if it may. */
export function faultOfImport(file: string, target: string, isType: boolean): string | undefined {
  const from = placeOf(file)
  const to = placeOf(target)
  if (!from) return 'the file stands in no part of the house'
  if (!to) return `${target} stands in no part of the house`
  if (from.unit !== undefined && to.unit !== undefined && !isSameUnit(from.unit, to.unit))
    return `${from.unit} may not know ${to.unit}`
  if (/^(kit|native)\//.test(file) && to.part === 'scripts') return 'kit and native know no scripts, their tests too'
  if (isRole(to) && !isRole(from) && !MAY_KNOW_ROLES.includes(from.part)) return `${from.part} may not know ${to.unit}`
  const rule = RULES[from.part]
  if (isType && rule.types?.includes(to.part)) return undefined
  if (!rule.parts.includes(to.part)) return `${from.part} may not import ${to.part}`
  if (to.part === 'kit' && !isType && rule.kitFiles && !rule.kitFiles.includes(target))
    return `${from.part} may import ${rule.kitFiles.join(', ')} of kit, and types`
  const stranger = PROTOCOLS.find(({ own, mayKnow }) => own.test(target) && from.part === 'core' && !mayKnow.test(file))
  return stranger ? `what every protocol has may not know ${stranger.name}` : faultOfProtocol(file, target)
}

/** A protocol on the list of the gateway without a row in `PROTOCOLS`: the rest of core/ could know it unnoticed. */
function faultOfProtocol(file: string, target: string): string | undefined {
  if (file !== 'daemons/gateway/core/protocols.ts') return undefined
  const [, name] = /^daemons\/gateway\/core\/([\w-]+)\/\1\.ts$/.exec(target) ?? []
  if (name === undefined || PROTOCOLS.some(({ own }) => own.test(target))) return undefined
  return `${name} has no row in PROTOCOLS of scripts/layers.ts: give it one with its files`
}

/**
 * Protocols of the gateway: the files of each, and which of core/ may know them. The rest of core/ is independent of
 * protocols.
 */
const PROTOCOLS: readonly { name: string; own: RegExp; mayKnow: RegExp }[] = [
  {
    name: 'modbus',
    own: /^daemons\/gateway\/(core\/modbus\/|wire\/(modbus|mbap))/,
    mayKnow: /^daemons\/gateway\/core\/(modbus\/|protocols\.ts$)/,
  },
  {
    name: 'mbus',
    own: /^daemons\/gateway\/(core|wire)\/mbus\//,
    mayKnow: /^daemons\/gateway\/core\/(mbus\/|protocols\.ts$)/,
  },
  {
    name: 'mstp',
    own: /^daemons\/gateway\/(core|wire)\/mstp\//,
    mayKnow: /^daemons\/gateway\/core\/(mstp\/|protocols\.ts$|memory\.ts$)/,
  },
  {
    name: 'dnp3',
    own: /^daemons\/gateway\/(core|wire)\/dnp3\//,
    mayKnow: /^daemons\/gateway\/core\/(dnp3\/|protocols\.ts$|memory\.ts$)/,
  },
  {
    name: 'equipment',
    own: /^daemons\/gateway\/core\/equipment\//,
    mayKnow: /^daemons\/gateway\/core\/(equipment\/|protocols\.ts$|memory\.ts$)/,
  },
  {
    name: 'raw',
    own: /^daemons\/gateway\/core\/raw\//,
    mayKnow: /^daemons\/gateway\/core\/(raw\/|protocols\.ts$)/,
  },
]

/** Parts that assemble roles, show them or have their settings; code shared by all roles knows none of them. */
const MAY_KNOW_ROLES: readonly Part[] = ['assemble', 'config', 'web', 'test']

function isRole({ unit }: Place): boolean {
  return unit?.includes('/roles/') === true
}

/** A role is assembled by its daemon, and may use what the daemon has for all roles. */
function isSameUnit(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`)
}
