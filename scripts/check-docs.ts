/**
 * Holds the docs to the sources, and the sources to the docs: what is named exists, what exists is named, generated
 * parts are fresh, units allow the memory that follows from the settings, and no file names a registry's host or a path of somebody's machine.
 *
 *     node scripts/check-docs.ts            says what is wrong
 *     node scripts/check-docs.ts --write    brings the generated parts up to date first
 */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { tablesOf as settingTables } from '#kit/config/load.ts'
import { claimFaults, errorFaults, type Known } from './doc-claims.ts'
import { codesOf, routesOf, settingsOf } from './doc-facts.ts'
import { staleParts } from './doc-parts.ts'
import { isMain } from './is-main.ts'
import { memoryFaults } from './memory-facts.ts'
import { strangerFaults } from './strangers.ts'

/** What docs/ holds at least. */
const CHAPTERS = ['ARCHITECTURE', 'GLOSSARY', 'LIFECYCLES', 'ERRORS', 'INSTALL', 'CHANGELOG']

/** Every fault below `root`, one line each. */
export async function docFaults(root: string): Promise<string[]> {
  const docs = globSync('{README.md,docs/**/*.md,firmware-images/README.md}', { cwd: root }).sort()
  if (docs.length === 0) return [`no docs found below ${root}: the check looks in the wrong place`]
  const faults = CHAPTERS.filter((name) => !existsSync(join(root, `docs/${name}.md`))).map(
    (name) => `docs/${name}.md is missing`,
  )
  const daemons = existsSync(join(root, 'daemons')) ? readdirSync(join(root, 'daemons')) : []
  const known: Known = { root, routes: new Set(), settings: new Set(), targets: makeTargets(root) }
  for (const daemon of daemons) {
    const own = (await routesOf(root, daemon)).map(({ method, path }) => `${method} ${path}`)
    for (const route of own) (known.routes as Set<string>).add(route)
    for (const [table, { properties }] of Object.entries(settingTables(await settingsOf(root, daemon))))
      for (const key of Object.keys(properties)) (known.settings as Set<string>).add(`${table}.${key}`)
    faults.push(...chapterFaults(root, daemon))
  }
  for (const file of docs) faults.push(...claimFaults(file, known))
  faults.push(...errorFaults(root, codesOf(root)))
  for (const file of await staleParts(root))
    faults.push(`${file}: generated parts are old: node scripts/check-docs.ts --write`)
  faults.push(...(await memoryFaults(root, daemons)))
  return [...faults, ...changelogFaults(root), ...decisionFaults(root), ...strangerFaults(root)]
}

/** A note is cited by its number: each has one of its own, and its first line says the same as its file's name. */
function decisionFaults(root: string): string[] {
  const seen = new Map<string, string>()
  return globSync('docs/decisions/*.md', { cwd: root })
    .sort()
    .flatMap((file) => {
      const number = basename(file).split('-')[0] ?? ''
      const other = seen.get(number)
      seen.set(number, file)
      if (other !== undefined) return [`${file} and ${other} have the same number`]
      const isTold = readFileSync(join(root, file), 'utf8').startsWith(`# ${number} `)
      return isTold ? [] : [`${file} does not begin with '# ${number} '`]
    })
}

/** A chapter carries the generated lists of its daemon: that is what makes every route and key named. */
function chapterFaults(root: string, daemon: string): string[] {
  const file = `docs/${daemon}.md`
  const text = existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : ''
  return ['routes', 'settings', 'memory']
    .filter((kind) => !text.includes(`<!-- generated: ${kind} ${daemon} -->`))
    .map((kind) => `${file} has no <!-- generated: ${kind} ${daemon} -->`)
}

function changelogFaults(root: string): string[] {
  const file = join(root, 'docs/CHANGELOG.md')
  const top = existsSync(file) ? /^## (.*)$/m.exec(readFileSync(file, 'utf8'))?.[1] : undefined
  const isFine = top === 'Unreleased' || /^\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d$/.test(top ?? '')
  return isFine ? [] : [`docs/CHANGELOG.md begins with '${top}': expected 'Unreleased' or 'x.y.z - yyyy-mm-dd'`]
}

function makeTargets(root: string): Set<string> {
  const file = join(root, 'Makefile')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return new Set([...text.matchAll(/^([a-z][a-z0-9-]*):/gm)].map(([, name]) => name ?? ''))
}

if (isMain(import.meta)) {
  const root = process.cwd()
  if (process.argv.includes('--write')) {
    for (const file of await staleParts(root, { write: true })) console.log(`wrote ${file}`)
  }
  const faults = await docFaults(root)
  for (const fault of faults) console.log(fault)
  process.exitCode = faults.length > 0 ? 1 : 0
}
