/**
 * Holds the sources to the arrow of docs/ARCHITECTURE.md: what each part may import, no cycles (types included), no
 * daemon that knows another, `.ts` endings, `#kit` and `#native` across top-level folders; the C++ of native/ by
 * scripts/native-includes.ts, and pure code to what it is handed by scripts/world-reach.ts.
 *
 *     node scripts/check-layers.ts [FOLDER]
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { cyclesOf, type Import, importsOf, targetOf } from './imports.ts'
import { isMain } from './is-main.ts'
import { faultOfImport, placeOf, RULES } from './layers.ts'
import { nativeFaults } from './native-includes.ts'
import { reachFaults } from './world-reach.ts'

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
      const target = targetOf(file, one.specifier)
      if (target !== undefined) graph.get(file)?.push(target)
    }
  }
  return [...faults, ...cyclesOf(graph), ...nativeFaults(root)]
}

function faultOf(root: string, file: string, { specifier, isType }: Import): string | undefined {
  const target = targetOf(file, specifier)
  if (target === undefined) return faultOfPackage(file, specifier, isType)
  if (!/\.(ts|mjs|cjs|json|css|svg)$/.test(target)) return 'the ending is missing'
  // What a .cjs without source exports is declared beside it.
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

if (isMain(import.meta)) {
  const faults = layerFaults(process.argv[2] ?? process.cwd())
  for (const fault of faults) console.log(fault)
  process.exitCode = faults.length > 0 ? 1 : 0
}
