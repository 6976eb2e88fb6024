/**
 * Commands that touch a state folder, run by root: each acts as the folder's owner from before it opens anything there, in a
 * process of its own. What the caller named is opened here, with his rights, and handed over open; here nothing is done in the
 * folder. docs/decisions/state-files-and-backups.md.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { accessSync, chownSync, closeSync, constants, mkdirSync, openSync, rmdirSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { exitCodes } from '#kit/run/arguments.ts'
import {
  becomeOwner,
  HANDED_VARIABLE,
  type Handed,
  handed,
  type OwnedFolder,
  type Owner,
  ownerOfFolder,
  type StateUse,
  writeWhole,
} from '#kit/run/state-folder.ts'
import { makeFolder } from '#kit/store/store.ts'
import { loadDaemon } from './daemons.ts'

/** A command line: what it does with files, and how this process runs it. */
export interface CommandLine {
  use: StateUse | undefined
  argv: readonly string[]
  /** Where the programs of the daemons are. */
  daemonsFolder: string
  run(): Promise<number>
}

/** A folder of root's whose owner-to-be is not in the way of it. */
type Owned = OwnedFolder & { owner: Owner }

/**
 * Runs a command, here or as the owner of the folder that it touches.
 * @returns its exit code
 * @throws Fault `state_foreign`, `state_unusable`, `caller_file`, and what the command throws
 */
export async function runAsOwner({ use, argv, daemonsFolder, run }: CommandLine): Promise<number> {
  if (use === undefined) return run()
  if (process.geteuid?.() !== 0) {
    requireRight(use)
    return run()
  }
  const given = handed()
  if (given !== undefined) {
    // A checkout may be one that root alone may read: programs are loaded before, files of anybody are opened after.
    if (use.daemon !== undefined) await loadDaemon(daemonsFolder, use.daemon)
    becomeOwner(given.owner)
    return run()
  }
  const found = await findFolder(use)
  if (found.owner === undefined) return run()
  return callAsOwner({ ...found, owner: found.owner }, use, argv)
}

/**
 * For anybody but root: a folder that he may not look into is not said to be missing.
 * @throws Fault `state_unusable`
 */
function requireRight({ folder, makes }: StateUse): void {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK | (makes ? constants.W_OK : 0))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    // Of one that is not there the command itself says what it means; that it can be made, the folder above it says.
    const isAtRoot = dirname(folder) === folder
    if (code === 'ENOENT' && makes && !isAtRoot) requireRight({ folder: dirname(folder), makes })
    if (code === 'ENOENT') return
    throw new Fault('state_unusable', `you have no right to ${folder} (${code}): run the command as root, by sudo`, {
      cause,
    })
  }
}

/** Looked at again where it had to be made: somebody may have been quicker. */
async function findFolder({ folder, makes }: StateUse): Promise<OwnedFolder> {
  const found = ownerOfFolder(folder)
  if (found.owner !== undefined || found.isThere || !makes) return found
  await makeFolder(found.path)
  return ownerOfFolder(folder)
}

async function callAsOwner(found: Owned, use: StateUse, argv: readonly string[]): Promise<number> {
  const reads = new Map(openReads(use.reads ?? []))
  const fresh = use.replaces && found.isOwnerOfItAlone ? makeFresh(found) : undefined
  let code: number = exitCodes.failed
  const call = async (writes?: number) => {
    code = await spawned({ found, reads, writes, fresh, argv })
    return code === exitCodes.fine
  }
  try {
    if (use.writes === undefined) await call()
    else await toFile(use.writes, call)
  } finally {
    for (const descriptor of reads.values()) closeSync(descriptor)
    if (fresh !== undefined) removeEmpty(fresh)
  }
  return code
}

/** Those that are there; of one that is not, the command itself says what it means. */
function* openReads(paths: readonly string[]): Generator<[string, number]> {
  for (const path of new Set(paths.map((each) => resolve(each)))) {
    try {
      yield [path, openSync(path, 'r')]
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code !== 'ENOENT') throw new Fault('caller_file', `${path} cannot be read (${code})`, { cause })
    }
  }
}

async function toFile(path: string, write: (descriptor: number) => Promise<boolean>): Promise<void> {
  await writeWhole(resolve(path), write).catch((cause) => {
    if (cause?.syscall === undefined) throw cause
    throw new Fault('caller_file', `${resolve(path)} could not be written (${cause.code})`, { cause })
  })
}

