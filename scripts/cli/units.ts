/** `plantroom units`: makes the units of a release those of its machine, as the package does with its own. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { placeOf, sentenceOfPlace } from '#kit/release/place.ts'
import { baseFolder, exitCodes } from '#kit/run/arguments.ts'
import { replaceFile } from '#kit/store/store.ts'
import { type Command, parseCommand, requireWords, sayDiskErrors, type World } from './command.ts'
import { callProgram } from './update-hooks.ts'

const form = 'units'

/** Run by the installer, and by each update with the program of the release that is to run. */
export const units: Command = {
  name: 'units',
  summary: 'put the units of this release in place; the installer and updates do it',
  help: `plantroom ${form}

Writes the units of this release below /usr/local/lib/systemd, makes the users that they want, and tells systemd. A unit that was not
there before is switched on and started if it is to start by itself (plantroom.preset); all others are left as they are, running or
not. Units that this release has no more are stopped and removed. What was changed by systemctl edit stays.
Exit codes: 0 done; 1 failed, or a unit did not start.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    requireWords(parseCommand(argv, {}).positionals, 0, 0, form)
    const failed = (sentence: string, cause: unknown) => new Fault('units_failed', sentence, { cause })
    return await sayDiskErrors(async () => {
      const place = await placeOf(world.daemonsFolder, world.env)
      if (place.kind !== 'release') throw new Fault('update_not_ours', sentenceOfPlace(place))
      // In a folder of its own it has no part in the systemd of this machine.
      if (baseFolder(world.env) !== '/') return exitCodes.fine
      const { root } = place
      await placeUnits(world, { root, list: join(root, 'units'), base: '/' })
      return exitCodes.fine
    }, failed)
  },
}

const OF_UPDATES = /^plantroom-update[-.]/
const UNITS = 'usr/local/lib/systemd/system'
const SYSUSERS = 'usr/local/lib/sysusers.d/plantroom.conf'

/** Where a file of `systemd/` goes, below /. @throws Fault `units_failed` for one that has no place */
export function placeOfUnitFile(name: string): string {
  if (/^plantroom-[a-z-]+\.(service|socket|path|timer|target)$/.test(name)) return `${UNITS}/${name}`
  // systemd reads it for each unit whose name begins so.
  if (name === 'plantroom-update-sandbox.conf') return `${UNITS}/plantroom-update-.service.d/sandbox.conf`
  if (name === 'plantroom.sysusers') return SYSUSERS
  if (name === 'plantroom.preset') return 'usr/local/lib/systemd/system-preset/50-plantroom.preset'
  if (/^plantroom-[a-z-]+\.rules$/.test(name)) return `etc/polkit-1/rules.d/50-${name}`
  throw new Fault('units_failed', `systemd/${name} has no place on a machine`)
}

interface Place {
  /** The folder with `releases` and `current`. */
  root: string
  /** The file that says which units were put in place, one a line. */
  list: string
  /** `/`, but in a test. */
  base: string
}

/**
 * Makes the units of this world's release those of the machine.
 * @throws Fault `units_failed`; errors of the disk
 */
export async function placeUnits(world: World, { base, list, root }: Place): Promise<void> {
  const from = join(world.daemonsFolder, 'systemd')
  // One that brings none runs by those that are there.
  if (!existsSync(from)) return
  const files = readdirSync(from).map((name) => ({ name, path: join(base, placeOfUnitFile(name)) }))
  const names = files.filter(({ path }) => dirname(path) === join(base, UNITS)).map(({ name }) => name)
  const before = linesOf(list)
  const fresh = names.filter((name) => !before.includes(name))
  const changed: string[] = []
  for (const { name, path } of files) {
    const text = textFor(root, readFileSync(join(from, name), 'utf8'))
    if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
      await mkdir(dirname(path), { recursive: true, mode: 0o755 })
      await replaceFile(path, text)
      changed.push(name)
    }
    // Always: after a cut between the two only root could read it, and polkit, which is not root, no rule.
    await chmod(path, 0o644)
  }
  const gone = before.filter((name) => !names.includes(name))
  // One of those of the update may be the one that runs this.
  const [ours, others] = [true, false].map((is) => gone.filter((name) => OF_UPDATES.test(name) === is))
  if (others?.length) await systemctl(world, 'disable', '--now', ...others)
  if (ours?.length) await systemctl(world, 'disable', ...ours)
  for (const name of gone) await rm(join(base, UNITS, name), { force: true })
  // Always: a cut may have left what was written untold.
  await callProgram(world, 'systemd-sysusers', [join(base, SYSUSERS)])
  await systemctl(world, 'daemon-reload')
  await settle(world, { fresh, from, changed: changed.filter((name) => before.includes(name)) })
  // Last: after a cut they are new once more.
  await replaceFile(list, names.map((name) => `${name}\n`).join(''))
  await chmod(list, 0o644)
}

interface Units {
  from: string
  /** They were not there before. */
  fresh: readonly string[]
  changed: readonly string[]
}

/** Its end would be that of the update that does this; what it says anew counts from the next start of the machine on. */
const OF_THE_UPDATE = 'plantroom-update.socket'

/** Daemons are restarted by whoever updates; what only waits for something is, here. */
async function settle(world: World, { changed, fresh, from }: Units): Promise<void> {
  const waiting = changed.filter((name) => !name.endsWith('.service') && name !== OF_THE_UPDATE)
  if (waiting.length > 0) await systemctl(world, 'try-restart', ...waiting)
  const switchable = fresh.filter((name) => /^\[Install\]$/m.test(readFileSync(join(from, name), 'utf8')))
  if (switchable.length === 0) return
  await systemctl(world, 'preset', ...switchable)
  const own = readFileSync(join(from, 'plantroom.preset'), 'utf8').split('\n')
  const started = switchable.filter((name) => own.includes(`enable ${name}`))
  if (started.length > 0) await systemctl(world, 'start', ...started)
}

/** The units of the package, with the programs of the release that `current` names. */
function textFor(root: string, text: string): string {
  const prebuilds = `prebuilds/linux-${process.arch}`
  return text
    .replaceAll('/usr/bin/plantroom', join(root, 'current/plantroom'))
    .replaceAll(
      '/usr/lib/plantroom/plantroom-helper',
      join(root, `current/native/helper/${prebuilds}/plantroom-helper`),
    )
}

function linesOf(path: string): string[] {
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

async function systemctl(world: World, ...words: string[]): Promise<void> {
  try {
    await callProgram(world, 'systemctl', words)
  } catch (cause) {
    throw new Fault('units_failed', (cause as Error).message, { cause })
  }
}
