/**
 * Puts another state in the place of the present one, as a whole or not at all, whenever the power is cut: it is
 * prepared in a folder inside of the state folder, a plan is written, and whoever locks the state folder next does what
 * the plan says. What was there is kept, and can be put back in the same way.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../pure/fault.ts'

/** The lock file; empty, and never removed, since a removed one can be locked twice. */
export const LOCK_FILE = 'daemon.lock'

/** The folder inside of the state folder; none of it is in a backup. */
export const RESTORE_FOLDER = 'restore'

/** What is in it: the state to come, what is taken out, and what was there before the last restore. */
const [NEW, OUT, BEFORE] = ['new', 'out', 'before']
/** What is to be done, and what was done last. */
const [PLAN, DONE] = ['plan.json', 'done.json']

/** Who puts which state in place. */
const restoreNote = Type.Object(
  {
    by: Type.String({ description: 'who asked for it' }),
    at: Type.Integer({ description: 'when, epoch ms' }),
    what: Type.Union([Type.Literal('backup'), Type.Literal('undo')]),
    /** Of the backup, or of what is put back: epoch ms. */
    madeAt: Type.Integer(),
    /** Whether the daemon has written it into its journal. */
    isTold: Type.Boolean(),
  },
  { additionalProperties: false },
)

/** Who put which state in place. */
export type RestoreNote = Static<typeof restoreNote>

/** `take`: the state to come is the former one; `out`: the present state leaves; `in`: the other takes its place. */
const plan = Type.Object(
  { phase: Type.Union([Type.Literal('take'), Type.Literal('out'), Type.Literal('in')]), note: restoreNote },
  { additionalProperties: false },
)
type Plan = Static<typeof plan>

/** Every change that is made on the disk, so that a test can cut the power before any of them. */
export interface SwapDisk {
  rename(from: string, to: string): void
  write(path: string, text: string): void
  remove(path: string): void
}

const systemSwap: SwapDisk = {
  rename: renameSync,
  write(path, text) {
    writeFileSync(`${path}.tmp`, text, { mode: 0o600, flush: true })
    renameSync(`${path}.tmp`, path)
  },
  remove: (path) => rmSync(path, { recursive: true, force: true }),
}

/**
 * Makes an empty folder for a state to come, in place of one that was prepared before.
 * @returns its path
 */
export function makeNewState(folder: string): string {
  const path = join(workFolder(folder), NEW)
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { mode: 0o700 })
  return path
}

/** The folder for what is prepared: uploads, copies, the state to come. Made if it is missing. */
export function workFolder(folder: string): string {
  const path = join(folder, RESTORE_FOLDER)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}

/**
 * Decides that the prepared state, or the former one, takes the place of the present one: from here on there is no way
 * back but another restore. `finishRestore` does it, at the next start at the latest.
 * @throws Fault `nothing_to_undo`
 */
export function commitRestore(folder: string, note: Omit<RestoreNote, 'isTold'>, disk: SwapDisk = systemSwap): void {
  const work = workFolder(folder)
  if (note.what === 'undo' && !existsSync(join(work, BEFORE)))
    throw new Fault('nothing_to_undo', 'Nothing was put in place here that could be taken back.')
  syncTree(join(work, note.what === 'undo' ? BEFORE : NEW))
  const phase = note.what === 'undo' ? 'take' : 'out'
  writePlan(work, { phase, note: { ...note, isTold: false } }, disk)
}

/** Removes what was sent, made or prepared, and not decided on. */
export function dropDrafts(folder: string): void {
  const work = join(folder, RESTORE_FOLDER)
  if (existsSync(work) && !existsSync(join(work, PLAN))) removeDrafts(work, systemSwap)
}

/**
 * For whoever reads the state without its lock: it is one state throughout if two calls return the same.
 * @returns when the last restore was asked for, epoch ms
 * @throws Fault `backup_failed` where one is decided on and not finished: part of either state may be there
 */
