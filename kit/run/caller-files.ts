/**
 * Files that whoever typed a command named. They are his: read and written with his rights, although the command acts as the
 * owner of the state folder. As root he runs the command as another process, which is handed them open (scripts/cli/as-owner.ts).
 */
import { randomBytes } from 'node:crypto'
import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { syncFolder, systemDisk } from '#kit/store/whole-file.ts'
import type { Owner } from './folder-owner.ts'

/** What a command does with files; paths as they were typed. */
export interface StateUse {
  /** The daemon whose program the command needs besides its own. */
  daemon?: string
  /** Of the daemon; absolute. */
  folder: string
  /** Whether it is made where it is not there. */
  makes: boolean
  /** Files of the caller that are read, each only where it is there. */
  reads?: readonly string[]
  /** A file of the caller that is replaced whole. */
  writes?: string
  /** Whether the folder is replaced by another, as by a restore. */
  replaces?: boolean
}

/** What a process is handed that acts as the owner of a state folder; descriptors by number. */
export interface Handed {
  owner: Owner
  reads: Readonly<Record<string, number>>
  writes: number | undefined
  /** An empty folder beside the state folder, the owner's: what is to take its place. */
  fresh: string | undefined
}

/** Carries it, as JSON: each bundle of a process reads it by itself. Made by root for a child of its own. */
export const HANDED_VARIABLE = 'PLANTROOM_HANDED'

/** Undefined where this process acts as who called it. */
export function handed(): Handed | undefined {
  const text = process.env[HANDED_VARIABLE]
  return text === undefined ? undefined : (JSON.parse(text) as Handed)
}

/** Opens a file of the caller to be read; whoever opens it closes it. @throws the error of open(2) */
export function openToRead(path: string): number {
  return handed()?.reads[resolve(path)] ?? openSync(path, 'r')
}

/**
 * Writes a file of the caller, which takes its name when it is whole, is nobody else's to read, and is new: no link in its place
 * is followed.
 * @param write gets a descriptor; false where nothing came of it, and what was there stays
 * @throws the error of the call that failed
 */
export async function writeWhole(path: string, write: (descriptor: number) => Promise<boolean>): Promise<void> {
  const given = handed()?.writes
  if (given !== undefined) {
    await write(given)
    return
  }
  // A name that nobody can guess: in /tmp another may have made one of those that can be.
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  const descriptor = openSync(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    if (!(await write(descriptor))) return
    fsyncSync(descriptor)
    renameSync(draft, path)
    await syncFolder(systemDisk, dirname(path))
  } finally {
    closeSync(descriptor)
    rmSync(draft, { force: true })
  }
}
