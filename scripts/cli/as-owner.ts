/**
 * Commands on a state folder, run by root: each acts as the folder's owner before it opens anything there, in a
 * separate process. Files that the caller names are opened here, with the caller's rights, and passed on open; this
 * process does nothing in the folder. docs/decisions/state-files-and-backups.md.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, closeSync, constants } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { exitCodes } from '#kit/run/arguments.ts'
import { openNamed, whyUnread } from '#kit/run/named-file.ts'
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
import { whyNotMade } from './command.ts'
import { loadDaemon } from './daemons.ts'

/** A command line: its use of files, and how this process runs it. */
export interface CommandLine {
  use: StateUse | undefined
  argv: readonly string[]
  /** Folder of the daemons' programs. */
  daemonsFolder: string
  run(): Promise<number>
}

/** A folder and the user who owns it, who is not root. */
type Owned = OwnedFolder & { owner: Owner }

/**
 * Runs a command, here or as the owner of the folder it touches.
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
    // Only root may be able to read the checkout: load programs before becoming the owner, and open other files after.
    if (use.daemon !== undefined) await loadDaemon(daemonsFolder, use.daemon)
    becomeOwner(given.owner)
    return run()
  }
  const found = await findFolder(use)
  if (found.owner === undefined) return run()
  return callAsOwner({ ...found, owner: found.owner }, use, argv)
}

/**
 * For ordinary users: a folder they may not access must not be reported as missing.
 * @throws Fault `state_unusable`
 */
function requireRight({ folder, makes }: StateUse): void {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK | (makes ? constants.W_OK : 0))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    // The command itself reports a missing folder; whether it can be created depends on its parent.
    const isAtRoot = dirname(folder) === folder
    if (code === 'ENOENT' && makes && !isAtRoot) requireRight({ folder: dirname(folder), makes })
    if (code === 'ENOENT') return
    throw new Fault('state_unusable', `you have no right to ${folder} (${code}): run the command as root, by sudo`, {
      cause,
    })
  }
}

/** Checked again after creating it: another process may have been faster. */
async function findFolder({ folder, makes }: StateUse): Promise<OwnedFolder> {
  const found = ownerOfFolder(folder)
  if (found.owner !== undefined || found.isThere || !makes) return found
  await makeFolder(found.path)
  return ownerOfFolder(folder)
}

async function callAsOwner(found: Owned, use: StateUse, argv: readonly string[]): Promise<number> {
  const reads = new Map(openReads(use.reads ?? []))
  let code: number = exitCodes.failed
  const call = async (writes?: number) => {
    code = await spawned({ found, reads, writes, argv })
    return code === exitCodes.fine
  }
  try {
    if (use.writes === undefined) await call()
    else await toFile(use.writes, use, call)
  } finally {
    for (const descriptor of reads.values()) closeSync(descriptor)
  }
  return code
}

/** Opens the files that exist; the command itself reports missing ones. */
function* openReads(paths: readonly string[]): Generator<[string, number]> {
  for (const path of new Set(paths.map((each) => resolve(each)))) {
    try {
      yield [path, openNamed(path)]
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT')
        throw new Fault('caller_file', `${path} cannot be read (${whyUnread(cause)})`, { cause })
    }
  }
}

async function toFile(
  path: string,
  { keepsOlder = false }: StateUse,
  write: (descriptor: number) => Promise<boolean>,
): Promise<void> {
  await writeWhole(resolve(path), write, { keepsOlder }).catch((cause) => {
    if (cause?.syscall === undefined) throw cause
    throw new Fault('caller_file', whyNotMade(resolve(path), cause, '--replace'), { cause })
  })
}

interface Call {
  found: Owned
  reads: ReadonlyMap<string, number>
  writes: number | undefined
  argv: readonly string[]
}

async function spawned({ found, reads, writes, argv }: Call): Promise<number> {
  const stdio: (number | 'inherit')[] = ['inherit', 'inherit', 'inherit']
  /** @returns its descriptor number in the child */
  const given = (descriptor: number) => stdio.push(descriptor) - 1
  const told: Handed = {
    owner: found.owner,
    reads: Object.fromEntries([...reads].map(([path, descriptor]) => [path, given(descriptor)])),
    writes: writes === undefined ? undefined : given(writes),
  }
  const program = [process.execPath, ...process.execArgv, process.argv[1] ?? '', ...argv]
  const inSight = found.barrier === undefined ? [] : behind(found.barrier, found.path)
  const [file = '', ...words] = [...inSight, ...program]
  const env = { ...process.env, [HANDED_VARIABLE]: JSON.stringify(told) }
  const child = spawn(file, words, { stdio, env })
  return await ended(child)
}

/**
 * For folders the owner cannot reach, such as below /var/lib/private, where systemd keeps those of dynamic users: a
 * mount namespace for this one process shows the folder at its place, as in the service.
 */
const SHOW = `set -e
umask 022
barrier=$1 folder=$2
shift 2
exec 8< "$folder"
mount -t tmpfs -o mode=755,size=1m,nosuid,nodev plantroom "$barrier"
mkdir -p "$folder"
mount --no-canonicalize --bind /proc/self/fd/8 "$folder"
exec 8<&-
exec "$@"
`

function behind(barrier: string, folder: string): string[] {
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', SHOW, 'sh', barrier, folder]
}

async function ended(child: ChildProcess): Promise<number> {
  // Ctrl-C also reaches the child, which then ends by itself; half-written files are removed here.
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
