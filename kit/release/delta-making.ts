/** Makes deltas (delta.ts), out of two releases that are unpacked. */
import { readFileSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync, constants as zlib, zstdCompressSync } from 'node:zlib'
import { DELTA_MARK, GZIP_LEVEL, HOW, PART_BYTES } from './delta.ts'
import { bundleHash, MANIFEST_FILE, type ManifestEntry, readManifest } from './manifest.ts'

/** Larger files are sent whole: a machine would have to hold both versions in memory. */
export const DELTA_FILE_BYTES = 16_777_216

/** @source measured: level 9 gives 6 % more, level 3 a third */
const LEVEL = 19
const FAST_LEVEL = 1
/** How many files of a similar name are tried, and how much of each is looked at. */
const MOST_TRIED = 64
const TRIED_BYTES = 65_536
/** Part of a file that zstd alone never gets a program or a page down to. */
const CLEARLY = 0.1

/** What was made. */
export interface Delta {
  sizeBytes: number
  /** Files of which it has something. */
  files: number
}

/**
 * Writes the delta between two releases.
 * @param folders unpacked, each with its manifest, and proven
 * @param to replaced; synced
 * @throws Fault `bad_manifest`; errors of the disk
 */
export async function makeDelta({ before, next }: { before: string; next: string }, to: string): Promise<Delta> {
  const [old, made] = [await readRelease(before), await readRelease(next)]
  const known = new Set(old.entries.map(({ sha256 }) => sha256))
  const find = finderOf(old.entries)
  const file = await open(to, 'w', 0o600)
  let files = 0
  try {
    await file.writeFile(Buffer.concat([DELTA_MARK, Buffer.from(bundleHash(old.manifest), 'hex')]))
    await file.writeFile(partOf({ how: HOW.fromBefore, which: 0 }, made.manifest, zipped(made.manifest, old.manifest)))
    for (const entry of made.entries) {
      if (known.has(entry.sha256)) continue
      files++
      const content = await readFile(join(next, entry.path))
      await file.writeFile(
        gzippedPart(made.entries, next, entry, content) ?? zippedPart(old.entries, before, find(entry), content),
      )
    }
    await file.sync()
    return { sizeBytes: (await file.stat()).size, files }
  } finally {
    await file.close()
  }
}

async function readRelease(folder: string) {
  const manifest = await readFile(join(folder, MANIFEST_FILE))
  return { manifest, entries: readManifest(manifest) }
}

function partOf({ how, which }: { how: number; which: number }, content: Buffer, bytes: Buffer): Buffer {
  const head = Buffer.alloc(PART_BYTES)
  head.writeUInt8(how, 0)
  head.writeUInt16BE(which, 1)
  head.writeUInt32BE(content.length, 3)
  head.writeUInt32BE(bytes.length, 7)
  return Buffer.concat([head, bytes])
}

/** A gzipped copy of a page's file need not be sent: the machine makes it of the plain one. */
function gzippedPart(entries: readonly ManifestEntry[], folder: string, { path }: ManifestEntry, content: Buffer) {
  const which = path.endsWith('.gz') ? entries.findIndex((one) => `${one.path}.gz` === path) : -1
  const from = entries[which]
  if (from === undefined) return undefined
  const plain = readFileSync(join(folder, from.path))
  const isSame = plain.length <= DELTA_FILE_BYTES && gzipSync(plain, { level: GZIP_LEVEL }).equals(content)
  return isSame ? partOf({ how: HOW.gzipped, which }, content, Buffer.alloc(0)) : undefined
}

/** The smaller of: the file alone, and made of one of the files of before. */
function zippedPart(
  entries: readonly ManifestEntry[],
  folder: string,
  tried: readonly number[],
  content: Buffer,
): Buffer {
  const best = mostSimilar(entries, folder, tried, content)
  const made = best && zipped(content, best.dictionary)
  // Zstd alone need not be tried.
  if (best && made && made.length < content.length * CLEARLY)
    return partOf({ how: HOW.fromBefore, which: best.which }, content, made)
  const alone = zipped(content)
  if (best && made && made.length < alone.length)
    return partOf({ how: HOW.fromBefore, which: best.which }, content, made)
  return partOf({ how: HOW.plain, which: 0 }, content, alone)
}

/** Which of several candidates helps most, judged by how they begin, which is fast. */
function mostSimilar(entries: readonly ManifestEntry[], folder: string, tried: readonly number[], content: Buffer) {
  let best: { which: number; dictionary: Buffer; bytes: number } | undefined
  if (content.length > DELTA_FILE_BYTES) return undefined
  const start = content.subarray(0, TRIED_BYTES)
  for (const which of tried) {
    const dictionary = readFileSync(join(folder, entries[which]?.path ?? ''))
    if (dictionary.length === 0 || dictionary.length > DELTA_FILE_BYTES) continue
    const bytes = tried.length > 1 ? zipped(start, dictionary.subarray(0, TRIED_BYTES), FAST_LEVEL).length : 0
    if (best === undefined || bytes < best.bytes) best = { which, dictionary, bytes }
  }
  return best
}

function zipped(content: Buffer, dictionary?: Buffer, level = LEVEL): Buffer {
  const window = Math.min(24, Math.max(10, Math.ceil(Math.log2(Math.max(1, content.length)))))
  return zstdCompressSync(content, {
    pledgedSrcSize: content.length,
    params: { [zlib.ZSTD_c_compressionLevel]: level, [zlib.ZSTD_c_windowLog]: window },
    ...(dictionary && { dictionary }),
  })
}

/** Files of before that a file may resemble: the one of its own name, else those whose names differ only in a bundler's hash. */
function finderOf(entries: readonly ManifestEntry[]): (entry: ManifestEntry) => number[] {
  const byPath = new Map(entries.map(({ path }, line) => [path, line]))
  const byStem = Map.groupBy(byPath, ([path]) => stemOf(path))
  return ({ path }) => {
    const own = byPath.get(path)
    if (own !== undefined) return [own]
    return (byStem.get(stemOf(path)) ?? []).slice(0, MOST_TRIED).map(([, line]) => line)
  }
}

function stemOf(path: string): string {
  return path.replace(/-[A-Z0-9]{8}(?=\.[^/]*$)/, '')
}
