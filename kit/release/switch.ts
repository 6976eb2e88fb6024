/**
 * From one release to another: swap the links, restart, watch, and go back where the new one is not well. Each step is
 * written down before it is begun (`pending.json`), so that whoever comes after a cut goes on from there.
 */
import type { Clock } from '../clock.ts'
import { Fault } from '../pure/fault.ts'
import { durationText } from '../pure/text.ts'
import { isDiskFull } from './disk-room.ts'
import { type Installed, releaseFolder } from './installed.ts'
import { type Pending, reasonOf, type UpdateMemory } from './update-memory.ts'
import type { UpdateSettings } from './update-settings.ts'

/** How the daemons of a release are. */
export interface Health {
  /** well: all answer, with the new version. unwell: one does not, yet. dead: one has ended, and will not come back. */
  state: 'well' | 'unwell' | 'dead'
  /** Which one, and what was seen. */
  why: string
  /** How long the one that was started last has run; null where nobody knows. */
  upMs: number | null
}

/** What only the caller can do. Each may be called again for the same release, after a cut. */
export interface UpdateHooks {
  /** Daemons that run now, by name: they are to run afterwards. */
  activeDaemons(): Promise<string[]>
  /** Copies their states. @returns where to, at most 1000 characters; null for nothing to copy */
  backup(daemons: readonly string[], about: { from: string; to: string }): Promise<string | null>
  /**
   * Installs what a release needs beside its files, into its folder, with the scripts of packages switched off; all of it on
   * the disk for good. Left out where a release needs nothing.
   */
  dependencies?(folder: string): Promise<void>
  /**
   * Waits until no daemon does what a restart would cut, such as a macro, and keeps more of it from beginning until it is
   * released: for seconds, since daemons hold it back no longer.
   * @throws Fault `update_put_off` if it does not end in the time that the settings allow
   */
  hold(daemons: readonly string[], say: (sentence: string) => void): Promise<{ release(): void }>
  /**
   * Restarts what does not run the release that `current` names. May end this very process: whoever starts then calls
   * `settleUpdate`.
   */
  restart(daemons: readonly string[]): Promise<void>
  health(daemons: readonly string[], version: string): Promise<Health>
  /** Puts the copies back where the new release has changed the form of a state; `restart` follows. */
  restore(backup: string, daemons: readonly string[]): Promise<void>
}

/** The steps, in order, as they are told to the update server. */
export type UpdateStep =
  | ('check' | 'backup' | 'download' | 'verify' | 'unpack' | 'dependencies')
  | ('runtime' | 'swap' | 'restart' | 'prove' | 'undo')
  /** Of an image, in the place of those between `verify` and `prove`. */
  | 'install'

export interface SwitchParts {
  installed: Installed
  memory: UpdateMemory
  hooks: UpdateHooks
  settings: Pick<UpdateSettings, 'probation_ms' | 'probe_ms' | 'unwell_ms' | 'tries'>
  clock: Clock
  /** Told each thing that happens, as a sentence for the log. */
  say(sentence: string, step: UpdateStep): void
}

/** What came of it. */
export type Switched =
  | { outcome: 'applied'; version: string; from: string }
  | { outcome: 'rolled_back'; version: string; to: string; step: string; reason: string }

/** What came of an update, or of a look for one. */
export type UpdateOutcome =
  | Switched
  /** Nothing newer is offered. */
  | { outcome: 'current'; version: string }
  /** A check alone found one. `window`: hours in which to apply it, HH:MM-HH:MM. */
  | { outcome: 'available'; version: string; from: string; window: string | undefined }
  /** The one that is offered was taken back before, or could not be unpacked. */
  | { outcome: 'bad'; version: string; from: string; reason: string }

/** Goes on from where the update under way is. @param pending in any phase but `fetching`; saved */
export async function finishSwitch(parts: SwitchParts, pending: Pending): Promise<Switched> {
  const { hooks, installed, memory, say, settings } = parts
  if (pending.phase === 'undoing' || pending.phase === 'undone') return await undo(parts, pending)
  if (pending.tries >= settings.tries)
    return await undo(parts, {
      ...pending,
      step: 'restart',
      reason: `it was started ${pending.tries} times, and cut off each time`,
    })
  const begun: Pending = { ...pending, tries: pending.tries + 1 }
  const { daemons, from_version: from, version } = begun
  const swapped = begun.phase === 'swapping' ? await swapLinks(parts, begun) : begun
  if (swapped === begun) await saveIfRoom(memory, begun)
  if (swapped.phase === 'restarting') {
    try {
      say(`restarting ${daemons.join(', ') || 'nothing, as no daemon runs'}`, 'restart')
      await hooks.restart(daemons)
    } catch (cause) {
      return await undo(parts, { ...swapped, step: 'restart', reason: sentenceOf(cause) })
    }
    await saveIfRoom(memory, { ...swapped, phase: 'proving' })
  }
  const why = await prove(parts, swapped)
  if (why !== undefined) return await undo(parts, { ...swapped, step: 'prove', reason: why })
  // Frees the room that what follows may need.
  await installed.prune()
  await evenIfFull(memory.remember({ report: { applied: version } }))
  await memory.clearPending()
  say(`${version} is applied`, 'prove')
  return { outcome: 'applied', version, from }
}

