/** One JSON file of a daemon's state: saved whole or not at all, with the last good version beside it. */
import { closeSync, constants, fstatSync, readFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '../clock.ts'
import type { Log } from '../log.ts'
import { Fault } from '../pure/fault.ts'
import { type Disk, makeFolder, openPlain, replaceFile, systemDisk, temporaryOf } from './whole-file.ts'

/** How a store is made. */
export interface StoreOptions<T> {
  folder: string
  /** The file is `<name>.json`. */
  name: string
  /** Checks and types what was read; throws a Fault for what it is not. */
  check(value: unknown): T
  /** The value of a store that was never saved. */
  initial(): T
  log: Log
  /** Names the time in `<name>.json.damaged-<time>`. Default: the clock of the machine. */
  clock?: Clock
  disk?: Disk
}

/** No state of ours comes near it: what is larger would be held in memory several times over. */
const LARGEST_FILE_BYTES = 67_108_864

/** What `load` found: nothing yet, the file, its backup, or that there never was one. */
export type StoreState = 'unloaded' | 'file' | 'backup' | 'initial'

/** A value that lives in a file. */
export interface Store<T> {
  /**
   * Reads the file. A damaged one is reported and set aside, and the backup takes its place.
   * @throws Fault `store_damaged` when there is a damaged file and no good backup: both stay where they are
   */
  load(): Promise<T>
  /**
   * Saves a value, as it is at the call. One save runs at a time; of those that wait only the last is written.
   * Resolves when this value or a later one is on the disk.
   * @throws Fault `store_write_failed`; the file on the disk is the one before
   */
  save(value: T): Promise<void>
  readonly state: StoreState
}

/** Makes a store; touches the disk at `load` and `save` only. */
export function createStore<T>(options: StoreOptions<T>): Store<T> {
  const path = join(options.folder, `${options.name}.json`)
  const write = (text: string) => writeState(options, path, text)
  const save = createSaver(write)
  let state: StoreState = 'unloaded'

  async function load(): Promise<T> {
    await makeFolder(options.folder)
    // Left by a crash in the middle of a save: never acknowledged, so nobody misses it.
    await rm(temporaryOf(path), { force: true })
    const found = await readState(options, path)
    state = found.state
    return found.value
  }

  return {
    load,
    save: (value) => save(`${JSON.stringify(value, null, 2)}\n`),
    get state() {
      return state
    },
  }
}

interface Waiter {
  resolve(): void
  reject(fault: unknown): void
}

/** Runs one write at a time; texts that arrive meanwhile replace each other. */
function createSaver(write: (text: string) => Promise<void>): (text: string) => Promise<void> {
  let next: { text: string; waiters: Waiter[] } | undefined
  let isWriting = false

  async function run(): Promise<void> {
    isWriting = true
    while (next) {
      const { text, waiters } = next
      next = undefined
      try {
        await write(text)
        for (const waiter of waiters) waiter.resolve()
      } catch (fault) {
        for (const waiter of waiters) waiter.reject(fault)
      }
    }
    isWriting = false
  }

  return (text) =>
    new Promise((resolve, reject) => {
      next = { text, waiters: [...(next?.waiters ?? []), { resolve, reject }] }
      // Never rejects: each outcome goes to those who wait for it.
      if (!isWriting) void run()
    })
}

async function writeState<T>(options: StoreOptions<T>, path: string, text: string): Promise<void> {
  try {
    await replaceFile(path, text, { disk: options.disk ?? systemDisk, backup: `${path}.bak` })
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    const why = code === 'ENOSPC' || code === 'EDQUOT' ? 'the disk is full' : `the disk answered ${code}`
    throw new Fault('store_write_failed', `${path} was not saved: ${why}; the version before is still there`, {
      cause: error,
      details: { errno: code },
    })
  }
}

async function readState<T>(options: StoreOptions<T>, path: string): Promise<{ value: T; state: StoreState }> {
  const { log } = options
  const main = await readChecked(path, options.check)
  if (main.isGood) return { value: main.value, state: 'file' }
  const backup = await readChecked(`${path}.bak`, options.check)
  if (!backup.isGood) {
    if (main.damage === undefined && backup.damage === undefined) return { value: options.initial(), state: 'initial' }
    const damage = main.damage ?? backup.damage
    const sentence = `${path} is damaged (${reasonOf(damage)}) and there is no good backup beside it: put a backup back with plantroom restore, or move ${path} and its .bak away to start afresh`
    throw new Fault('store_damaged', sentence, { cause: damage })
  }
  if (main.damage === undefined) {
    log.error('state file missing, its backup is used', { file: path })
  } else {
    const aside = `${path}.damaged-${timeOfName(options.clock ?? systemClock)}`
    await rename(path, aside)
    log.error('state file damaged, its backup is used', { file: path, aside, fault: main.damage })
  }
  return { value: backup.value, state: 'backup' }
}

/** A value, or why there is none; `damage` is undefined when there is no file. */
type Read<T> = { isGood: true; value: T } | { isGood: false; damage: unknown }

async function readChecked<T>(path: string, check: (value: unknown) => T): Promise<Read<T>> {
  let text: string
  try {
    text = textOf(path)
  } catch (error) {
    // A disk that cannot be read is no damaged file: nothing may be set aside on its word.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { isGood: false, damage: undefined }
    throw new Fault('store_unreadable', `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    })
  }
  try {
    return { isGood: true, value: check(parsed(text)) }
  } catch (damage) {
    return { isGood: false, damage }
  }
}

/** @throws the error of the disk; EFBIG for what no daemon has written */
function textOf(path: string): string {
  const descriptor = openPlain(path, constants.O_RDONLY)
  try {
    if (fstatSync(descriptor).size > LARGEST_FILE_BYTES)
      throw Object.assign(new Error(`EFBIG: ${path} is too large`), { code: 'EFBIG' })
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}

/** @throws Fault `store_damaged` with the place alone: the parser's own sentence quotes what stands there, such as a secret */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const place = /position \d+/.exec((error as Error).message)?.[0]
    throw new Fault('store_damaged', place === undefined ? 'it is no JSON' : `it is no JSON at ${place}`)
  }
}

function reasonOf(damage: unknown): string {
  return damage instanceof Error ? damage.message : String(damage)
}

/** 20251121T015200Z: sorts, and is a file name everywhere. */
function timeOfName(clock: Clock): string {
  return new Date(clock.epochMs()).toISOString().replace(/[-:]|\.\d+/g, '')
}