/** What is to take the place of the folder: nobody but root puts anything beside it, so the name stays whose it is. */
function makeFresh({ path, owner }: Owned): string {
  const fresh = `${path}.restore-${randomBytes(6).toString('hex')}`
  mkdirSync(fresh, { mode: 0o700 })
  chownSync(fresh, owner.uid, owner.gid)
  return fresh
}

/** What is in it its owner has removed, or has left there by being ended: following his names is not for root. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // It has taken its place, or is left where it says by its name what it was.
  }
}

interface Call {
  found: Owned
  reads: ReadonlyMap<string, number>
  writes: number | undefined
  fresh: string | undefined
  argv: readonly string[]
}

async function spawned({ found, reads, writes, fresh, argv }: Call): Promise<number> {
  const stdio: (number | 'inherit' | 'ipc')[] = ['inherit', 'inherit', 'inherit']
  /** @returns which descriptor it is in the child */
  const given = (descriptor: number) => stdio.push(descriptor) - 1
  const told: Handed = {
    owner: found.owner,
    reads: Object.fromEntries([...reads].map(([path, descriptor]) => [path, given(descriptor)])),
    writes: writes === undefined ? undefined : given(writes),
    fresh,
  }
  const program = [process.execPath, ...process.execArgv, process.argv[1] ?? '', ...argv]
  const inSight = found.barrier === undefined ? [] : behind(found.barrier, found.path, fresh)
  if (fresh !== undefined) stdio.push('ipc')
  const [file = '', ...words] = [...inSight, ...program]
  const env = { ...process.env, [HANDED_VARIABLE]: JSON.stringify(told) }
  const child = spawn(file, words, { stdio, env })
  if (fresh !== undefined) child.on('message', () => void swapFor(child, found.path, fresh))
  return await ended(child)
}

/**
 * Where the owner may not pass, as below /var/lib/private, where systemd keeps the folders of users that exist only while a
 * service runs: he sees the folder at its place all the same, in a mount namespace of this one process, as he does in his service.
 */
const SHOW = `set -e
umask 022
barrier=$1 folder=$2 fresh=$3
shift 3
exec 8< "$folder"
[ -z "$fresh" ] || exec 9< "$fresh"
mount -t tmpfs -o mode=755,size=1m,nosuid,nodev plantroom "$barrier"
mkdir -p "$folder"
mount --no-canonicalize --bind /proc/self/fd/8 "$folder"
if [ -n "$fresh" ]; then
  mkdir -p "$fresh"
  mount --no-canonicalize --bind /proc/self/fd/9 "$fresh"
fi
exec 8<&- 9<&-
exec "$@"
`

function behind(barrier: string, folder: string, fresh = ''): string[] {
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', SHOW, 'sh', barrier, folder, fresh]
}

async function ended(child: ChildProcess): Promise<number> {
  // Ctrl-C reaches the child too, which then ends by itself; what is left half written is removed here.
  const forward = (signal: NodeJS.Signals) => void (signal === 'SIGTERM' && child.kill(signal))
  process.on('SIGINT', forward)
  process.on('SIGTERM', forward)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', (cause) =>
        reject(
          new Fault('start_failed', `the command could not be started as the owner (${cause.message})`, { cause }),
        ),
      )
      child.once('exit', (code) => resolve(code ?? exitCodes.failed))
    })
  } finally {
    process.off('SIGINT', forward)
    process.off('SIGTERM', forward)
  }
}

/** What took the place of a folder, as it is told to who asked for it. */
export type Swapped = { before: string } | { failed: string }

async function swapFor(child: ChildProcess, folder: string, fresh: string): Promise<void> {
  const answer: Swapped = await swapFolders(folder, fresh).then(
    (before) => ({ before }),
    ({ message }) => ({ failed: message }),
  )
  child.send?.(answer)
}

/**
 * Puts a folder in the place of another. There is no exchange of two folders in one call here; when the second step fails the
 * first is taken back.
 * @returns where what was there is kept
 * @throws Fault `restore_failed`
 */
export async function swapFolders(folder: string, fresh: string): Promise<string> {
  const before = `${folder}.before-${new Date(systemClock.epochMs()).toISOString().replace(/[-:.]/g, '')}`
  try {
    await rename(folder, before)
  } catch (cause) {
    throw new Fault('restore_failed', `${folder} could not be replaced; it is as it was`, { cause })
  }
  try {
    await rename(fresh, folder)
  } catch (cause) {
    await rename(before, folder)
    throw new Fault('restore_failed', `${folder} could not be replaced; it is as it was`, { cause })
  }
  return before
}