/** @throws what went wrong; then all is as before, and no daemon has noticed */
async function swapLinks({ installed, memory, say }: SwitchParts, pending: Pending): Promise<Pending> {
  const { before, from, version } = pending
  const next: Pending = { ...pending, phase: 'restarting' }
  try {
    await installed.swap({ from, to: releaseFolder(pending) })
    await memory.savePending(next)
  } catch (fault) {
    await installed.swapBack({ from, before: before ?? undefined })
    throw fault
  }
  say(`${version} is in the place of ${pending.from_version}`, 'swap')
  return next
}

/** A release gets the probation so many times: after each silence, and each start of a daemon, it begins anew. */
const MOST_PROBATIONS = 3

/** Watches the daemons of a new release. @returns why it is taken back; undefined if it stays */
async function prove({ clock, hooks, say, settings }: SwitchParts, { daemons, version }: Pending) {
  const { probation_ms: probationMs, probe_ms: probeMs, unwell_ms: unwellMs } = settings
  const begunMs = clock.monotonicMs()
  let unwellSinceMs: number | undefined = begunMs
  let wellSinceMs = begunMs
  let isTold = false
  for (;;) {
    const { state, upMs, why } = await healthOf(hooks, daemons, version)
    const nowMs = clock.monotonicMs()
    if (state === 'dead') return reasonOf(why)
    if (state === 'well') {
      if (unwellSinceMs !== undefined) wellSinceMs = nowMs
      unwellSinceMs = undefined
      // It may have ended and been started again between two looks.
      if (upMs !== null) wellSinceMs = Math.max(wellSinceMs, nowMs - upMs)
    } else unwellSinceMs ??= nowMs
    if (unwellSinceMs !== undefined && nowMs - unwellSinceMs >= unwellMs) return reasonOf(why)
    if (unwellSinceMs === undefined && nowMs - wellSinceMs >= probationMs) return undefined
    if (nowMs - begunMs >= unwellMs + MOST_PROBATIONS * probationMs)
      return reasonOf(why || `its daemons were started again and again, and never ran for ${durationText(probationMs)}`)
    if (unwellSinceMs === undefined && !isTold) {
      say(`${version} answers; it is watched for ${Math.ceil(probationMs / 1000)} s`, 'prove')
      isTold = true
    }
    await new Promise<void>((resolve) => clock.after(probeMs, resolve))
  }
}

async function healthOf(hooks: UpdateHooks, daemons: readonly string[], version: string): Promise<Health> {
  try {
    return await hooks.health(daemons, version)
  } catch (cause) {
    return { state: 'unwell', why: sentenceOf(cause), upMs: null }
  }
}

/** Takes a release back. The links go first, and need no room on the disk. */
async function undo(parts: SwitchParts, pending: Pending): Promise<Switched> {
  const { clock, hooks, installed, memory, say } = parts
  const { backup, daemons, from, from_version: to, version } = pending
  const { reason = 'the reason was not kept', step = 'prove' } = pending
  say(`${version} is taken back: ${reason}`, 'undo')
  if (pending.phase !== 'undone') {
    await saveIfRoom(memory, { ...pending, phase: 'undoing' })
    await installed.swapBack({ from, before: pending.before ?? undefined })
    if (backup !== null) await restore(parts, backup, daemons)
    await saveIfRoom(memory, { ...pending, phase: 'undone' })
  }
  await hooks.restart(daemons)
  // Frees the room that what follows may need.
  await installed.prune()
  await memory.remember({
    report: { rolled_back: version, failed_step: step, reason: reasonOf(reason) },
    bad: { version, reason: reasonOf(reason), at: clock.epochMs() },
  })
  await memory.clearPending()
  say(`${to} runs again; ${version} is not tried again`, 'undo')
  return { outcome: 'rolled_back', version, to, step, reason }
}

/** What ran before is to run again, whether or not its state can be put back. */
async function restore({ hooks, say }: SwitchParts, backup: string, daemons: readonly string[]): Promise<void> {
  try {
    await hooks.restore(backup, daemons)
  } catch (cause) {
    say(`the backup ${backup} could not be put back (${sentenceOf(cause)}): put it back by hand`, 'undo')
  }
}

function saveIfRoom(memory: UpdateMemory, pending: Pending): Promise<void> {
  return evenIfFull(memory.savePending(pending))
}

/** What runs does not depend on it: it must not fail for want of room to write it down. */
async function evenIfFull(written: Promise<void>): Promise<void> {
  try {
    await written
  } catch (cause) {
    if (!isDiskFull(cause)) throw cause
  }
}

/** What went wrong, in words that are kept. */
export function sentenceOf(cause: unknown): string {
  if (cause instanceof Fault) return reasonOf(cause.message)
  const { code, syscall, message } = cause as NodeJS.ErrnoException
  return reasonOf(syscall === undefined ? message : `the disk answered ${code} to ${syscall}`)
}
