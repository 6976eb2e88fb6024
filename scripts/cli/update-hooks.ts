/** What an update needs of this machine: systemd, and the commands `backup` and `restore` for each daemon. */
import { execFile } from 'node:child_process'
import { closeSync, constants, existsSync, lstatSync, readdirSync, readSync, statSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { type Health, sentenceOf, type UpdateHooks } from '#kit/release/switch.ts'
import { makeFolder, openPlain, replaceFile } from '#kit/store/store.ts'
import type { World } from './command.ts'
import { daemonNames } from './daemons.ts'
import { daemonStatus } from './status.ts'

/** How long a command may take: the largest state, on the slowest card. */
const COMMAND_MS = 600_000
/** The forms of the states when they were backed up, beside the backups. */
const FORMS = 'forms.json'

interface Place {
  /** The folder with `current`; undefined on a board, whose programs and units come with its image. */
  root: string | undefined
  /** The state of updates: backups are below it. */
  state: string
  /** Backups of so many updates are kept. */
  kept: number
  /** The state folder of a daemon. */
  stateOf(daemon: string): string
  /** Where the controller tells that no macro runs; how long to wait for that. */
  quietSocket: string
  macroWaitMs: number
}

export function updateHooks(
  world: World,
  { kept, macroWaitMs, quietSocket, root, state, stateOf }: Place,
): UpdateHooks {
  const backups = join(state, 'backups')
  const systemctl = async (verb: string, daemon: string) => {
    await callProgram(world, 'systemctl', [verb, unitOf(daemon)])
  }
  /** The release that `current` names: after a roll-back the one of before. */
  const programs = root === undefined ? world.daemonsFolder : join(root, 'current')
  const plantroom = (...words: string[]) =>
    callProgram(world, process.execPath, [join(programs, 'plantroom.mjs'), ...words])

  return {
    async activeDaemons() {
      const active = await Promise.all(
        daemonNames(world.daemonsFolder).map(async (name) => ((await isActive(world, name)) ? [name] : [])),
      )
      return active.flat()
    },
    async backup(daemons, { from, to }) {
      if (daemons.length === 0) return null
      const folder = join(backups, `${from}-to-${to}`)
      await rm(folder, { recursive: true, force: true })
      await makeFolder(folder)
      const forms: Record<string, Record<string, number>> = {}
      for (const daemon of daemons) {
        await plantroom('backup', daemon, join(folder, `${daemon}.backup`))
        forms[daemon] = formsOf(stateOf(daemon)).forms
      }
      await replaceFile(join(folder, FORMS), JSON.stringify(forms))
      await prune(backups, kept, basename(folder))
      return folder
    },
    hold: (daemons, say) =>
      daemons.includes('controller') && quietSocket !== ''
        ? holdMacros(quietSocket, { waitMs: macroWaitMs, say })
        : Promise.resolve({ release: () => {} }),
    async restart(daemons) {
      if (root !== undefined) await plantroom('units')
      for (const daemon of daemons) await restartOne(world, daemon)
    },
    async health(daemons, version) {
      const all = await Promise.all(daemons.map((daemon) => healthOf(world, daemon, version)))
      return (
        all.find(({ state: one }) => one === 'dead') ??
        all.find(({ state: one }) => one === 'unwell') ?? { state: 'well', why: '', upMs: youngestOf(all) }
      )
    },
    async restore(folder, daemons) {
      const before = JSON.parse(await readFile(join(folder, FORMS), 'utf8')) as Record<string, Record<string, number>>
      for (const daemon of daemons) {
        await systemctl('stop', daemon)
        if (hasMoved(stateOf(daemon), before[daemon] ?? {}))
          await plantroom('restore', daemon, join(folder, `${daemon}.backup`))
      }
    },
  }
}

/** A line is `busy` or `quiet`; whoever sends others is not believed for longer than the wait. */
const LONGEST_LINE = 64

/**
 * Waits until the controller tells that no macro runs, and begins none while the connection is open. It is only listened
 * to: its user could have put the socket of another program there, which must hear nothing from root.
 * @throws Fault `update_put_off`
 */
async function holdMacros(path: string, { waitMs, say }: { waitMs: number; say(sentence: string): void }) {
  const socket = connect({ path })
  const release = () => void socket.destroy()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let text = ''
  let isTold = false
  const late = setTimeout(() => {
    const text = `macros ran for all of the ${durationText(waitMs)} that an update waits for them (update.macro_wait_ms): nothing was changed, try again later; plantroom update --yes --set update.quiet_socket= waits for none`
    reject(new Fault('update_put_off', text))
  }, waitMs)
  // A controller that is not there, or ends, runs no macro.
  socket.on('error', () => resolve())
  socket.on('close', () => resolve())
  socket.setEncoding('latin1').on('data', (piece) => {
    const lines = (text + piece).split('\n')
    text = (lines.pop() ?? '').slice(-LONGEST_LINE)
    const line = lines.at(-1)
    if (line === 'quiet') resolve()
    else if (line === 'busy' && !isTold) {
      isTold = true
      say(`a macro runs: the update waits for its end, at most ${durationText(waitMs)}`)
    }
  })
  try {
    await promise
    return { release }
  } catch (fault) {
    release()
    throw fault
  } finally {
    clearTimeout(late)
  }
}

function unitOf(daemon: string): string {
  return `plantroom-${daemon}.service`
}

/** Runs a program. @returns what it wrote. @throws with the last line that it said */
export async function callProgram({ env }: World, program: string, words: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(program, words, { env, timeout: COMMAND_MS })).stdout
  } catch (cause) {
    const { code, stderr = '' } = cause as { code?: string | number; stderr?: string }
    const last = stderr.trim().split('\n').at(-1)
    throw new Error(`${[program, ...words].join(' ')} ended with ${code}${last ? `: ${last}` : ''}`, { cause })
  }
}

