/** `plantroom restore`: replaces a daemon's state with a backup, and keeps the former state. */
import { closeSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { configFileOf, exitCodes, stateFolderOf, version } from '#kit/run/arguments.ts'
import type { Daemon } from '#kit/run/daemon.ts'
import { whyUnread } from '#kit/run/named-file.ts'
import { lockState, openToRead } from '#kit/run/state-folder.ts'
import type { Manifest } from '#kit/store/archive.ts'
import { unpackState } from '#kit/store/backup.ts'
import { commitRestore, finishRestore, formerState, makeNewState, RESTORE_FOLDER } from '#kit/store/restore.ts'
import { makeFolder } from '#kit/store/store.ts'
import { keptElsewhere } from './backup.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { loadDaemon, requireDaemon } from './daemons.ts'

const form = 'restore DAEMON [--state DIR] FILE|--undo'

/** Restores a backup while the daemon is stopped. */
export const restore: Command = {
  name: 'restore',
  summary: 'put a backup in the place of the state, while the daemon is stopped',
  help: `plantroom ${form}

Checks FILE whole, its databases too, then puts it in the place of the state of DAEMON. What was there is kept in the
folder restore/before of the state, until the next restore.
  --state DIR    default /var/lib/plantroom/<daemon>
  --undo         puts back what was there before the last restore, and keeps what that put in place
Exit codes: 0 restored, 1 failed or the daemon runs, 2 wrong usage, or FILE is no good backup of DAEMON.
`,
  stateUse(argv, world) {
    const { name, folder, file } = read(argv, world)
    const reads = [configFileOf(name, world.env), ...(file === undefined ? [] : [file])]
    return { daemon: name, folder, makes: true, reads }
  },
  async run(argv, world) {
    const { name, folder, file } = read(argv, world)
    const daemon = await loadDaemon(world.daemonsFolder, name)
    await makeFolder(folder)
    const lock = lockState(folder)
    try {
      world.out(file === undefined ? undo(folder, name) : await putInPlace(folder, file, daemon))
      world.out(`What was there is in ${join(folder, RESTORE_FOLDER, 'before')}.\n`)
      for (const one of await keptElsewhere(world, name, folder)) world.out(`Not put back: ${one}.\n`)
      return exitCodes.fine
    } finally {
      lock.release()
    }
  },
}

const BY = 'command line'

function read(argv: readonly string[], world: World) {
  const { values, positionals } = parseCommand(argv, { state: { type: 'string' }, undo: { type: 'boolean' } })
  const words = values.undo ? 1 : 2
  requireWords(positionals, words, words, form)
  const [name = '', file] = positionals
  requireDaemon(world.daemonsFolder, name)
  const folder = resolve(values.state ?? stateFolderOf({ name, env: world.env }))
  return { name, folder, file: file === undefined ? undefined : resolve(file) }
}

function undo(folder: string, name: string): string {
  const nowMs = systemClock.epochMs()
  commitRestore(folder, { by: BY, at: nowMs, what: 'undo', madeAt: formerState(folder)?.at ?? nowMs })
  finishRestore(folder)
  return `The state of ${name} is what it was before the last restore.\n`
}

async function putInPlace(folder: string, file: string, { name, checkState }: Daemon): Promise<string> {
  const fresh = makeNewState(folder)
  let manifest: Manifest
  const from = openBackup(file)
  try {
    manifest = await unpackState(from, fresh, { daemon: name, version, checkState, bounds: UNBOUNDED })
  } catch (cause) {
    rmSync(fresh, { recursive: true, force: true })
    const { code, message } = cause as NodeJS.ErrnoException
    if (code !== 'bad_backup') throw new Fault('restore_failed', `${file} could not be unpacked (${code})`, { cause })
    throw new Fault('bad_backup', `${file} is not restored, and nothing was changed: ${message}`, { cause })
  } finally {
    closeSync(from)
  }
  commitRestore(folder, { by: BY, at: systemClock.epochMs(), what: 'backup', madeAt: manifest.at })
  finishRestore(folder)
  return `${manifest.files.length} files of ${name}, backed up at ${new Date(manifest.at).toISOString()}, are in place.\n`
}

/** Whoever types this command has seen how large the file is, and the disk is theirs. */
const UNBOUNDED = { unpackedBytes: Number.MAX_SAFE_INTEGER }

/** @throws Fault `bad_backup` */
function openBackup(file: string): number {
  try {
    return openToRead(file)
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    const sentence = isMissing ? `there is no file ${file}` : `${file} cannot be read (${whyUnread(cause)})`
    throw new Fault('bad_backup', sentence, { cause })
  }
}
