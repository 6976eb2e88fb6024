/**
 * What an update carries, and how it is packed: the bundles of a built checkout with their addons, pages and data, as a
 * tar whose bytes depend on nothing else.
 */
import { createHash } from 'node:crypto'
import { createWriteStream, existsSync, globSync, readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { Fault } from '#kit/pure/fault.ts'
import { bundleHash, MANIFEST_FILE, type ManifestEntry, manifestText } from '#kit/release/manifest.ts'
import { TAR_END, tarHeader, tarPadding } from '#kit/store/tar.ts'

/** Kinds of machines, as Debian names them, and as prebuilt addons are called. */
export const PREBUILDS = { amd64: 'linux-x64', arm64: 'linux-arm64' } as const
export type Arch = keyof typeof PREBUILDS

/** One file of an archive: its bytes, or where they are. */
export interface ReleaseFile {
  path: string
  mode: number
  from: string | Buffer
}

/** An archive that was packed. */
export interface Packed {
  /** SHA-256 of the file, 64 hex digits. */
  sha256: string
  /** The bundle hash. */
  bundle: string
  files: number
}

/**
 * The files of a release: those that the Debian package installs as a program, and its units. Not Node, which has versions of its own, and
 * no npm packages: the bundles contain them, and addons are built (docs/decisions/firmware-images.md).
 * @param checkout built: `make build`
 * @param arch null for addons of every kind of machine
 * @throws Fault `checkout_not_built` naming what is missing
 */
export function releaseFiles(checkout: string, arch: Arch | null): ReleaseFile[] {
  const build = join(checkout, 'build')
  const daemons = foldersOf(join(checkout, 'daemons')).filter((name) =>
    existsSync(join(checkout, 'daemons', name, 'main.ts')),
  )
  const bundles = [...daemons, 'plantroom', 'commands'].map((name) => `${name}.mjs`)
  const folders = ['web', 'templates', 'licences', 'defaults'].flatMap((folder) => filesBelow(build, folder))
  const plain = [...bundles, ...folders].map((path) => ({ path, mode: 0o644, from: join(build, path) }))
  const files = [
    { path: 'plantroom', mode: 0o755, from: join(build, 'plantroom') },
    ...plain,
    ...addonFiles(build, arch === null ? ['amd64', 'arm64'] : [arch]),
    ...filesBelow(checkout, 'systemd').map((path) => ({ path, mode: 0o644, from: join(checkout, path) })),
    { path: 'CHANGELOG.md', mode: 0o644, from: join(checkout, 'docs/CHANGELOG.md') },
  ]
  const missing = files.find(({ from }) => !existsSync(from))
  if (daemons.length === 0 || folders.length === 0 || missing)
    throw new Fault(
      'checkout_not_built',
      `${missing?.from ?? `anything to publish in ${build}`} is missing: run make build`,
    )
  return files
}

/** Every addon is there for every kind of machine, or the release would stop one. */
function addonFiles(build: string, archs: readonly Arch[]): ReleaseFile[] {
  const native = join(build, 'native')
  const found = foldersOf(native).flatMap((addon) =>
    archs.map((arch) => {
      const files = filesBelow(build, `native/${addon}/prebuilds/${PREBUILDS[arch]}`)
      if (files.length === 0)
        throw new Fault(
          'checkout_not_built',
          `the addon ${addon} is not built for ${arch}: install the cross compiler (g++-aarch64-linux-gnu) and run make build, or publish with --arch`,
        )
      return files.map((path) => ({ path, mode: path.endsWith('.node') ? 0o644 : 0o755, from: join(build, path) }))
    }),
  )
  return found.flat()
}

function foldersOf(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder).filter((name) => statSync(join(folder, name)).isDirectory())
}

function filesBelow(root: string, folder: string): string[] {
  return globSync(`${folder}/**/*`, { cwd: root }).filter((path) => statSync(join(root, path)).isFile())
}

/**
 * Packs files, with their manifest, which comes first: who unpacks knows what may follow. Sorted, times 0, owner root, no name
 * and time in gzip: the same files give the same bytes on the same Node.
 * @param to replaced
 * @throws Fault `bad_manifest` for names that no archive has; errors of the disk
 */
export async function packRelease(files: readonly ReleaseFile[], to: string): Promise<Packed> {
  const entries: (ManifestEntry & { bytes: Buffer })[] = []
  for (const { path, mode, from } of files) {
    // Once, and kept: some 20 MB in all, and the manifest is of these very bytes.
    const bytes = typeof from === 'string' ? await readFile(from) : from
    entries.push({ path, mode, bytes, sha256: createHash('sha256').update(bytes).digest('hex') })
  }
  entries.sort((one, other) => (one.path < other.path ? -1 : 1))
  const manifest = manifestText(entries)
  const hash = createHash('sha256')
  await pipeline(
    Readable.from(tarOf([{ path: MANIFEST_FILE, mode: 0o644, bytes: Buffer.from(manifest) }, ...entries])),
    createGzip({ level: 9 }),
    async function* (zipped: AsyncIterable<Buffer>) {
      for await (const piece of zipped) {
        hash.update(piece)
        yield piece
      }
    },
    createWriteStream(to, { mode: 0o600 }),
  )
  return { sha256: hash.digest('hex'), bundle: bundleHash(manifest), files: entries.length }
}

function* tarOf(files: readonly { path: string; mode: number; bytes: Buffer }[]): Generator<Buffer> {
  for (const { path, mode, bytes } of files) {
    const header = tarHeader({ path, sizeBytes: bytes.length }, mode)
    if (header === undefined) throw new Fault('bad_manifest', `${path} has too long a name for an archive`)
    yield Buffer.concat([header, bytes, tarPadding(bytes.length)])
  }
  yield TAR_END
}
