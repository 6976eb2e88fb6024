/**
 * The licences of what is shipped: every npm package with a file in a bundle, and the Node that runs it. Each text is kept
 * once, packed, just as a daemon sends it (kit/http/licence-routes.ts), with a list for each daemon, and one readable file
 * of all for the Debian package.
 *
 * Libraries of the system are not listed: Debian installs them, with their own licences.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { LicencePackage } from '#kit/http/licence-routes.ts'

/**
 * Packages without a licence file: why that is in order, and the file that has the terms instead. Any other such package
 * fails the build.
 */
const WITHOUT_FILE: Readonly<Record<string, { why: string; from: string }>> = {
  'abstract-logging': { why: 'its readme has a section with the licence', from: 'Readme.md' },
  'pg-types': { why: 'its readme has a section with the licence', from: 'README.md' },
}

/** A package in the licence list, with the text itself. */
export interface Licence {
  name: string
  version: string
  /** As the package names it, an SPDX expression. */
  licence: string
  text: string
}

/** The folders of the packages that these inputs of a metafile come from, relative as they are given. */
export function packageFolders(inputs: Iterable<string>): string[] {
  const folders = [...inputs].flatMap((path) => {
    const [, folder] = /^(?:[a-z-]+:)?(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? []
    return folder === undefined ? [] : [folder]
  })
  return [...new Set(folders)].sort()
}

/** @throws Error for a package that names no licence, or has no text and no reason in `WITHOUT_FILE` */
export function readLicence(folder: string): Licence {
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
  const { name, version, license } = about
  const known = WITHOUT_FILE[String(name)]
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)([.-]|$)/i.test(file))
  if (files.length === 0 && known) files.push(known.from)
  const text = files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n')
  if (typeof license !== 'string' || license === '' || text === '')
    throw new Error(`${folder} has no licence, or no text of it: read its terms, then list it in scripts/licences.ts`)
  return { name: String(name), version: String(version), licence: license, text }
}

/** Node is shipped whole; its text covers what is built into it, too. */
export function nodeLicence(folder: string): Licence {
  return { ...readLicence(folder), name: 'Node.js' }
}

/**
 * Writes `<daemon>.json.gz` for each daemon, `<text>.json.gz` for each text, and `copyright` with all of them.
 * @param out emptied first
 */
export function writeLicences(out: string, lists: ReadonlyMap<string, readonly Licence[]>): void {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const texts = new Map<string, Licence[]>()
  const write = (name: string, content: unknown) =>
    writeFileSync(join(out, `${name}.json.gz`), gzipSync(JSON.stringify(content), { level: 9 }))
  for (const [daemon, licences] of lists) {
    const packages = byName(licences).map((each): LicencePackage => {
      const { name, version, licence, text } = each
      texts.set(text, [...(texts.get(text) ?? []), each])
      return { name, version, licence, text: idOf(text) }
    })
    write(daemon, packages)
  }
  for (const text of texts.keys()) write(idOf(text), { text })
  writeFileSync(join(out, 'copyright'), [...texts].map(sectionOf).join(`\n\n${'-'.repeat(76)}\n\n`))
}

/** Each package once, whichever bundles have it. */
function byName(licences: readonly Licence[]): Licence[] {
  const each = new Map(licences.map((licence) => [titleOf(licence), licence]))
  return [...each.values()].sort((one, other) => (titleOf(one) < titleOf(other) ? -1 : 1))
}

function sectionOf([text, packages]: [string, Licence[]]): string {
  return `${byName(packages).map(titleOf).join('\n')}\n\n${text}\n`
}

function titleOf({ name, version, licence }: Licence): string {
  return `${name} ${version} (${licence})`
}

function idOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