async function isActive(world: World, daemon: string): Promise<boolean> {
  try {
    return (await callProgram(world, 'systemctl', ['is-active', unitOf(daemon)])).trim() === 'active'
  } catch {
    return false
  }
}

/** @throws with what systemd saw, such as exit-code or timeout: it is told to the update server, which has no journal of ours */
async function restartOne(world: World, daemon: string): Promise<void> {
  const unit = unitOf(daemon)
  try {
    await callProgram(world, 'systemctl', ['restart', unit])
  } catch (cause) {
    const result = await callProgram(world, 'systemctl', ['show', '--property=Result', '--value', unit])
    throw new Error(`${daemon} does not start (${result.trim()}): journalctl -u ${unit}`, { cause })
  }
}

/** Since somebody started it: what ends by itself within minutes is not left to run. */
async function hasFallen(world: World, daemon: string): Promise<boolean> {
  const said = await callProgram(world, 'systemctl', ['show', '--property=NRestarts', '--value', unitOf(daemon)])
  return Number(said.trim()) > 0
}

function youngestOf(all: readonly Health[]): number | null {
  const known = all.flatMap(({ upMs }) => upMs ?? [])
  return known.length === 0 ? null : Math.min(...known)
}

async function healthOf(world: World, daemon: string, version: string): Promise<Health> {
  try {
    const { health, unit, uptimeMs: upMs, version: own } = await daemonStatus(world, daemon)
    const dead = (why: string) => ({ state: 'dead' as const, why: `${why}: journalctl -u ${unitOf(daemon)}`, upMs })
    if (unit === 'failed') return dead(`${daemon} has ended`)
    if (await hasFallen(world, daemon)) return dead(`${daemon} ended by itself, and was started again`)
    // Some tell their version only to whoever signs in.
    if (health === 'answers' && unit === 'active' && (own === null || own === version))
      return { state: 'well', why: '', upMs }
    const seen = health === 'answers' ? `it is ${unit ?? 'in no unit'} and runs ${own}` : health
    return { state: 'unwell', why: `${daemon}: ${seen}, expected ${version} to answer`, upMs }
  } catch (cause) {
    return { state: 'unwell', why: `${daemon}: ${sentenceOf(cause)}`, upMs: null }
  }
}

/**
 * Names sort by the version that was left, and so not by age: the time of the folder says it. That which was made now stays,
 * whatever the clock of a machine that has none of its own says.
 */
async function prune(backups: string, kept: number, made: string): Promise<void> {
  const others = (await readdir(backups)).filter((name) => name !== made)
  const byAge = others.sort((one, other) => ageOf(join(backups, other)) - ageOf(join(backups, one)))
  for (const name of byAge.slice(kept - 1)) await rm(join(backups, name), { recursive: true, force: true })
}

function ageOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

// Which form a state has: databases say it in their header.

/** @source SQLite, Database File Format, 1.3: user version, big-endian */
const USER_VERSION_AT = 60

/**
 * The user version of each database of a state; whether one has changes that are not in its file yet. The folder is its
 * daemon's: a link, a pipe or a device there is no database, and is not opened by root.
 */
function formsOf(folder: string): { forms: Record<string, number>; hasLog: boolean } {
  const forms: Record<string, number> = {}
  const files = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }).filter((one) => one.isFile()) : []
  const names = files.map(({ name }) => name)
  for (const name of names.filter((one) => one.endsWith('.db'))) {
    const header = Buffer.alloc(USER_VERSION_AT + 4)
    const file = openPlain(join(folder, name), constants.O_RDONLY)
    try {
      readSync(file, header, 0, header.length, 0)
    } finally {
      closeSync(file)
    }
    forms[name] = header.readUInt32BE(USER_VERSION_AT)
  }
  const hasLog = names.some(
    (name) => name.endsWith('.db-wal') && (lstatSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0) > 0,
  )
  return { forms, hasLog }
}

/** A daemon that was stopped has written all into the file; one that was killed may have changed its form in the log. */
function hasMoved(folder: string, before: Readonly<Record<string, number>>): boolean {
  const { forms, hasLog } = formsOf(folder)
  return hasLog || Object.entries(forms).some(([name, form]) => before[name] !== undefined && before[name] !== form)
}
