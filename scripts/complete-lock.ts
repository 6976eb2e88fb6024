/**
 * Keeps package-lock.json complete: every optional package that a locked package names has an entry.
 *
 * `npm ci` refuses a lock that lacks one, and npm leaves out what its registry did not offer at that moment, so builds
 * for other systems (darwin, win32, musl) go missing. Such a package is never installed on Debian, so its entry needs a
 * version, a system and a processor, but no checksum.
 *
 * It also removes `engines` from optional packages: npm silently skips such a package if the Node that npm itself runs
 * on is too old for it, although the pinned Node will run it (Debian 12: npm runs on Node 18).
 *
 *     node scripts/complete-lock.ts           reports what is missing, and ends with 1 if anything is
 *     node scripts/complete-lock.ts --write   adds it
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { isMain } from './is-main.ts'

interface LockEntry {
  version?: string
  integrity?: string
  cpu?: string[] | string
  os?: string[] | string
  libc?: string[]
  engines?: Record<string, string>
  dev?: boolean
  optional?: boolean
  link?: boolean
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

/** The parts of package-lock.json (version 3) used here. */
export interface Lock {
  packages: Record<string, LockEntry>
}

type Manifest = Pick<LockEntry, 'dependencies' | 'devDependencies' | 'optionalDependencies'>

const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']

/** What is wrong with a lock, one sentence each; none if `npm ci` will accept it and every package has a checksum. */
export function lockFaults(lock: Lock, manifest: Manifest): string[] {
  const missing = missingEntries(lock).map(({ path, by }) => `${path} is named by ${by} and has no entry`)
  const bare = Object.entries(lock.packages)
    .filter(([path, entry]) => path !== '' && !entry.link && !entry.integrity && !isForeign(entry))
    .map(([path]) => `${path} has no checksum`)
  const picky = Object.entries(lock.packages)
    .filter(([, entry]) => entry.optional && entry.engines)
    .map(([path]) => `${path} is optional and names the Node it wants`)
  const root = lock.packages[''] ?? {}
  const apart = (['dependencies', 'devDependencies', 'optionalDependencies'] as const)
    .filter((kind) => JSON.stringify(sorted(root[kind])) !== JSON.stringify(sorted(manifest[kind])))
    .map((kind) => `${kind} of the lock and of package.json differ`)
  return [...missing, ...bare, ...picky, ...apart]
}

/** The lock with the missing entries added and its root lists as in package.json. */
export function completed(lock: Lock, manifest: Manifest): Lock {
  const packages: Lock['packages'] = { ...lock.packages, '': { ...lock.packages[''], ...manifest } }
  for (const { path, entry } of missingEntries(lock)) packages[path] = entry
  for (const [path, entry] of Object.entries(packages)) {
    const { engines: _, ...rest } = entry
    if (entry.optional) packages[path] = rest
  }
  const order = Object.keys(packages).sort((a, b) => a.localeCompare(b, 'en'))
  return { ...lock, packages: Object.fromEntries(order.map((path) => [path, packages[path] as LockEntry])) }
}

function missingEntries(lock: Lock): { path: string; by: string; entry: LockEntry }[] {
  const missing = []
  for (const [by, entry] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (isLocked(lock, by, name)) continue
      missing.push({ path: `node_modules/${name}`, by, entry: foreignEntry(name, version, entry.dev) })
    }
  }
  return missing
}

/** Searches like Node: beside the package that imports it, then in each folder above. */
function isLocked(lock: Lock, by: string, name: string): boolean {
  for (let folder = by; ; folder = folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')) {
    if (lock.packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`]) return true
    if (folder === '') return false
  }
}

/** An entry derived from the name alone: `@oxc-parser/binding-linux-arm-musleabihf` says all that is needed. */
function foreignEntry(name: string, version: string, dev: boolean | undefined): LockEntry {
  const words = name.split(/[/-]/)
  const system = words.find((word) => SYSTEMS.includes(word))
  const processor = words.find((word) => /^(arm|arm64|ia32|ppc64|riscv64|s390x|x64|wasm32)$/.test(word))
  if (!system || !processor) throw new Error(`cannot tell which system ${name} is for; run npm install for it`)
  const entry: LockEntry = { version, cpu: [processor] }
  if (dev) entry.dev = true
  if (words.some((word) => word.startsWith('musl'))) entry.libc = ['musl']
  return { ...entry, optional: true, os: [system] }
}

/** Whether npm never installs the package on the Debian machines of this project (x64 and arm64, glibc). */
function isForeign(entry: LockEntry): boolean {
  const has = (list: string[] | string | undefined, ...values: string[]) =>
    list === undefined || values.some((value) => [list].flat().includes(value))
  return !has(entry.os, 'linux') || !has(entry.cpu, 'x64', 'arm64') || !has(entry.libc, 'glibc')
}

function sorted(record: Record<string, string> | undefined): [string, string][] {
  return Object.entries(record ?? {}).sort(([a], [b]) => a.localeCompare(b, 'en'))
}

if (isMain(import.meta)) {
  const lock: Lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  const { dependencies, devDependencies, optionalDependencies } = manifest
  const lists = { dependencies, devDependencies, optionalDependencies }
  if (process.argv.includes('--write')) {
    writeFileSync('package-lock.json', `${JSON.stringify(completed(lock, lists), null, 2)}\n`)
  } else {
    const faults = lockFaults(lock, lists)
    for (const fault of faults) console.log(fault)
    if (faults.length > 0) console.log('run: node scripts/complete-lock.ts --write')
    process.exitCode = faults.length > 0 ? 1 : 0
  }
}
