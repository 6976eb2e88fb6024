/** `plantroom restore`: replaces a daemon's state with a backup, and keeps the former state. */
import { mkdir, readdir, readFile, realpath, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { exitCodes, stateFolderOf } from '#kit/run/arguments.ts'
import type { Daemon } from '#kit/run/daemon.ts'
import { handed, lockState } from '#kit/run/state-folder.ts'
import { makeFolder } from '#kit/store/store.ts'
import { type Manifest, unpackState } from './archive.ts'
import { type Swapped, swapFolders } from './as-owner.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { loadDaemon, requireDaemon } from './daemons.ts'
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
  stateUse(argv, world) {
    const { name, folder, file } = read(argv, world)
    return { daemon: name, folder, makes: true, reads: [file], replaces: true }
  },
  async run(argv, world) {
    const { name, folder: given, file } = read(argv, world)
    const daemon = await loadDaemon(world.daemonsFolder, name)
    await makeFolder(given)
    // The folder may be a link, as with systemd's DynamicUser: its target is swapped.
    const folder = await realpath(given)
    const lock = lockState(folder)
    try {
      const { manifest, before } = await putInPlace(folder, file, daemon)
      const made = new Date(manifest.at).toISOString()
      world.out(`${manifest.files.length} files of ${name}, backed up at ${made}, are in place.\n`)
      world.out(`What was there is in ${before}.\n`)
      return exitCodes.fine
    } finally {
      lock.release()
    }
  },
}

function read(argv: readonly string[], world: World) {
  const { values, positionals } = parseCommand(argv, { state: { type: 'string' } })
  requireWords(positionals, 2, 2, form)
  const [name = '', file = ''] = positionals
  requireDaemon(world.daemonsFolder, name)
  return { name, folder: resolve(values.state ?? stateFolderOf({ name, env: world.env })), file: resolve(file) }
}

async function putInPlace(
  folder: string,
  file: string,
  { name, checkState }: Daemon,
): Promise<{ manifest: Manifest; before: string }> {
  const given = handed()?.fresh
  const fresh = given ?? `${folder}.restore`
  if (given === undefined) {
    await rm(fresh, { recursive: true, force: true })
    await mkdir(fresh, { mode: 0o700 })
  }
  try {
    const manifest = await unpackState(file, fresh)
    if (manifest.daemon !== name)
      throw new Fault('bad_backup', `${file} is the state of ${manifest.daemon}, expected that of ${name}`)
    await checkFiles(fresh)
    await checkState?.(fresh)
    const before = given === undefined ? await swapFolders(folder, fresh) : await askToSwap()
    return { manifest, before }
  } catch (error) {
    for (const name of await readdir(fresh)) await rm(join(fresh, name), { recursive: true, force: true })
    if (given === undefined) await rm(fresh, { recursive: true, force: true })
    throw error
  }
}

/** State files are JSON, or databases: an unreadable one would keep the daemon from starting. */
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

/** The owner may change nothing in the parent folder, so the caller swaps them. @throws Fault `restore_failed` */
async function askToSwap(): Promise<string> {
  const answer = await new Promise<Swapped>((resolve, reject) => {
    process.once('message', (message) => resolve(message as Swapped))
    process.once('disconnect', () => reject(new Fault('restore_failed', 'nobody answered; the state is as it was')))
    process.send?.('whole')
  })
  if ('failed' in answer) throw new Fault('restore_failed', answer.failed)
  return answer.before
}
