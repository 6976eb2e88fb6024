/** `plantroom backup`: the state of a daemon in one file. */
import { accessSync, constants, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { loadConfig } from '#kit/config/load.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { configFileOf, exitCodes, stateFolderOf, version } from '#kit/run/arguments.ts'
import { writeWhole } from '#kit/run/state-folder.ts'
import { packState } from '#kit/store/backup.ts'
import { type Command, parseCommand, requireWords, type World, whyNotMade } from './command.ts'
import { loadDaemon, requireDaemon } from './daemons.ts'

const form = 'backup DAEMON [--state DIR] [--replace] FILE'

/** Writes a backup, whether the daemon runs or not. */
export const backup: Command = {
  name: 'backup',
  summary: 'put the state of a daemon into one file',
  help: `plantroom ${form}

Writes all that the API has set up, hashes of passwords and API keys and webhook secrets among it, to FILE: a gzipped
tar that only its owner can read. A FILE that is there stays as it is, and nothing is written. The daemon may run. It says what
is kept elsewhere, by the settings in /etc/plantroom.
  --state DIR    default /var/lib/plantroom/<daemon>
  --replace      an older FILE is replaced, once the new one is whole
Exit codes: 0 written, 1 failed, 2 wrong usage.
`,
  stateUse(argv, world) {
    const { name, folder, file, keepsOlder } = read(argv, world)
    return { daemon: name, folder, makes: false, reads: [configFileOf(name, world.env)], writes: file, keepsOlder }
  },
  async run(argv, world) {
    const { name, folder, file, keepsOlder } = read(argv, world)
    if (!existsSync(folder)) throw new Fault('backup_failed', `there is no state folder ${folder}`)
    const about = { daemon: name, version, at: systemClock.epochMs(), secrets: 'all' } as const
    let count = 0
    const staging = folderForCopies()
    try {
      const write = async (to: number) => {
        count = (await packState(to, { folder, staging, about })).files.length
        return true
      }
      await writeWhole(file, write, { keepsOlder })
    } catch (cause) {
      throw faultOf(cause, 'backup_failed', whyNotMade(file, cause, '--replace'))
    }
    world.out(`${count} files of ${name} are in ${file}.\n`)
    for (const one of await keptElsewhere(world, name, folder)) world.out(`Not in it: ${one}.\n`)
    return exitCodes.fine
  },
}

/** What belongs to the state of a daemon and is in no backup, as far as its settings tell. */
export async function keptElsewhere(world: World, name: string, folder: string): Promise<string[]> {
  const daemon = await loadDaemon(world.daemonsFolder, name)
  if (!daemon.keptElsewhere) return []
  try {
    const file = configFileOf(name, world.env)
    const { value } = await loadConfig({ schema: daemon.config, file, mustExist: false, sets: [] })
    return daemon.keptElsewhere(value, folder)
  } catch (fault) {
    if ((fault as Fault).code !== 'config_refused') throw fault
    return [`what the settings keep elsewhere; they are refused, and plantroom check-config ${name} says why`]
  }
}

/** The owner of the state may not write to the caller's TMPDIR, where it is a private one. */
function folderForCopies(): string {
  try {
    accessSync(tmpdir(), constants.W_OK | constants.X_OK)
    return tmpdir()
  } catch {
    return '/tmp'
  }
}

function read(argv: readonly string[], world: World) {
  const { values, positionals } = parseCommand(argv, { state: { type: 'string' }, replace: { type: 'boolean' } })
  requireWords(positionals, 2, 2, form)
  const [name = '', file = ''] = positionals
  requireDaemon(world.daemonsFolder, name)
  const folder = resolve(values.state ?? stateFolderOf({ name, env: world.env }))
  return { name, folder, file: resolve(file), keepsOlder: !values.replace }
}
