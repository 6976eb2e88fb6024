/** `plantroom restore`: puts a backup in the place of a daemon's state, and keeps what was there. */
import { chownSync, statSync } from 'node:fs'
import { mkdir, readdir, readFile, realpath, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { stateFolderOf } from '#kit/run/arguments.ts'
import type { Daemon } from '#kit/run/daemon.ts'
import { exitCodes } from '#kit/run/exit-codes.ts'
import { lockState } from '#kit/run/state-lock.ts'
import { makeFolder } from '#kit/store/whole-file.ts'
import { type Manifest, unpackState } from './archive.ts'
import { type Command, parseCommand, requireWords } from './command.ts'
import { loadDaemon } from './daemons.ts'
import { faultOfDatabase, isDatabase } from './state-database.ts'

const form = 'restore DAEMON [--state DIR] FILE'

/** Restores a backup while the daemon is stopped. */
export const restore: Command = {
  name: 'restore',
  summary: 'put a backup in the place of the state, while the daemon is stopped',
  help: `plantroom ${form}

Checks FILE whole, its databases too, then puts it in the place of the state of DAEMON. What was there is kept beside
it, under the name of the folder with .before- and the time.
  --state DIR    default /var/lib/plantroom/<daemon>
Exit codes: 0 restored, 1 failed or the daemon runs, 2 wrong usage, or FILE is no good backup of DAEMON.
`,
  async run(argv, world) {
    const { values, positionals } = parseCommand(argv, { state: { type: 'string' } })
    requireWords(positionals, 2, 2, form)
    const [name = '', file = ''] = positionals
    const daemon = await loadDaemon(world.daemonsFolder, name)
    const given = resolve(values.state ?? stateFolderOf({ name, env: world.env }))
    await makeFolder(given)
    // The folder may be a link, as systemd makes it for DynamicUser: what it points at is what is swapped.
    const folder = await realpath(given)
    const lock = lockState(folder)
    try {
      const { manifest, before } = await putInPlace(folder, resolve(file), daemon)
      const made = new Date(manifest.at).toISOString()
      world.out(`${manifest.files.length} files of ${name}, backed up at ${made}, are in place.\n`)
      world.out(`What was there is in ${before}.\n`)
      return exitCodes.fine
    } finally {
      lock.release()
    }
  },
}

async function putInPlace(
  folder: string,
  file: string,
  { name, checkState }: Daemon,
): Promise<{ manifest: Manifest; before: string }> {
  const fresh = `${folder}.restore`
  const before = `${folder}.before-${new Date(systemClock.epochMs()).toISOString().replace(/[-:.]/g, '')}`
  await rm(fresh, { recursive: true, force: true })
  await mkdir(fresh, { mode: 0o700 })
  try {
    const manifest = await unpackState(file, fresh)
    if (manifest.daemon !== name)
      throw new Fault('bad_backup', `${file} is the state of ${manifest.daemon}, expected that of ${name}`)
    await checkFiles(fresh)
    await checkState?.(fresh)
    await takeOver(folder, fresh)
    await swap(folder, fresh, before)
    return { manifest, before }
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

/** State files are JSON, or databases: one that does not read would stop the daemon's start. */
async function checkFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.endsWith('.json')) await checkJson(folder, name)
    const fault = isDatabase(name) ? faultOfDatabase(join(folder, name)) : undefined
    if (fault !== undefined) throw new Fault('bad_backup', `${name} in the backup is damaged: ${fault}`)
  }
}

async function checkJson(folder: string, name: string): Promise<void> {
  try {
    JSON.parse(await readFile(join(folder, name), 'utf8'))
  } catch (cause) {
    throw new Fault('bad_backup', `${name} in the backup is damaged: it was so when it was backed up`, { cause })
  }
}

/** Everything restored belongs to the owner of the folder before. */
async function takeOver(folder: string, fresh: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  for (const path of ['.', ...(await readdir(fresh, { recursive: true }))]) chownSync(join(fresh, path), uid, gid)
}

/** There is no exchange of two folders in one call here; when the second step fails the first is taken back. */
async function swap(folder: string, fresh: string, before: string): Promise<void> {
  await rename(folder, before)
  try {
    await rename(fresh, folder)
  } catch (cause) {
    await rename(before, folder)
    throw new Fault('restore_failed', `${folder} could not be replaced; it is as it was`, { cause })
  }
}
