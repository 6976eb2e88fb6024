/** `plantroom update`: the update of the Plantroom of this machine, by hand or by a timer. */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { systemClock } from '#kit/clock.ts'
import { loadConfig } from '#kit/config/load.ts'
import { Fault } from '#kit/pure/fault.ts'
import { isWithinHours } from '#kit/pure/setting-keys.ts'
import { applyUpdate, checkForUpdate, type FetchParts, settleUpdate } from '#kit/release/apply.ts'
import { applyHanded } from '#kit/release/apply-handed.ts'
import { applyImage, checkForImage, settleImage } from '#kit/release/apply-image.ts'
import { placeOf, sentenceOfPlace, type UpdatePlace } from '#kit/release/place.ts'
import type { UpdateHooks, UpdateOutcome } from '#kit/release/switch.ts'
import { sentenceOfOutcome, toldFolder } from '#kit/release/told.ts'
import { type ImageSettings, imageTable, type UpdateSettings, updateTable } from '#kit/release/update-settings.ts'
import { configFileOf, exitCodes, stateFolderOf } from '#kit/run/arguments.ts'
import { ownerOfFolder } from '#kit/run/state-folder.ts'
import { type Command, parseCommand, requireWords, type World } from './command.ts'
import { serveAsked } from './update-asked.ts'
import { updateHooks } from './update-hooks.ts'

const form =
  'update [--check|--settle|--yes|--file FILE|--timed|--asked] [--config FILE] [--state DIR] [--set key=VALUE]... [--json]'

/** In which hours the timer applies updates where nobody says any. */
const NIGHT = '03:00-05:00'
/** Of this command alone: an update is there, and was not applied. */
const UPDATE_WAITS = 4
/** How long a program of the system may take to answer. */
const ANSWER_MS = 10_000
/** The first descriptor that systemd hands in. @source sd_listen_fds(3) */
const HANDED_IN = 3

/** The settings, /etc/plantroom/update.toml. */
export const updateConfig = Type.Object({ update: updateTable, image: imageTable }, { additionalProperties: false })
interface Settings {
  update: UpdateSettings
  image: ImageSettings
}

/** What is done, of a machine that is updated by releases and of a board that is updated by images. */
const tasks = {
  check: { release: checkForUpdate, image: checkForImage },
  apply: { release: applyUpdate, image: applyImage },
  handed: { release: applyHanded, image: refuseFile },
  settle: { release: settleUpdate, image: settleImage },
  timed: { release: inHours(checkForUpdate, applyUpdate), image: inHours(checkForImage, applyImage) },
} as const

