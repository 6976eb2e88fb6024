/**
 * The manifest of an update archive: which files it holds, one line `path mode sha256` for each, sorted by path. It stands
 * in the archive as `MANIFEST`, and its SHA-256 is the bundle hash, which the release record signs.
 */
import { createHash } from 'node:crypto'
import { Fault } from '../pure/fault.ts'
import { counted } from '../pure/text.ts'

/** Where it stands in the archive; in no line of itself. */
export const MANIFEST_FILE = 'MANIFEST'

/** One file. */
export interface ManifestEntry {
  /** Below the archive's root, parts separated by `/`. */
  path: string
  /** 0o644, or 0o755 for a program. */
  mode: number
  /** 64 hex digits. */
  sha256: string
}

/** Most files of an archive. */
export const MOST_FILES = 10_000
/** Longest path, in characters; all of them are ASCII. */
const MOST_PATH = 200
/** Largest manifest. */
export const MOST_MANIFEST_BYTES = 4_194_304

/** Parts of letters, digits and `._@+-`; none begins with a dot, so there is no `..` and no `.npmrc`. */
const PATH = /^[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*(?:\/[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*)*$/
const LINE = /^(\S+) (644|755) ([0-9a-f]{64})$/

/**
 * The text of a manifest.
 * @param entries in any order
 * @throws Fault `bad_manifest` for what `readManifest` would refuse
 */
export function manifestText(entries: readonly ManifestEntry[]): string {
  const sorted = [...entries].sort((one, other) => (one.path < other.path ? -1 : 1))
  const text = sorted.map(({ path, mode, sha256 }) => `${path} ${mode.toString(8)} ${sha256}\n`).join('')
  readManifest(Buffer.from(text))
  return text
}

/**
 * Reads a manifest, which is hostile until its hash is the signed one. One list of files has one text: sorted, each line
 * ended, nothing else in it.
 * @throws Fault `bad_manifest` naming the line, from 1
 */
export function readManifest(bytes: Uint8Array): ManifestEntry[] {
  if (bytes.length > MOST_MANIFEST_BYTES)
    throw bad(`it has ${bytes.length} bytes, at most ${MOST_MANIFEST_BYTES} are read`)
  const lines = Buffer.from(bytes).toString('latin1').split('\n')
  if (lines.pop() !== '') throw bad('its last line does not end')
  if (lines.length === 0 || lines.length > MOST_FILES)
    throw bad(`it lists ${counted(lines.length, 'file')}, expected 1 to ${MOST_FILES}`)
  const folders = new Set<string>()
  const entries: ManifestEntry[] = []
  for (const [at, line] of lines.entries()) {
    const entry = entryOf(line, at + 1)
    const before = entries.at(-1)
    if (before && before.path >= entry.path)
      throw bad(
        `line ${at + 1} has ${entry.path}, which ${before.path === entry.path ? 'was there already' : 'belongs further up'}`,
      )
    entries.push(entry)
    for (let slash = entry.path.indexOf('/'); slash > 0; slash = entry.path.indexOf('/', slash + 1))
      folders.add(entry.path.slice(0, slash))
  }
  const both = entries.find(({ path }) => folders.has(path))
  if (both) throw bad(`${both.path} is a file and a folder`)
  return entries
}

/** The bundle hash of a manifest: its SHA-256, 64 hex digits. */
export function bundleHash(manifest: Uint8Array | string): string {
  return createHash('sha256').update(manifest).digest('hex')
}

function entryOf(line: string, number: number): ManifestEntry {
  const [, path, mode, sha256] = LINE.exec(line) ?? []
  if (path === undefined || mode === undefined || sha256 === undefined)
    throw bad(`line ${number} is not a path, 644 or 755, and 64 hex digits, with one blank between`)
  if (path.length > MOST_PATH || !PATH.test(path) || path === MANIFEST_FILE)
    throw bad(
      `line ${number} has a path that no archive has; expected at most ${MOST_PATH} letters, digits and ._@+- in parts that begin with no dot`,
    )
  return { path, mode: Number.parseInt(mode, 8), sha256 }
}

function bad(what: string): Fault {
  return new Fault('bad_manifest', `the manifest of the update cannot be used: ${what}`)
}
