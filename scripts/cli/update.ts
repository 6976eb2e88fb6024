/** `plantroom update`: the update of the Plantroom of this machine, by hand or by a timer. */
import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Type } from 'typebox'
import { systemClock } from '#kit/clock.ts'
import { loadConfig } from '#kit/config/load.ts'
import { Fault } from '#kit/pure/fault.ts'
import { applyUpdate, checkForUpdate, settleUpdate, type UpdateOutcome, type UpdateParts } from '#kit/release/apply.ts'
import { updateTable } from '#kit/release/update-settings.ts'
import { configFileOf, exitCodes, stateFolderOf } from '#kit/run/arguments.ts'
import { ownerOfFolder } from '#kit/run/state-folder.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { updateHooks } from './update-hooks.ts'

const form = 'update [--check|--settle|--yes] [--config FILE] [--state DIR] [--set key=VALUE]... [--json]'

/** Of this command alone: an update is there, and was not applied. */
const UPDATE_WAITS = 4
/** How long a program of the system may take to answer. */
const ANSWER_MS = 10_000

const schema = Type.Object({ update: updateTable }, { additionalProperties: false })

/** Checks for an update, and applies it. */
export const update: Command = {
  name: 'update',
  summary: 'look for an update of Plantroom, and apply it',
  help: `plantroom ${form}

Asks the update server (update_url) whether there is a newer Plantroom, and says so. With --yes it is applied: the states of
the running daemons are backed up, the update is downloaded, its checksum and signature are proven, it is unpacked beside what runs,
put in its place, and the daemons are restarted and watched. If one of them is not well, what ran before runs again, and the
version is not tried again. May be interrupted at any time, and run again.
On a machine whose Plantroom is a Debian package, apt does this, and this command does nothing.
  --check          look only
  --yes            apply it without a question
  --settle         end an update that was cut off, and look for no other: for the start of the machine
  --config FILE    settings; default /etc/plantroom/update.toml, which may be missing
  --state DIR      what is kept of updates, and backups; default /var/lib/plantroom/update.
                   trust/root.json in it is the root whose release keys are trusted
  --set key=VALUE  one setting, such as update_url=https://updates.example.org:3131; may repeat
  --json           what came of it as one JSON object, and the sentences to standard error
Exit codes: 0 nothing newer, or applied; 1 failed, or taken back; 2 wrong usage or settings; 4 an update is there, and was
not applied, or is not tried again.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const { values, positionals } = parseCommand(argv, {
      ...{
        check: { type: 'boolean' },
        yes: { type: 'boolean' },
        settle: { type: 'boolean' },
        json: { type: 'boolean' },
      },
      ...{ config: { type: 'string' }, state: { type: 'string' }, set: { type: 'string', multiple: true } },
    })
    requireWords(positionals, 0, 0, form)
    const { check = false, json = false, settle = false, yes = false } = values
    if ([check, settle, yes].filter(Boolean).length > 1)
      throw new Fault('bad_usage', `--check, --settle and --yes exclude each other: plantroom ${form}`)
    const say = (sentence: string) => (json ? world.err : world.out)(`[UPDATE] ${sentence}\n`)
    const owner = await debianPackage(world)
    if (owner !== undefined) {
      say(
        `this Plantroom belongs to the Debian package ${owner}, and apt updates it: apt-get install --only-upgrade ${owner}`,
      )
      if (json) world.out(`${JSON.stringify({ outcome: 'debian', package: owner })}\n`)
      return exitCodes.fine
    }
    const { config, set = [] } = values
    const file = resolve(config ?? configFileOf('update'))
    const { value } = await loadConfig({ schema, file, mustExist: config !== undefined, sets: set })
    const state = resolve(values.state ?? stateFolderOf({ name: 'update', env: world.env }))
    requireRoots(state)
    const parts = await partsOf(world, { settings: value.update, state, say })
    requireRoots(parts.root)
    const outcome = await outcomeOf(settle ? settleUpdate : yes ? applyUpdate : checkForUpdate, parts)
    say(sentenceOfOutcome(outcome))
    if (json) world.out(`${JSON.stringify(outcome ?? { outcome: 'settled' })}\n`)
    return exitCodeOf(outcome)
  },
}

type Given = Pick<UpdateParts, 'settings' | 'state' | 'say'>

async function partsOf(world: World, { say, settings, state }: Given): Promise<UpdateParts> {
  const root = rootOf(world)
  const isClockRight = await hasRightClock(world)
  return {
    ...{ root, state, settings, say, clock: systemClock },
    arch: process.arch === 'x64' ? 'amd64' : process.arch,
    nowAt: () => (isClockRight ? systemClock.epochMs() : undefined),
    hooks: updateHooks(world, {
      ...{ root, state, kept: settings.backups },
      // STATE_DIRECTORY is that of this command, where systemd starts it.
      stateOf: (name) => stateFolderOf({ name, env: {} }),
    }),
  }
}

/**
 * Whoever may change these folders would decide what root runs. They are no daemon's, so root becomes nobody else for them.
 * @throws Fault `state_foreign`
 */
function requireRoots(folder: string): void {
  if (process.geteuid?.() !== 0) return
  const { owner, path } = ownerOfFolder(folder)
  if (owner !== undefined)
    throw new Fault(
      'state_foreign',
      `${path} belongs to user ${owner.uid}, who could put anything in the place of an update: use folders that are root's`,
    )
}

