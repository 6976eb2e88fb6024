/**
 * Holds the C++ of native/ to its shape: no cycle among its units (a .cc file and its header), folders that addons share
 * know no addon, and the rules of sound know nothing but the standard library.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { cyclesOf } from './imports.ts'

/** Folders that addons are built with (`include_dirs` of their binding.gyp). */
const SHARED = ['native/common', 'native/sound']

/** Of C alone these, beside everything of C++: a mutex whose holder inherits priority is not in its standard library. */
const C_HEADERS = ['stdint.h', 'stddef.h', 'pthread.h']

/** Every fault of the includes below `root`/native, one line each. */
export function nativeFaults(root: string): string[] {
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

/** A .cc file and its header are one: who includes the header means both. */
function unitOf(file: string): string {
  return file.replace(/\.(cc|h)$/, '')
}

function isStandard(header: string): boolean {
  return /^[a-z]+$/.test(header) || C_HEADERS.includes(header)
}

/** Where the compiler finds it: beside the file, then in the shared folders. */
function headerOf(root: string, file: string, header: string): string | undefined {
  const places = [posix.dirname(file), ...SHARED].map((folder) => posix.join(folder, header))
  return places.find((place) => existsSync(join(root, place)))
}
