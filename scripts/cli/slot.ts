/** `plantroom slot`: which of a board's two systems runs, whether it has shown that it is good, and the way back. */
import { execFile } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { isVersion } from '#kit/pure/version.ts'
import { imageVersion, readOutcome, type UpdateOutcome } from '#kit/release/running-image.ts'
import { exitCodes } from '#kit/run/arguments.ts'
import { readNamed } from '#kit/run/named-file.ts'
import { replaceFile } from '#kit/store/store.ts'
import { type Command, parseCommand, requireWords, runForm, type World } from './command.ts'
import { daemonNames } from './daemons.ts'
import { BOOT_STATE, belowBase, changedSettings, changesText, memoryWarning } from './image-settings.ts'
import type { Toned } from './paint.ts'
import {
  type BootState,
  isStartable,
  nextSlot,
  otherSlot,
  readBootState,
  runTrial,
  type SlotName,
} from './slot-trial.ts'
import { daemonStatus } from './status.ts'

const forms = {
  show: 'slot show [--json]',
  switch: 'slot switch',
  confirm: 'slot confirm [--good-s N] [--within-s N]',
}

/** What became of the last update: on data, where both systems read it. */
const OUTCOME = '/var/lib/plantroom-slots/outcome.json'
/** The version that a slot had when it was last good, a file for each. */
const GOOD_VERSION = '/var/lib/plantroom-slots/version-'
/** Time a program of the system has to answer, ms: D-Bus may have to start a service. */
const ANSWER_MS = 20_000
/** Between two looks at the daemons, ms. */
const LOOK_MS = 5000
/** Units that a board cannot be reached without, beside its daemons. */
const NEEDED_UNITS = ['ssh.service', 'systemd-networkd.service']
/** But those that look for updates: they fail where the update server is out of reach, which says nothing of this system. */
const OWN_UNITS = /^plantroom-(?!update-)/
/** Shows, switches, and judges the running one. */
export const slot: Command = {
  name: 'slot',
  summary: 'the two systems of a board that was flashed with an image, and which starts next',
  help: `plantroom ${Object.values(forms).join('\n          ')}

show says which slot runs, its version and the other's, whether each is good or on trial, which starts next, what became of the last
update, and which files of /etc differ from those of the image. It is what runs without a word too.
switch has the other slot start next, on trial: if it is not good, the next start after that is this one again.
confirm is what plantroom-slot.service runs after each start: it waits until every daemon that is switched on is active and
answers, --good-s seconds (60) without a break, and marks the slot good. Where a new system does not get there within
--within-s seconds (300), it restarts the board, and the old one starts.
  --json    one JSON object
Exit codes: 0 done; 1 this machine has no slots, or they cannot be read; 2 wrong usage.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const known = {
      show: { form: forms.show, run: show },
      switch: { form: forms.switch, run: switchSlot },
      confirm: { form: forms.confirm, run: confirm },
    }
    const words = argv[0] === undefined || argv[0].startsWith('-') ? ['show', ...argv] : argv
    return await runForm(known, words, world, (sentence, cause) => new Fault('slot_failed', sentence, { cause }))
  },
}

async function show(argv: readonly string[], world: World): Promise<number> {
  const { values, positionals } = parseCommand(argv, { json: { type: 'boolean' } })
  requireWords(positionals, 0, 0, forms.show)
  const { state, running } = await slotsOf(world)
  const versions = await versionsOf(world)
  const outcome = await readOutcome(belowBase(world, OUTCOME))
  const changes = await changedSettings(world)
  const tellOf = (name: SlotName) => ({
    slot: name,
    version: name === running ? runningVersion(world) : (versions[name] ?? null),
    is_good: isStartable(state, name),
    // It has spent its last start, and has yet to show that it is good.
    is_on_trial: name === running && state.slots[name].isWhole && state.slots[name].startsLeft === 0,
    starts_left: state.slots[name].startsLeft,
  })
  const told = { running: tellOf(running), other: tellOf(otherSlot(running)), next: nextSlot(state, running) }
  world.out(
    values.json
      ? `${JSON.stringify({ ...told, last: outcome, changes }, null, 2)}\n`
      : [...textOf(told, outcome), ...memoryWarning(world), changesText(changes)],
  )
  return exitCodes.fine
}

interface SlotFacts {
  slot: SlotName
  version: string | null
  is_good: boolean
  is_on_trial: boolean
  starts_left: number
}

function textOf(
  { running, other, next }: { running: SlotFacts; other: SlotFacts; next: SlotName },
  outcome: UpdateOutcome | null,
): (string | Toned)[] {
  const wordOf = ({ is_good: isGood, is_on_trial: isOnTrial }: SlotFacts): Toned => {
    if (isOnTrial) return { tone: 'warning', text: 'on trial' }
    return isGood ? { tone: 'good', text: 'good' } : { tone: 'bad', text: 'not good' }
  }
  const lineOf = (facts: SlotFacts, what: string) => [
    `slot ${facts.slot}  ${what.padEnd(7)}  ${(facts.version ?? 'no version known').padEnd(16)}  `,
    wordOf(facts),
    facts.slot === next ? ', starts next\n' : '\n',
  ]
  const last =
    outcome?.result === 'fell_back'
      ? [
          {
            tone: 'warning',
            text: `The last update, ${outcome.version ?? 'version not known'}, failed: ${outcome.why}.`,
          } as const,
          '\n',
        ]
      : []
  return [...lineOf(running, 'runs'), ...lineOf(other, ''), ...last]
}

async function switchSlot(argv: readonly string[], world: World): Promise<number> {
  requireWords(parseCommand(argv, {}).positionals, 0, 0, forms.switch)
  const { state, running } = await slotsOf(world)
  const other = otherSlot(running)
  if (!state.slots[other].isWhole)
    throw new Fault('slot_failed', `slot ${other} holds no whole system that was good: there is nothing to go to`)
  await callBootState(world, 'set-primary', other)
  world.out(
    `Slot ${other} starts next, on trial: restart the board. If it is not good, slot ${running} is back after that.\n`,
  )
  return exitCodes.fine
}

async function confirm(argv: readonly string[], world: World): Promise<number> {
  const { values, positionals } = parseCommand(argv, { 'good-s': { type: 'string' }, 'within-s': { type: 'string' } })
  requireWords(positionals, 0, 0, forms.confirm)
  const goodMs = secondsOf(values['good-s'] ?? '60', '--good-s')
  const withinMs = secondsOf(values['within-s'] ?? '300', '--within-s')
  const { running } = await slotsOf(world)
  const outcomeFile = belowBase(world, OUTCOME)
  const isGood = await runTrial(
    {
      clock: systemClock,
      running,
      version: runningVersion(world),
      bootState: async () => (await slotsOf(world)).state,
      versionIn: async (name) => (await versionsOf(world))[name] ?? null,
      faults: () => faultsOf(world),
      confirm: async () => void (await callBootState(world, 'confirm', running)),
      outcome: () => readOutcome(outcomeFile),
      async keep(outcome) {
        await replaceFile(outcomeFile, `${JSON.stringify(outcome)}\n`)
        // The board, which tells it on its page, is another user.
        await chmod(outcomeFile, 0o644)
      },
      restart: async () => void (await callProgram(world, 'systemctl', ['reboot'])),
      pause: (ms) => sleep(ms),
      say: (line) => world.out(`${line}\n`),
    },
    { goodMs, withinMs, lookMs: LOOK_MS },
  )
  const version = runningVersion(world)
  // Not at each start: a card is worn by what is written. On a full disk the next start does it.
  if (isGood && goodVersionOf(world, running) !== version)
    await replaceFile(belowBase(world, `${GOOD_VERSION}${running}`), `${version}\n`).catch((cause) =>
      world.err(`the version of slot ${running} is not kept: ${(cause as Error).message}\n`),
    )
  return exitCodes.fine
}

function secondsOf(text: string, option: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new Fault('bad_usage', `${option} is a number of seconds, 1 to 99999`)
  return Number(text) * 1000
}

// The machine.

/** @throws Fault `slot_failed` if this machine has no slots */
async function slotsOf(world: World): Promise<{ state: BootState; running: SlotName }> {
  const state = readBootState(await callBootState(world, 'show'))
  const running = (await callBootState(world, 'get-current')).trim()
  if (state === undefined || (running !== 'A' && running !== 'B'))
    throw new Fault(
      'slot_failed',
      'the boot loader does not say which slot runs: this machine was not started from one',
    )
  return { state, running }
}

async function callBootState(world: World, ...words: string[]): Promise<string> {
  try {
    return await callProgram(world, belowBase(world, BOOT_STATE), words)
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    const why = isMissing ? 'it was not flashed with an image' : (cause as Error).message.trim()
    throw new Fault('slot_failed', `the slots of this machine cannot be read: ${why}`, { cause })
  }
}

async function callProgram({ env }: World, program: string, words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, words, { timeout: ANSWER_MS, env, encoding: 'utf8' })
  return stdout
}

function runningVersion(world: World): string {
  return imageVersion(belowBase(world, '/etc/os-release')) ?? '0.0.0'
}

/** As RAUC has noted them at each installation; of the system that the card was flashed with, as when it was last good. */
async function versionsOf(world: World): Promise<Partial<Record<SlotName, string>>> {
  const text = await callProgram(world, 'rauc', ['status', '--detailed', '--output-format=json']).catch(() => undefined)
  // What was good once may have been replaced since: without RAUC nobody knows what is there now.
  if (text === undefined) return {}
  const { slots = [] } = JSON.parse(text) as { slots?: Record<string, RaucSlot>[] }
  const known = slots
    .flatMap((one) => Object.values(one))
    .map((one) => [one.bootname, one.slot_status?.bundle?.version])
    .filter(([name, version]) => name !== undefined && version !== undefined)
  const wereGood = (['A', 'B'] as const).map((name) => [name, goodVersionOf(world, name)])
  return Object.fromEntries([...wereGood.filter(([, version]) => version !== undefined), ...known])
}

function goodVersionOf(world: World, name: SlotName): string | undefined {
  try {
    const version = readNamed(belowBase(world, `${GOOD_VERSION}${name}`))
      .toString()
      .trim()
    return isVersion(version) ? version : undefined
  } catch {
    return undefined // it never was good, or is another's file
  }
}

interface RaucSlot {
  bootname?: string
  slot_status?: { bundle?: { version?: string } }
}

/** What is not well of what is switched on. */
async function faultsOf(world: World): Promise<string[]> {
  const failed = await failedUnits(world)
  const faults = failed.map((unit) => `${unit} has failed`)
  for (const name of await enabledDaemons(world)) {
    const { unit, health } = await daemonStatus(world, name)
    if (unit !== 'active')
      faults.push(`plantroom-${name} ${unit === null ? 'is not known to systemd, or not in time' : `is ${unit}`}`)
    else if (health !== 'answers') faults.push(`plantroom-${name}: ${health}`)
  }
  return [...new Set(faults)]
}

async function failedUnits(world: World): Promise<string[]> {
  const list = await callProgram(world, 'systemctl', ['list-units', '--state=failed', '--plain', '--no-legend'])
  const names = list.split('\n').map((line) => line.trim().split(/\s+/)[0] ?? '')
  return names.filter((name) => OWN_UNITS.test(name) || NEEDED_UNITS.includes(name))
}

/** Asked first, and at once: loading the settings of a daemon takes seconds on a small board, a program half of one. */
async function enabledDaemons(world: World): Promise<string[]> {
  const names = daemonNames(world.daemonsFolder)
  const words = ['is-enabled', ...names.map((name) => `plantroom-${name}.service`)]
  // Ends with 1 if one is not enabled; a line for each all the same.
  const answer = await callProgram(world, 'systemctl', words).catch((error) => String(error.stdout ?? ''))
  const states = answer.split('\n')
  return names.filter((_, at) => states[at]?.trim() === 'enabled')
}