export function lastRestoreAt(folder: string): number | undefined {
  const work = join(folder, RESTORE_FOLDER)
  if (existsSync(join(work, PLAN)))
    throw new Fault(
      'backup_failed',
      `${folder}: a restore is not finished there, so it may hold part of two states: start the daemon, then try again`,
    )
  return readNote(work)?.at
}

/** The former state, if there is one. @returns who replaced it, and by what */
export function formerState(folder: string): RestoreNote | undefined {
  const work = join(folder, RESTORE_FOLDER)
  return existsSync(join(work, BEFORE)) ? readNote(work) : undefined
}

/** @returns the last restore, if the daemon has not told it yet; the next call returns undefined */
export function takeRestoreNote(folder: string): RestoreNote | undefined {
  const work = join(folder, RESTORE_FOLDER)
  const note = readNote(work)
  if (note === undefined || note.isTold) return undefined
  systemSwap.write(join(work, DONE), JSON.stringify({ ...note, isTold: true }))
  return note
}

/**
 * Goes on where a restore was cut off, or removes what was only prepared. Call it with the folder locked, before
 * anything in it is opened.
 * @throws Fault `restore_unfinished`: the next call goes on
 */
export function finishRestore(folder: string, disk: SwapDisk = systemSwap): void {
  const work = join(folder, RESTORE_FOLDER)
  if (!existsSync(work)) return
  const begun = readPlan(work)
  try {
    if (begun === undefined) removeDrafts(work, disk)
    else swap(folder, begun, disk)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === undefined) throw cause
    throw new Fault(
      'restore_unfinished',
      `${folder}: a restore could not be finished (${code}); it goes on at the next start`,
      { cause },
    )
  }
}

/** Each phase can be repeated from its beginning, however much of it was done. */
function swap(folder: string, { phase, note }: Plan, disk: SwapDisk): void {
  const [work, fresh, out, before] = ['', NEW, OUT, BEFORE].map((name) => join(folder, RESTORE_FOLDER, name)) as [
    string,
    string,
    string,
    string,
  ]
  if (phase === 'take') {
    if (existsSync(before)) {
      disk.remove(fresh)
      disk.rename(before, fresh)
    }
    writePlan(work, { phase: 'out', note }, disk)
  }
  if (phase !== 'in') {
    mkdirSync(out, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(folder))
      if (name !== LOCK_FILE && name !== RESTORE_FOLDER) disk.rename(join(folder, name), join(out, name))
    sync(out)
    sync(folder)
    writePlan(work, { phase: 'in', note }, disk)
  }
  if (existsSync(fresh)) {
    for (const name of readdirSync(fresh)) disk.rename(join(fresh, name), join(folder, name))
    sync(fresh)
    sync(folder)
  }
  if (existsSync(out)) {
    disk.remove(before)
    disk.rename(out, before)
  }
  disk.write(join(work, DONE), JSON.stringify(note))
  disk.remove(join(work, PLAN))
  removeDrafts(work, disk)
  sync(work)
}

function removeDrafts(work: string, disk: SwapDisk): void {
  for (const name of readdirSync(work)) if (name !== BEFORE && name !== DONE) disk.remove(join(work, name))
}

function writePlan(work: string, next: Plan, disk: SwapDisk): void {
  disk.write(join(work, PLAN), JSON.stringify(next))
  sync(work)
}

function readPlan(work: string): Plan | undefined {
  const found = readJson(join(work, PLAN))
  if (found === undefined) return undefined
  if (Value.Check(plan, found)) return found
  throw new Fault('restore_unfinished', `${join(work, PLAN)} is no plan of a restore: move it away`)
}

function readNote(work: string): RestoreNote | undefined {
  const found = readJson(join(work, DONE))
  return Value.Check(restoreNote, found) ? found : undefined
}

/** @returns undefined if there is no such file, null if it is not JSON */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : null
  }
}

/** Files were made durable when they were unpacked; their names are by their folders. */
function syncTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) syncTree(join(folder, entry.name))
  sync(folder)
}

function sync(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
