/** Disks that keep footage: how each is, which takes the next file, and which file goes first. */
import { Fault } from '#kit/pure/fault.ts'

// The life of a disk: state x event -> next state.

/**
 * - `unseen` nobody has looked yet
 * - `here` it is written and read
 * - `full` it is read; there is no room to write
 * - `failing` it refuses to be written; what it still reads is read
 * - `stuck` it does not answer
 * - `away` its folder has no marker: the disk is not mounted
 * - `foreign` its folder has the marker of another disk
 */
export type DiskState = 'unseen' | 'here' | 'full' | 'failing' | 'stuck' | 'away' | 'foreign'

/**
 * - `answered` it was written and read, and has room
 * - `filled` it has no room
 * - `refused` a call on it failed
 * - `overdue` it has not answered in time
 * - `missing` there is no marker
 * - `mistaken` the marker is another one
 */
export type DiskEvent = 'answered' | 'filled' | 'refused' | 'overdue' | 'missing' | 'mistaken'

const seen = { filled: 'full', refused: 'failing', missing: 'away', mistaken: 'foreign' } as const

/** A pair that is not listed does not change the state. */
export const diskStateTable: Readonly<Record<DiskState, Partial<Record<DiskEvent, DiskState>>>> = {
  unseen: { ...seen, answered: 'here', overdue: 'stuck' },
  here: { ...seen, overdue: 'stuck' },
  full: { ...seen, answered: 'here', overdue: 'stuck' },
  failing: { ...seen, answered: 'here', overdue: 'stuck' },
  stuck: { ...seen, answered: 'here' },
  // A call that still hangs on what is gone says nothing new.
  away: { ...seen, answered: 'here' },
  foreign: { ...seen, answered: 'here' },
}

/** Whether footage on it can be read now. */
export function isReadable(state: DiskState): boolean {
  return state === 'here' || state === 'full' || state === 'failing'
}

/** A disk as readers see it. Times are epoch milliseconds. */
export interface DiskHealth {
  /** Its marker; null until it has been seen once. */
  id: string | null
  folder: string
  state: DiskState
  stateSince: number
  /** What is wrong and what to do; null while nothing is. */
  fault: { code: string; message: string } | null
  /** Null where it has not been seen. */
  sizeBytes: number | null
  freeBytes: number | null
  /** What may be written before the oldest footage has to go. */
  roomBytes: number
  footageBytes: number
}

/** What the rules ask of a disk. */
interface Room {
  state: DiskState
  /** Above its floor. */
  roomBytes: number
  /** Where its oldest footage begins that may go; undefined without any. */
  oldestAt: number | undefined
}

/**
 * The disk for the next file: the one with most room; where none has any, the one with the oldest footage, which is
 * what goes first.
 */
export function diskForNext<Disk extends Room>(disks: readonly Disk[]): Disk | undefined {
  const ready = disks.filter(({ state }) => state === 'here')
  const roomy = ready.filter(({ roomBytes }) => roomBytes > 0).toSorted((a, b) => b.roomBytes - a.roomBytes)
  const never = Number.POSITIVE_INFINITY
  return roomy[0] ?? ready.toSorted((a, b) => (a.oldestAt ?? never) - (b.oldestAt ?? never))[0]
}

/** A disk without that much room is full: less than what a few groups take, or a tenth of a small one. */
const LEAST_ROOM_BYTES = 33_554_432

/** What stays free on a disk. @param freeBytes key `storage.free_bytes` */
export function floorOf(freeBytes: number, sizeBytes: number): number {
  return Math.max(freeBytes, Math.min(LEAST_ROOM_BYTES, sizeBytes / 10))
}

/** @returns undefined between full and not full: it stays what it was */
export function eventOfRoom(freeBytes: number, sizeBytes: number): 'answered' | 'filled' | undefined {
  const least = Math.min(LEAST_ROOM_BYTES, sizeBytes / 10)
  if (freeBytes < least / 2) return 'filled'
  return freeBytes >= least ? 'answered' : undefined
}

/** What is wrong with a disk in a state, for who looks after it. @param why the name of the error, such as EIO */
export function faultOfDisk(folder: string, state: DiskState, why: string): Fault | undefined {
  if (state === 'full')
    return new Fault('disk_full', `The disk of ${folder} is full. Make room, or lower what is kept.`)
  if (state === 'stuck')
    return new Fault('disk_stuck', `The disk of ${folder} does not answer. Look at its cable and its power.`)
  if (state === 'away')
    return new Fault(
      'disk_away',
      `There is no disk of footage at ${folder}. Plug it in and mount it; it is used again by itself.`,
    )
  if (state === 'foreign')
    return new Fault(
      'disk_foreign',
      `At ${folder} is another disk than before. It is not written; mount the right one.`,
    )
  if (state !== 'failing') return undefined
  const remedy = why === 'EROFS' ? 'It is read-only: check it, or allow the folder by ReadWritePaths.' : 'Look at it.'
  return new Fault('disk_failing', `The disk of ${folder} cannot be written (${why}). ${remedy}`)
}