/** Checks for an update, and applies it. */
export const update: Command = {
  name: 'update',
  summary: 'look for an update of Plantroom, and apply it',
  help: `plantroom ${form}

Asks the update server (update_url) whether there is a newer Plantroom, and says so. With --yes it is applied: the states of
the running daemons are backed up, the update is downloaded, its checksum and signature are proven, it is unpacked beside what runs,
put in its place, and the daemons are restarted and watched. If one of them is not well, what ran before runs again, and the
version is not tried again. Macros that run end first, within update.macro_wait_ms. May be interrupted at any time, and run again.
On a machine whose Plantroom is a Debian package, apt does this, and this command does nothing; --file is refused.
On a board whose whole system is a firmware image (image.compatible says for which kind of board), the image is downloaded and proven
so, and handed to the board, which installs it as one that is uploaded. Which image runs after the restart says what came of it.
  --check          look only
  --yes            apply it without a question
  --file FILE      apply this release file (plantroom publish --release-file), without an update server
  --settle         end an update that was cut off, and look for no other: for the start of the machine
  --timed          for plantroom-update.timer: apply it in the hours of update.window, else in those that the update server sends, else
                   03:00-05:00; at other times look only
  --asked          for plantroom-update-asked.service: do what controller or recorder ask for over the socket that systemd hands in
  --config FILE    settings; default /etc/plantroom/update.toml, which may be missing
  --state DIR      what is kept of updates, and backups; default /var/lib/plantroom/update.
                   trust/root.json in it is the root whose release keys are trusted. What may be told to others is beside it,
                   in the folder of that name with -told
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
        timed: { type: 'boolean' },
        asked: { type: 'boolean' },
        json: { type: 'boolean' },
      },
      ...{
        file: { type: 'string' },
        config: { type: 'string' },
        state: { type: 'string' },
        set: { type: 'string', multiple: true },
      },
    })
    requireWords(positionals, 0, 0, form)
    const { asked = false, check = false, file, json = false, settle = false, timed = false, yes = false } = values
    if ([asked, check, file !== undefined, settle, timed, yes].filter(Boolean).length > 1)
      throw new Fault(
        'bad_usage',
        `--asked, --check, --file, --settle, --timed and --yes exclude each other: plantroom ${form}`,
      )
    const say = (sentence: string) => (json ? world.err : world.out)(`[UPDATE] ${sentence}\n`)
    const call: Call = { world, given: values, say }
    if (asked) return await answerAsked(call)
    const settings = await settingsOf(call)
    if (file !== undefined) settings.update.handed_file = resolve(file)
    const place = await placeOf(world.daemonsFolder, world.env)
    if (place.kind === 'debian' && settings.image.compatible === '') {
      // Whoever names a file takes an end with 0 for its being applied.
      if (file !== undefined) throw new Fault('update_not_ours', sentenceOfPlace(place))
      say(sentenceOfPlace(place))
      if (json) world.out(`${JSON.stringify({ outcome: 'debian', package: place.name })}\n`)
      return exitCodes.fine
    }
    if (timed) return await performTimed(call, { settings, place })
    const outcome = await perform(call, { settings, place, task: taskOf(values) })
    say(sentenceOfOutcome(outcome))
    if (json) world.out(`${JSON.stringify(outcome ?? { outcome: 'settled' })}\n`)
    return exitCodeOf(outcome)
  },
}

function taskOf({ file, settle, yes }: { file?: string; settle?: boolean; yes?: boolean }): keyof typeof tasks {
  if (file !== undefined) return 'handed'
  return settle ? 'settle' : yes ? 'apply' : 'check'
}

/** @throws Fault `update_not_ours` */
async function refuseFile(): Promise<never> {
  throw new Fault('update_not_ours', 'this board is updated by firmware images, and takes no release file')
}

/** One call of the command. */
interface Call {
  world: World
  given: { config?: string; state?: string; set?: string[] }
  say(sentence: string): void
}

interface Task {
  settings: Settings
  place: UpdatePlace
  task: keyof typeof tasks
  onBegun?(at: number): void
}

/** @throws Fault of the settings, `state_foreign`, `update_not_ours`, and of the task */
async function perform({ given, say, world }: Call, { onBegun, place, settings, task }: Task) {
  const { image, update } = settings
  const state = resolve(given.state ?? stateFolderOf({ name: 'update', env: world.env }))
  for (const folder of [state, toldFolder(state)]) requireRoots(folder)
  const parts = await partsOf(world, { say, settings: update, state, ...(onBegun && { onBegun }) })
  if (image.compatible !== '')
    return await outcomeOf(() => tasks[task].image({ ...parts, image, hooks: hooksOf(world, state, update) }))
  if (place.kind !== 'release') throw new Fault('update_not_ours', sentenceOfPlace(place))
  requireRoots(place.root)
  const { root } = place
  return await outcomeOf(() => tasks[task].release({ ...parts, root, hooks: hooksOf(world, state, update, root) }))
}

async function settingsOf({ given, world }: Call): Promise<Settings> {
  const { config, set = [] } = given
  const file = resolve(config ?? configFileOf('update', world.env))
  const { value } = await loadConfig({ schema: updateConfig, file, mustExist: config !== undefined, sets: set })
  return value
}

/** The timer does not fail where another update is running, or macros are: it comes again. */
async function performTimed(call: Call, what: Pick<Task, 'settings' | 'place'>): Promise<number> {
  try {
    const outcome = await perform(call, { ...what, task: 'timed' })
    call.say(sentenceOfOutcome(outcome))
    return exitCodeOf(outcome)
  } catch (fault) {
    const { code, message } = fault as Fault
    if (code !== 'update_running' && code !== 'update_put_off') throw fault
    call.say(message)
    return code === 'update_running' ? exitCodes.fine : UPDATE_WAITS
  }
}

/** Looks, and applies in the hours for it alone. */
function inHours<Parts extends Pick<FetchParts, 'settings' | 'say'>>(
  look: (parts: Parts) => Promise<UpdateOutcome>,
  apply: (parts: Parts) => Promise<UpdateOutcome>,
) {
  return async (parts: Parts): Promise<UpdateOutcome> => {
    const found = await look(parts)
    if (found.outcome !== 'available') return found
    const window = parts.settings.window || found.window || NIGHT
    const now = new Date(systemClock.epochMs())
    if (isWithinHours(window, 60 * now.getHours() + now.getMinutes())) return await apply(parts)
    parts.say(`${found.version} is applied between ${window.replace('-', ' and ')}`, 'check')
    return found
  }
}

/** Settings are read at each request: what is wrong in them is answered, and does not end the service. */
async function answerAsked(call: Call): Promise<number> {
  const { say, world } = call
  const { LISTEN_FDS, LISTEN_PID } = world.env
  if (LISTEN_FDS !== '1' || LISTEN_PID !== String(process.pid))
    throw new Fault('bad_usage', 'systemd hands in no socket: systemctl enable --now plantroom-update.socket')
  const settings = await settingsOf(call).then(
    ({ update: known }) => known,
    () => Value.Create(updateTable),
  )
  await serveAsked({
    at: { fd: HANDED_IN },
    clock: systemClock,
    say,
    limits: { gapMs: settings.ask_gap_ms, idleMs: settings.ask_idle_ms },
    async perform(task, onBegun) {
      const place = await placeOf(world.daemonsFolder, world.env)
      const asked = { settings: await settingsOf(call), place, task, onBegun }
      say(sentenceOfOutcome(await perform(call, asked)))
    },
  })
  return exitCodes.fine
}

type Given = Pick<FetchParts, 'settings' | 'state' | 'say' | 'onBegun'>

async function partsOf(world: World, given: Given): Promise<FetchParts> {
  const isClockRight = await hasRightClock(world)
  return {
    ...{ ...given, clock: systemClock },
    arch: process.arch === 'x64' ? 'amd64' : process.arch,
    nowAt: () => (isClockRight ? systemClock.epochMs() : undefined),
  }
}

/** @param root undefined on a board that takes images */
function hooksOf(world: World, state: string, settings: UpdateSettings, root?: string): UpdateHooks {
  return updateHooks(world, {
    ...{ root, state, kept: settings.backups },
    ...{ quietSocket: settings.quiet_socket, macroWaitMs: settings.macro_wait_ms },
    // STATE_DIRECTORY is that of this command, where systemd starts it.
    stateOf: (name) => stateFolderOf({ name, env: { ...world.env, STATE_DIRECTORY: undefined } }),
  })
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

async function outcomeOf<Outcome>(task: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await task()
  } catch (error) {
    const { code, path, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    const hint = code === 'EACCES' || code === 'EPERM' ? ': run it as root' : ''
    throw new Fault('update_failed', `${path ?? 'a file'}: ${syscall} failed with ${code}${hint}`, { cause: error })
  }
}

function exitCodeOf(outcome: UpdateOutcome | undefined): number {
  if (outcome?.outcome === 'available' || outcome?.outcome === 'bad') return UPDATE_WAITS
  return outcome?.outcome === 'rolled_back' ? exitCodes.failed : exitCodes.fine
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
