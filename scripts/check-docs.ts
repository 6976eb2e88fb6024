/**
 * Checks the docs against the sources and vice versa: what is named exists, what exists is named, generated parts are
 * fresh, units allow the memory that follows from the settings, and no file names a registry's host or a path of
 * somebody's machine.
 *
 *     node scripts/check-docs.ts            reports what is wrong
 *     node scripts/check-docs.ts --write    updates the generated parts first
 */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { schemaTables as settingTables } from '#kit/config/load.ts'
import { claimFaults, errorFaults, type Known } from './doc-claims.ts'
import { codesOf, routesOf, settingsOf } from './doc-facts.ts'
import { staleParts } from './doc-parts.ts'
import { variableCodeFaults } from './fault-codes.ts'
import { isMain } from './is-main.ts'
import { memoryFaults } from './memory-facts.ts'
import { strangerFaults, textFiles } from './strangers.ts'

/** Required files of docs/. */
const CHAPTERS = ['ARCHITECTURE', 'GLOSSARY', 'LIFECYCLES', 'ERRORS', 'INSTALL', 'CHANGELOG']

/** Folders whose files the docs may name. */
const TOP_FOLDERS = 'daemons,kit,native,scripts,systemd,docs,firmware-images'

/** Every fault below `root`, one line each. */
export async function docFaults(root: string): Promise<string[]> {
  const docs = globSync('{README.md,docs/**/*.md,firmware-images/README.md}', { cwd: root }).sort()
  if (docs.length === 0) return [`no docs found below ${root}: the check looks in the wrong place`]
  const faults = CHAPTERS.filter((name) => !existsSync(join(root, `docs/${name}.md`))).map(
    (name) => `docs/${name}.md is missing`,
  )
  const daemons = existsSync(join(root, 'daemons')) ? readdirSync(join(root, 'daemons')) : []
  const routesOfDaemons = new Map<string, ReadonlySet<string>>()
  const files = globSync(`{${TOP_FOLDERS}}/**/*`, { cwd: root }).filter((file) => !file.includes('node_modules/'))
  const known: Known = {
    root,
    routes: new Set(),
    routesOf: routesOfDaemons,
    files,
    settings: new Set(),
    targets: makeTargets(root),
  }
  for (const daemon of daemons) {
    const own = (await routesOf(root, daemon)).map(({ method, path }) => `${method} ${path}`)
    routesOfDaemons.set(daemon, new Set(own))
    for (const route of own) (known.routes as Set<string>).add(route)
    for (const [table, { properties }] of Object.entries(settingTables(await settingsOf(root, daemon))))
      for (const key of Object.keys(properties)) (known.settings as Set<string>).add(`${table}.${key}`)
    faults.push(...chapterFaults(root, daemon))
  }
  for (const file of docs) faults.push(...claimFaults(file, known))
  faults.push(...errorFaults(root, codesOf(root)), ...variableCodeFaults(root))
  for (const file of await staleParts(root))
    faults.push(`${file}: generated parts are old: node scripts/check-docs.ts --write`)
  faults.push(...(await memoryFaults(root, daemons)))
  return [
    ...faults,
    ...changelogFaults(root),
    ...decisionFaults(root),
    ...pictureFaults(root, docs),
    ...strangerFaults(root),
  ]
}

/** Most topics in docs/decisions/: anything about an existing topic goes there. */
const MOST_DECISIONS = 40

/**
 * A decision is found by its topic: all are in the index, few enough to look through, and those that a file names
 * exist. That links of the index work is checked with the other links.
 */
function decisionFaults(root: string): string[] {
  const faults: string[] = []
  const files = globSync('docs/decisions/*.md', { cwd: root }).sort()
  const topics = files.filter((file) => basename(file) !== 'README.md')
  const index = join(root, 'docs/decisions/README.md')
  const listed = existsSync(index) ? readFileSync(index, 'utf8') : ''
  if (topics.length > MOST_DECISIONS) faults.push(`docs/decisions: ${topics.length} topics, at most ${MOST_DECISIONS}`)
  for (const file of topics)
    if (!listed.includes(`](${basename(file)})`)) faults.push(`${file} is not in docs/decisions/README.md`)
  for (const { file, text } of textFiles(root))
    for (const [claim, name] of text.matchAll(/\bdocs\/decisions\/([a-z0-9-]+)(?:\.md)?/g))
      if (!existsSync(join(root, `docs/decisions/${name}.md`))) faults.push(`${file}: ${claim} is not there`)
  return [...new Set(faults)]
}

/** Most pictures in docs/img, since each is in every clone. `make pictures` makes all of them. */
const MOST_PICTURES = 8

/** Pictures are few, and each is shown. */
function pictureFaults(root: string, docs: readonly string[]): string[] {
  const pictures = globSync('docs/img/**/*.*', { cwd: root }).sort()
  const texts = docs.map((file) => readFileSync(join(root, file), 'utf8'))
  const unseen = pictures.filter((file) => !texts.some((text) => text.includes(`img/${basename(file)})`)))
  const faults = unseen.map((file) => `${file} is shown in no chapter`)
  if (pictures.length > MOST_PICTURES)
    faults.push(`docs/img: ${pictures.length} pictures, at most ${MOST_PICTURES}; make pictures makes all in build/`)
  return faults
}

/** A chapter contains the generated lists of its daemon, so every route and key is named. */
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
