/** A backup as a file: a gzipped tar of a state folder, with a list of what is in it and its checksums. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '#kit/fault.ts'
import { LOCK_FILE } from '#kit/run/state-lock.ts'
import { syncFolder, systemDisk, temporaryOf } from '#kit/store/whole-file.ts'
import { copyDatabase, isDatabase, isPartOfDatabase } from './state-database.ts'

/** Lies in each archive beside the files it lists. */
export const MANIFEST = 'plantroom-backup.json'

const manifest = Type.Object(
  {
    format: Type.Literal(1),
    daemon: Type.String({ description: 'whose state it is' }),
    version: Type.String({ description: 'of the Plantroom that wrote it' }),
    at: Type.Integer({ description: 'epoch ms' }),
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

/** What an archive says of itself. */
export type Manifest = Static<typeof manifest>

const run = promisify(execFile)

/** The most files a state folder has; more is another folder. */
const MOST_FILES = 10_000

/**
 * Packs a state folder. Files are copied first: each is replaced whole by its daemon, or is a database, so each copy is
 * whole even while the daemon runs, which tar reading the folder itself would not promise.
 * @returns the number of files
 * @throws Fault `backup_failed`
 */
export async function packState(
  folder: string,
  file: string,
  about: Omit<Manifest, 'format' | 'files'>,
): Promise<number> {
  const staging = await mkdtemp(join(tmpdir(), 'plantroom-backup-'))
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

/**
 * Unpacks an archive into an empty folder and checks every file of it.
 * @throws Fault `bad_backup` with what is wrong with it; the folder then holds whatever came out
 */
export async function unpackState(file: string, folder: string): Promise<Manifest> {
  if (!existsSync(file)) throw new Fault('bad_backup', `there is no file ${file}`)
  try {
    // GNU tar leaves out leading slashes and refuses `..` by itself; links are found below.
    await run('tar', [
      '-xzf',
      file,
      '-C',
      folder,
      '--no-same-owner',
      '--no-same-permissions',
      '--delay-directory-restore',
    ])
  } catch (cause) {
    throw new Fault('bad_backup', `${file} is no archive that tar can read`, { cause })
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

async function readManifest(file: string, folder: string): Promise<Manifest> {
  try {
    const list: unknown = JSON.parse(await readFile(join(folder, MANIFEST), 'utf8'))
    if (Value.Check(manifest, list)) return list
  } catch (cause) {
    throw new Fault('bad_backup', `${file} is no backup of Plantroom: it has no ${MANIFEST} that reads`, { cause })
  }
  throw new Fault('bad_backup', `${file} was made by another version of Plantroom: its ${MANIFEST} has another shape`)
}

/** Files worth keeping: neither the lock, nor what a save left half done, nor what a database's copy has in it. */
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

/** Whether the file was still there: a daemon that runs may set one aside meanwhile. */
async function copied(from: string, to: string): Promise<boolean> {
  if (isDatabase(from)) return copyDatabase(from, to)
  try {
    await copyFile(from, to)
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

async function tarInto(folder: string, file: string): Promise<void> {
  const temporary = temporaryOf(file)
  try {
    // Made before tar writes to it, so that nobody else can read it at any time: it holds password hashes and secrets.
    await writeFile(temporary, '', { mode: 0o600 })
    await chmod(temporary, 0o600)
    await run('tar', ['-czf', temporary, '--owner=0', '--group=0', '-C', folder, '.'])
    const handle = await open(temporary)
    await handle.sync().finally(() => handle.close())
    await rename(temporary, file)
    await syncFolder(systemDisk, dirname(file))
  } catch (cause) {
    await rm(temporary, { force: true })
    const { code } = cause as NodeJS.ErrnoException
    // Of tar it is its exit code: it could not write all of it, mostly for want of room.
    const why = typeof code === 'string' ? code : 'is there room on the disk?'
    throw new Fault('backup_failed', `${file} could not be written (${why})`, { cause })
  }
}
