/**
 * Enforces the arrow of docs/ARCHITECTURE.md: what each part may import, no cycles (types included), no daemon that
 * knows another, `.ts` endings, `#kit` and `#native` across top-level folders; no access of pure code to the world
 * through a global; and the structure of the C++ in native/.
 *
 *     node scripts/check-layers.ts [FOLDER]
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import { bareCode, cyclesOf, type Import, importsOf, importTarget } from './imports.ts'
import { isMain } from './is-main.ts'
import { faultOfImport, placeOf, RULES } from './layers.ts'

/** Every fault below `root`, one line each: place, import, reason. */
export function layerFaults(root: string): string[] {
  const files = globSync('{daemons,kit,native,scripts}/**/*.ts', { cwd: root })
    .filter((file) => !/(^|\/)(node_modules|build|prebuilds)\//.test(file))
    .sort()
  if (files.length === 0) return [`no source file found below ${root}: the check looks in the wrong place`]
  const faults: string[] = []
  const graph = new Map<string, string[]>()
  for (const file of files) {
    const source = readFileSync(join(root, file), 'utf8')
    const imports = importsOf(source)
    faults.push(...reachFaults(file, source))
    graph.set(file, [])
    if (!placeOf(file)) faults.push(`${file}: the house has no such place`)
    if (basename(file) === 'index.ts' && !/^native\/[^/]+\/index\.ts$/.test(file))
      faults.push(`${file}: only the face of an addon is called index.ts`)
    for (const one of imports) {
      const fault = faultOf(root, file, one)
      if (fault !== undefined) faults.push(`${file}:${one.line}: ${one.specifier}: ${fault}`)
      const target = importTarget(file, one.specifier)
      if (target !== undefined) graph.get(file)?.push(target)
    }
  }
  return [...faults, ...cyclesOf(graph), ...nativeFaults(root)]
}

function faultOf(root: string, file: string, { specifier, isType }: Import): string | undefined {
  const target = importTarget(file, specifier)
  if (target === undefined) return faultOfPackage(file, specifier, isType)
  if (!/\.(ts|mjs|cjs|json|css|svg)$/.test(target)) return 'the ending is missing'
  // The exports of a .cjs file without source are declared beside it.
  const declared = target.replace(/\.cjs$/, '.d.cts')
  if (!existsSync(join(root, target)) && !existsSync(join(root, declared))) return 'no such file'
  if (!target.endsWith('.ts')) return undefined
  const crosses = target.split('/')[0] !== file.split('/')[0]
  if (crosses && !specifier.startsWith('#') && /^(kit|native)\//.test(target))
    return 'kit and native are #kit and #native'
  return faultOfImport(file, target, isType)
}

function faultOfPackage(file: string, specifier: string, isType: boolean): string | undefined {
  const place = placeOf(file)
  if (!place || isType) return undefined
  const rule = RULES[place.part]
  if (specifier.startsWith('node:')) {
    if (rule.node === 'all' || rule.node.includes(specifier)) return undefined
    return `${place.part} may not touch Node's modules${rule.node.length > 0 ? ` but ${rule.node.join(', ')}` : ''}`
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  if (rule.packages === 'all' || rule.packages.includes(name)) return undefined
  return `${place.part} may not import ${name}${rule.packages.length > 0 ? `, only ${rule.packages.join(', ')}` : ''}`
}

// Pure code must not access the world: time, timers, random numbers, the network, the terminal, other modules.

/** wire/ and core/ of daemons and roles, and the parts of kit that run everywhere. */
const PURE = /^(daemons\/[^/]+\/(roles\/[^/]+\/)?(core|wire)|kit\/pure)\//

/** A global (not a property or method of that name), with its replacement. */
const REACHES: readonly [pattern: RegExp, instead: string][] = [
  [/(?<![\w$.#])(Date\.now|new Date(?=\(\s*\))|performance(?=\.))/g, 'a Clock is handed in'],
  [/(?<![\w$.#])(setTimeout|setInterval|setImmediate|queueMicrotask)\b/g, 'a Clock is handed in'],
  [/(?<![\w$.#])(Math\.random|crypto(?=\.))/g, 'chance is handed in'],
  [/(?<![\w$.#])(fetch(?=\()|console(?=\.)|process(?=\.)|globalThis)\b/g, 'io does that'],
  [/(?<![\w$.#])(import)\s*\(/g, 'a module is imported at the top'],
]

/** Every such access of one file, one line each; none if the file is not pure. */
function reachFaults(file: string, source: string): string[] {
  if (!PURE.test(file) || /\/test\//.test(file)) return []
  const code = bareCode(source)
  return REACHES.flatMap(([pattern, instead]) =>
    [...code.matchAll(pattern)].map(
      (match) => `${file}:${code.slice(0, match.index).split('\n').length}: ${match[1]}: ${instead}`,
    ),
  )
}

// The C++ of native/: no cycles among its units (a .cc file and its header), shared folders know no addon, and the
// rules of sound know only the standard library.

/** Folders that addons are built with (`include_dirs` of their binding.gyp). */
const SHARED = ['native/common', 'native/sound']

/** C headers allowed besides all of C++: its standard library has no mutex with priority inheritance. */
const C_HEADERS = ['stdint.h', 'stddef.h', 'pthread.h']

/** Every fault of the includes below `root`/native, one line each. */
function nativeFaults(root: string): string[] {
  const faults: string[] = []
  const graph = new Map<string, string[]>()
  for (const file of globSync('native/*/{src/,}*.{cc,h}', { cwd: root }).sort()) {
    const unit = unitOf(file)
    const targets = graph.get(unit) ?? []
    graph.set(unit, targets)
    for (const [, system, own] of readFileSync(join(root, file), 'utf8').matchAll(
      /^#include (?:<([^>]+)>|"([^"]+)")/gm,
    )) {
      if (system !== undefined && file.startsWith('native/sound/') && !isStandard(system))
        faults.push(`${file}: <${system}>: native/sound may include the standard library alone`)
      if (own === undefined) continue
      const target = headerOf(root, file, own)
      if (target === undefined) faults.push(`${file}: "${own}": no such header here, nor in ${SHARED.join(' or ')}`)
      else if (unitOf(target) !== unit) targets.push(unitOf(target))
      const folder = posix.dirname(file)
      if (target !== undefined && SHARED.includes(folder) && posix.dirname(target) !== folder)
        faults.push(`${file}: "${own}": ${folder} may not know ${posix.dirname(target)}`)
    }
  }
  return [...faults, ...cyclesOf(graph)]
}

/** A .cc file and its header are one unit: including the header means both. */
function unitOf(file: string): string {
  return file.replace(/\.(cc|h)$/, '')
}

function isStandard(header: string): boolean {
  return /^[a-z]+$/.test(header) || C_HEADERS.includes(header)
}

/** Where the compiler finds a header: beside the file, then in the shared folders. */
function headerOf(root: string, file: string, header: string): string | undefined {
  const places = [posix.dirname(file), ...SHARED].map((folder) => posix.join(folder, header))
  return places.find((place) => existsSync(join(root, place)))
}

if (isMain(import.meta)) {
  const faults = layerFaults(process.argv[2] ?? process.cwd())
  for (const fault of faults) console.log(fault)
  process.exitCode = faults.length > 0 ? 1 : 0
}