/** Where releases stand: this program is in the folder of one. @throws Fault `update_not_ours` */
export function rootOf({ daemonsFolder }: World): string {
  const releases = dirname(realpathSync(daemonsFolder))
  if (basename(releases) !== 'releases')
    throw new Fault(
      'update_not_ours',
      `this Plantroom runs from ${daemonsFolder}, which its installer did not make: update it as it was installed`,
    )
  return dirname(releases)
}

async function outcomeOf<Outcome>(
  task: (parts: UpdateParts) => Promise<Outcome>,
  parts: UpdateParts,
): Promise<Outcome> {
  try {
    return await task(parts)
  } catch (error) {
    const { code, path, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    const hint = code === 'EACCES' || code === 'EPERM' ? ': run it as root' : ''
    throw new Fault('update_failed', `${path ?? 'a file'}: ${syscall} failed with ${code}${hint}`, { cause: error })
  }
}

function sentenceOfOutcome(outcome: UpdateOutcome | undefined): string {
  if (outcome === undefined) return 'no update was cut off, nothing to do'
  switch (outcome.outcome) {
    case 'current':
      return 'already current, nothing to do'
    case 'available':
      return `${outcome.version} is there, and ${outcome.from} runs: plantroom update --yes applies it`
    case 'bad':
      return `${outcome.version} is there, and is not tried again: ${outcome.reason}`
    case 'applied':
      return `${outcome.version} runs, in the place of ${outcome.from}`
    case 'rolled_back':
      return `${outcome.version} was taken back, and ${outcome.to} runs again: ${outcome.reason}`
  }
}

function exitCodeOf(outcome: UpdateOutcome | undefined): number {
  if (outcome?.outcome === 'available' || outcome?.outcome === 'bad') return UPDATE_WAITS
  return outcome?.outcome === 'rolled_back' ? exitCodes.failed : exitCodes.fine
}

/** The package that this program is of; undefined without one, or without dpkg. */
async function debianPackage({ daemonsFolder, env }: World): Promise<string | undefined> {
  const file = join(realpathSync(daemonsFolder), 'plantroom.mjs')
  try {
    const { stdout } = await promisify(execFile)('dpkg-query', ['--search', file], { env, timeout: ANSWER_MS })
    return /^([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9]+)?: /.exec(stdout)?.[1]
  } catch {
    return undefined
  }
}

/** Whether somebody has set the clock from the network: a board without a battery begins long ago. */
async function hasRightClock({ env }: World): Promise<boolean> {
  try {
    const command = ['show', '--property=NTPSynchronized', '--value']
    const { stdout } = await promisify(execFile)('timedatectl', command, { env, timeout: ANSWER_MS })
    return stdout.trim() === 'yes'
  } catch {
    return false
  }
}
