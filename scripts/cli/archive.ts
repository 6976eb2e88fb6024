/** A backup file: a gzipped tar of a state folder, with a list of its files and their checksums. */
import { type StdioOptions, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, constants, createReadStream, createWriteStream } from 'node:fs'
import { lstat, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '#kit/pure/fault.ts'
import { LOCK_FILE, openToRead, writeWhole } from '#kit/run/state-folder.ts'
import { openPlain } from '#kit/store/store.ts'
import { copyDatabase, isDatabase, isPartOfDatabase } from './state-database.ts'

/** Present in each archive beside the files it lists. */
export const MANIFEST = 'plantroom-backup.json'

/** The latest instant that a Date can hold. @source ECMA-262, 21.4.1.1 */
const LAST_INSTANT = 8.64e15

const manifest = Type.Object(
  {
    format: Type.Literal(1),
    daemon: Type.String({ description: 'whose state it is' }),
    version: Type.String({ description: 'of the Plantroom that wrote it' }),
    at: Type.Integer({ minimum: 0, maximum: LAST_INSTANT, description: 'epoch ms' }),
    files: Type.Array(
      Type.Object({
        path: Type.String({ minLength: 1, description: 'below the state folder' }),
        sizeBytes: Type.Integer({ minimum: 0 }),
        sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
      }),
    ),
  },
  { additionalProperties: false },
)

/** Contents of an archive's list. */
export type Manifest = Static<typeof manifest>

/** Most files of a state folder; a folder with more is something else. */
const MOST_FILES = 10_000

/**
 * Packs a state folder. Files are copied first: each is replaced atomically by its daemon, or is a database, so each
 * copy is consistent even while the daemon runs, which tar reading the folder itself would not ensure.
 * @returns the number of files
 * @throws Fault `backup_failed`
 */
export async function packState(
  folder: string,
  file: string,
  about: Omit<Manifest, 'format' | 'files'>,
): Promise<number> {
  const staging = await makeStaging()
  try {
    const files: Manifest['files'] = []
    for (const path of await stateFiles(folder)) {
      const copy = join(staging, path)
      await mkdir(dirname(copy), { recursive: true, mode: 0o700 })
      if (await copied(join(folder, path), copy)) files.push({ path, ...(await factsOf(copy)) })
    }
    const list: Manifest = { format: 1, ...about, files }
    await writeFile(join(staging, MANIFEST), `${JSON.stringify(list, null, 2)}\n`, { mode: 0o600 })
    await tarInto(staging, file)
    return files.length
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/** A folder the owner of the state may write to: the caller's TMPDIR is not always one. */
async function makeStaging(): Promise<string> {
  const make = (folder: string) => mkdtemp(join(folder, 'plantroom-backup-'))
  return make(tmpdir()).catch(() => make('/tmp'))
}

/**
 * Unpacks an archive into an empty folder and checks every file of it.
 * @throws Fault `bad_backup` with what is wrong with it; the folder then holds whatever was unpacked
 */
export async function unpackState(file: string, folder: string): Promise<Manifest> {
  const from = openArchive(file)
  try {
    // GNU tar itself drops leading slashes and refuses `..`; links are detected below.
    const modes = ['--no-same-owner', '--no-same-permissions', '--delay-directory-restore']
    await tar(['-xzf', '-', '-C', folder, ...modes], [from, 'ignore', 'ignore'])
  } catch (cause) {
    throw new Fault('bad_backup', `${file} is no archive that tar can read`, { cause })
  } finally {
    closeSync(from)
  }
  const list = await readManifest(file, folder)
  const found = (await allFiles(folder)).filter((path) => path !== MANIFEST)
  const expected = new Map(list.files.map((entry) => [entry.path, entry]))
  for (const path of found)
    if (!expected.has(path)) throw new Fault('bad_backup', `${file} holds ${path}, which its list does not name`)
  for (const [path, { sha256 }] of expected) {
    if (!found.includes(path)) throw new Fault('bad_backup', `${file} lacks ${path}`)
    if ((await factsOf(join(folder, path))).sha256 !== sha256)
      throw new Fault('bad_backup', `${path} in ${file} is not what was backed up: its checksum differs`)
  }
  await rm(join(folder, MANIFEST))
  return list
}

/** @throws Fault `bad_backup` */
function openArchive(file: string): number {
  try {
    return openToRead(file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Fault('bad_backup', code === 'ENOENT' ? `there is no file ${file}` : `${file} cannot be read (${code})`, {
      cause,
    })
  }
}

/** @returns true @throws Error if it does not end with 0 */
function tar(words: readonly string[], stdio: StdioOptions): Promise<true> {
  return new Promise((resolve, reject) => {
    const child = spawn('tar', words, { stdio })
    child.once('error', reject)
    child.once('exit', (code) => (code === 0 ? resolve(true) : reject(new Error(`tar ended with ${code}`))))
  })
}

async function readManifest(file: string, folder: string): Promise<Manifest> {
  try {
    const list: unknown = JSON.parse(await readFile(join(folder, MANIFEST), 'utf8'))
    if (Value.Check(manifest, list)) return list
  } catch (cause) {
    throw new Fault('bad_backup', `${file} is not a backup of Plantroom: it has no readable ${MANIFEST}`, { cause })
  }
  throw new Fault('bad_backup', `${file} was made by another version of Plantroom: its ${MANIFEST} has another shape`)
}

/** Files worth keeping: not the lock, unfinished saves, or files already contained in a database's copy. */
async function stateFiles(folder: string): Promise<string[]> {
  const files = await allFiles(folder)
  return files.filter((path) => path !== LOCK_FILE && !path.endsWith('.tmp') && !isPartOfDatabase(path))
}

/** Paths of all files below a folder. @throws Fault `bad_backup` for anything that is neither file nor folder */
async function allFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  if (entries.length > MOST_FILES)
    throw new Fault('bad_backup', `${folder} holds ${entries.length} files, expected at most ${MOST_FILES}`)
  const files: string[] = []
  for (const entry of entries) {
    const path = relative(folder, join(entry.parentPath, entry.name))
    if (entry.isFile()) files.push(path)
    else if (!entry.isDirectory()) throw new Fault('bad_backup', `${path} is neither a file nor a folder`)
  }
  return files.sort()
}

/** Copies a file. @returns whether it still existed: a running daemon may set one aside meanwhile */
async function copied(from: string, to: string): Promise<boolean> {
  if (isDatabase(from)) return copyDatabase(from, to)
  try {
    const descriptor = openPlain(from, constants.O_RDONLY)
    await pipeline(createReadStream(from, { fd: descriptor }), createWriteStream(to, { flags: 'wx', mode: 0o600 }))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

async function factsOf(path: string): Promise<{ sizeBytes: number; sha256: string }> {
  const hash = createHash('sha256')
  const file = await open(path)
  try {
    for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk)
  } finally {
    await file.close()
  }
  return { sizeBytes: (await lstat(path)).size, sha256: hash.digest('hex') }
}

/** Readable by nobody else at any time: it holds password hashes and secrets. */
async function tarInto(folder: string, file: string): Promise<void> {
  try {
    await writeWhole(file, (to) =>
      tar(['-czf', '-', '--owner=0', '--group=0', '-C', folder, '.'], ['ignore', to, 'ignore']),
    )
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    // tar gives no code: it could not write everything, mostly for lack of space.
    throw new Fault('backup_failed', `${file} could not be written (${code ?? 'is there room on the disk?'})`, {
      cause,
    })
  }
}
