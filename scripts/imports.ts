/** Finds the imports of a source file, types included, the files they mean, and cycles. */
import { posix } from 'node:path'

/** One import, export-from or import() of a file. */
export interface Import {
  /** As written: `./x.ts`, `#kit/pure/fault.ts`, `node:fs`, `fastify`. */
  specifier: string
  /** Only types are imported; nothing of it runs. */
  isType: boolean
  /** 1-based. */
  line: number
}

const FORM =
  /(?:^|[;}\n])[ \t]*(?:import|export)\s+(type\s+)?(?:[\w*{][^'";]*?\sfrom\s*)?['"]([^'"\n]+)['"]|(typeof\s+)?\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/g

/** Every import of a source text, in order. Comments are ignored. */
export function importsOf(source: string): Import[] {
  const code = withoutComments(source)
  return [...code.matchAll(FORM)].map((match) => ({
    specifier: match[2] ?? match[4] ?? '',
    isType: match[1] !== undefined || match[3] !== undefined,
    line: code.slice(0, match.index + match[0].length).split('\n').length,
  }))
}

/** Path, from the root, of the file that a specifier in `file` means; undefined for packages and Node's modules. */
export function importTarget(file: string, specifier: string): string | undefined {
  if (specifier.startsWith('#')) return specifier.slice(1)
  if (specifier.startsWith('.')) return posix.join(posix.dirname(file), specifier)
  return undefined
}

/** Each cycle once, as the files along it. */
export function cyclesOf(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const path: string[] = []
  function visit(file: string): void {
    const at = path.indexOf(file)
    if (at >= 0) {
      found.push(`cycle: ${[...path.slice(at), file].join(' -> ')}`)
      return
    }
    if (done.has(file)) return
    done.add(file)
    path.push(file)
    for (const next of graph.get(file) ?? []) visit(next)
    path.pop()
  }
  for (const file of graph.keys()) visit(file)
  return found
}

/**
 * Blanks comments, keeping line numbers. Strings, templates and regular expressions are skipped, so that the `//` of a
 * URL is not taken for a comment.
 */
function withoutComments(source: string): string {
  return source.replace(PARTS, (part) => (part.startsWith('/') ? blank(part) : part))
}

/** A source with comments and string literals blanked. Templates stay, since they contain code. */
export function bareCode(source: string): string {
  return source.replace(PARTS, (part) => (part.startsWith('`') ? part : blank(part)))
}

const PARTS = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g

function blank(part: string): string {
  return part.replace(/[^\n]/g, ' ')
}
