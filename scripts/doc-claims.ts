/** Claims of the docs that the sources must confirm: paths, symbols, routes, settings, codes. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type CodeFact, isCodeMade } from './doc-facts.ts'

/** Facts to check claims against. */
export interface Known {
  root: string
  /** `GET /api/ports`. */
  routes: ReadonlySet<string>
  /** `http.listen`. */
  settings: ReadonlySet<string>
  /** Each daemon's own: the only ones its chapter may mention. */
  routesOf: ReadonlyMap<string, ReadonlySet<string>>
  /** Files of the top-level folders. */
  files: readonly string[]
  /** Targets of make. */
  targets: ReadonlySet<string>
}

/** Top-level folders: anything beginning with one is a path of the checkout. `build/` is generated, and not checked. */
const FOLDERS = /^(daemons|kit|native|scripts|systemd|docs|firmware-images)\//

/** Faults of one file of the docs, one line each. */
export function claimFaults(file: string, known: Known): string[] {
  const text = readFileSync(join(known.root, file), 'utf8').replace(/^```[\s\S]*?^```/gm, '')
  const faults = new Set<string>()
  const report = (claim: string, why: string) => faults.add(`${file}: \`${claim}\` ${why}`)
  const own = known.routesOf.get(basename(file, '.md'))
  for (const [, code] of text.matchAll(/`([^`\n]+)`/g)) {
    const why = faultOfClaim(code ?? '', known) ?? faultOfChapter(code ?? '', own)
    if (why !== undefined) report(code ?? '', why)
  }
  for (const [name] of text
    .replace(/`[^`\n]+`/g, ' ')
    .replace(/\]\([^)]*\)/g, ']')
    .matchAll(PROSE_PATH))
    if (!isThere(known.root, name)) report(name, 'is not there')
  for (const [name] of text.matchAll(SOURCE_NAME))
    if (!known.files.some((one) => one === name || one.endsWith(`/${name}`)))
      report(name, 'is not a file of the checkout')
  for (const [, link] of text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g))
    if (link !== undefined && !/^[a-z]+:/.test(link) && !existsSync(join(known.root, dirname(file), link)))
      report(link, 'is linked and not there')
  return [...faults]
}

/** A path in a sentence, without final punctuation. */
const PROSE_PATH = /(?<![\w/.<>-])(?:daemons|kit|native|scripts|systemd|docs|firmware-images)\/[\w./<>*-]*[\w>*]/g

/** A source named by its file name, or by the end of its path. */
const SOURCE_NAME = /(?<![\w/.<>*{},:-])[\w-][\w.-]*(?:\/[\w.-]+)*\.(?:ts|cc|h|css|mjs|sh)(?![\w/])/g

/** A route of one daemon in the chapter of another. */
function faultOfChapter(claim: string, own: ReadonlySet<string> | undefined): string | undefined {
  if (own === undefined) return undefined
  const [, method, whole, bare] =
    /^(?:(GET|POST|PUT|PATCH|DELETE|WS) (\/[^\s?]*)|(\/(?:api|ws|metrics)\b[^\s?]*))/.exec(claim) ?? []
  if (whole !== undefined) return own.has(`${method} ${whole}`) ? undefined : 'is a route of another daemon'
  if (bare === undefined || [...own].some((route) => route.endsWith(` ${bare}`))) return undefined
  return 'is a route of another daemon'
}

function faultOfClaim(claim: string, known: Known): string | undefined {
  const [, method, route] = /^(GET|POST|PUT|PATCH|DELETE|WS) (\/[^\s?]*)/.exec(claim) ?? []
  if (method !== undefined && route !== undefined)
    return known.routes.has(`${method} ${route}`) ? undefined : 'is no route'
  if (/^\/(api|ws|metrics)\b/.test(claim)) {
    const bare = claim.replace(/\?.*$/, '')
    return [...known.routes].some((known) => known.endsWith(` ${bare}`)) ? undefined : 'is no route'
  }
  const path = claim.split(' ')[0] ?? ''
  if (FOLDERS.test(path)) return isThere(known.root, path) ? undefined : 'is not there'
  const target = /^make ([a-z][a-z0-9-]*)$/.exec(claim)?.[1]
  if (target !== undefined) return known.targets.has(target) ? undefined : 'is not a target of the Makefile'
  if (/^[a-z]+\.[a-z][a-z0-9_]*$/.test(claim) && isTable(claim, known))
    return known.settings.has(claim) ? undefined : 'is not a setting'
  const symbol = /^([A-Za-z]\w+)\(\)$/.exec(claim)?.[1]
  if (symbol !== undefined) return isDefined(known.root, symbol) ? undefined : 'is defined nowhere'
  return undefined
}

/** `kit/{auth,net}/`, `daemons/<name>/wire/` and `kit/http/*` match several paths: at least one must exist. */
function isThere(root: string, claim: string): boolean {
  const pattern = claim.replace(/:\d+$/, '').replace(/<[^>]+>/g, '*')
  return /[*{]/.test(pattern) ? globSync(pattern, { cwd: root }).length > 0 : existsSync(join(root, pattern))
}

/** Whether the word before the dot is a table of settings, rather than a file or a field of something else. */
function isTable(claim: string, { settings }: Known): boolean {
  const table = claim.slice(0, claim.indexOf('.') + 1)
  return [...settings].some((setting) => setting.startsWith(table)) && !/\.(ts|md|mjs|sh|json|toml)$/.test(claim)
}

function isDefined(root: string, symbol: string): boolean {
  const form = new RegExp(`\\b(function|const|class|interface|type) ${symbol}\\b|^\\s+(async )?${symbol}\\(`, 'm')
  return globSync('{daemons,kit,native,scripts}/**/*.ts', { cwd: root }).some(
    (file) => !file.includes('node_modules/') && form.test(readFileSync(join(root, file), 'utf8')),
  )
}

/** One row of docs/ERRORS.md: `| code | status | meaning | what to do |`; status is `-` if no request gets it. */
export interface ErrorRow {
  code: string
  status: number | undefined
}

/** The rows of docs/ERRORS.md. */
export function errorRows(root: string): ErrorRow[] {
  const file = join(root, 'docs/ERRORS.md')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return [...text.matchAll(/^\| `([a-z][a-z0-9_]*)` \| (\d{3}|-) \|/gm)].map(([, code, status]) => ({
    code: code ?? '',
    status: status === '-' ? undefined : Number(status),
  }))
}

/** Differences between docs/ERRORS.md and the sources, both ways. */
export function errorFaults(root: string, made: readonly CodeFact[]): string[] {
  const rows = errorRows(root)
  const faults: string[] = []
  const statusOf = new Map(made.map(({ code, status }) => [code, status]))
  const seen = new Set<string>()
  for (const { code, status } of rows) {
    if (seen.has(code)) faults.push(`docs/ERRORS.md: ${code} stands there twice`)
    seen.add(code)
    if (!statusOf.has(code) && !isCodeMade(root, code)) {
      faults.push(`docs/ERRORS.md: ${code} is made nowhere`)
      continue
    }
    const expected = statusOf.get(code)
    if (expected !== status)
      faults.push(
        `docs/ERRORS.md: ${code} is answered with ${expected ?? 'no status of its own'}, not ${status ?? '-'}`,
      )
  }
  for (const { code, isListedOnly } of made) {
    if (isListedOnly) faults.push(`${code} has a status and is made nowhere`)
    else if (!seen.has(code)) faults.push(`docs/ERRORS.md: ${code} is missing`)
  }
  return faults
}
