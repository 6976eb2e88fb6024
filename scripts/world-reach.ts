/**
 * Finds where pure code reaches for the world through a global: time, timers, chance, the network, the terminal, other
 * modules. What it may import is in layers.ts.
 */
import { bareCode } from './imports.ts'

/** wire/ and core/ of a daemon and of a role, and what of kit runs everywhere. */
const PURE = /^(daemons\/[^/]+\/(roles\/[^/]+\/)?(core|wire)|kit\/pure)\//

/** A global, not a property or a method of that name, with what takes its place. */
const REACHES: readonly [pattern: RegExp, instead: string][] = [
  [/(?<![\w$.#])(Date\.now|new Date(?=\(\s*\))|performance(?=\.))/g, 'a Clock is handed in'],
  [/(?<![\w$.#])(setTimeout|setInterval|setImmediate|queueMicrotask)\b/g, 'a Clock is handed in'],
  [/(?<![\w$.#])(Math\.random|crypto(?=\.))/g, 'chance is handed in'],
  [/(?<![\w$.#])(fetch(?=\()|console(?=\.)|process(?=\.)|globalThis)\b/g, 'io does that'],
  [/(?<![\w$.#])(import)\s*\(/g, 'a module is imported at the top'],
]

/** Every reach of one file, one line each; none where the file is not pure. */
export function reachFaults(file: string, source: string): string[] {
  if (!PURE.test(file) || /\/test\//.test(file)) return []
  const code = bareCode(source)
  return REACHES.flatMap(([pattern, instead]) =>
    [...code.matchAll(pattern)].map(
      (match) => `${file}:${code.slice(0, match.index).split('\n').length}: ${match[1]}: ${instead}`,
    ),
  )
}
