/** The code of the thread that makes a backup, or checks one: SQLite is synchronous, and an audit may be large. */
import { closeSync, fstatSync, openSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { Fault } from '#kit/pure/fault.ts'
import type { Manifest } from '#kit/store/archive.ts'
import { packState, unpackState } from '#kit/store/backup.ts'
import { makeNewState } from '#kit/store/restore.ts'
import type { BackupFacts } from '../core/backups.ts'
import { checkState, keepForeignSecrets, leaveOutForeignSecrets, siteFactsOf } from './backup-database.ts'
import { DATABASE_FILE } from './database-file.ts'

/** What the thread is started for. */
export type BackupTask =
  | { kind: 'pack'; folder: string; file: string; version: string; at: number }
  | { kind: 'check'; folder: string; file: string; version: string; unpackedBytes: number }

/** What it says: how far it is, and last what came of it. */
export type BackupWord =
  | { kind: 'progress'; doneBytes: number; ofBytes: number | null }
  | { kind: 'done'; facts: BackupFacts }
  | { kind: 'failed'; code: string; message: string }

/** Lower priority than what drives the building. On Linux each thread has a niceness; 0 means this one. */
const NICENESS = 10

/** Progress is told once for so many bytes. */
const STEP_BYTES = 1_048_576

const DAEMON = 'controller'

function say(word: BackupWord): void {
  parentPort?.postMessage(word)
}

/** @returns a function that tells of progress, now and then */
function createTeller(): (doneBytes: number, ofBytes?: number) => void {
  let toldBytes = 0
  return (doneBytes, ofBytes) => {
    if (doneBytes - toldBytes < STEP_BYTES) return
    toldBytes = doneBytes
    say({ kind: 'progress', doneBytes, ofBytes: ofBytes ?? null })
  }
}

async function pack({ folder, file, version, at }: BackupTask & { kind: 'pack' }): Promise<BackupFacts> {
  const to = openSync(file, 'wx', 0o600)
  try {
    const manifest = await packState(to, {
      ...{ folder, staging: dirname(file), onProgress: createTeller() },
      about: { daemon: DAEMON, version, at, secrets: 'own' },
      onCopied: (copy) => basename(copy) !== DATABASE_FILE || leaveOutForeignSecrets(copy),
    })
    return factsOf(manifest, fstatSync(to).size, join(folder, DATABASE_FILE))
  } finally {
    closeSync(to)
  }
}

async function check(task: BackupTask & { kind: 'check' }): Promise<BackupFacts> {
  const { folder, file, version, unpackedBytes } = task
  const fresh = makeNewState(folder)
  const database = join(fresh, DATABASE_FILE)
  const from = openSync(file, 'r')
  try {
    const bounds = { unpackedBytes }
    const manifest = await unpackState(from, fresh, {
      ...{ daemon: DAEMON, version, bounds, checkState, onProgress: createTeller() },
    })
    if (!manifest.files.some(({ path }) => path === DATABASE_FILE) || siteFactsOf(database).people === 0)
      throw new Fault('bad_backup', 'nobody is in it who could sign in afterwards')
    if (manifest.secrets === 'own') keepForeignSecrets(database, join(folder, DATABASE_FILE))
    return factsOf(manifest, fstatSync(from).size, database)
  } finally {
    closeSync(from)
  }
}

function factsOf({ at, version, files, secrets }: Manifest, sizeBytes: number, database: string): BackupFacts {
  return {
    madeAt: at,
    version,
    files: files.length,
    sizeBytes,
    hasAllSecrets: secrets === 'all',
    ...siteFactsOf(database),
  }
}

async function run(): Promise<void> {
  setPriority(NICENESS)
  const task = workerData as BackupTask
  try {
    say({ kind: 'done', facts: await (task.kind === 'pack' ? pack(task) : check(task)) })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    say({ kind: 'failed', code: code ?? 'internal', message })
  }
}

void run()
