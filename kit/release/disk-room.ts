/** Whether a disk has room for an update, and what is said if not. */
import { statfs } from 'node:fs/promises'
import { Fault } from '../pure/fault.ts'

/** Whether a call of the disk failed for want of room. */
export function isDiskFull(cause: unknown): boolean {
  const { code } = cause as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** @throws Fault `update_disk_full` if fewer bytes are free where the folder is */
export async function requireRoom(folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < neededBytes) throw diskFull(folder, neededBytes - bavail * bsize)
}

/** The fault of a full disk. @param missingBytes how much more room is needed */
export function diskFull(folder: string, missingBytes: number, cause?: unknown): Fault {
  const missing = `${(Math.ceil(missingBytes / 1e5) / 10).toFixed(1)} MB`
  return new Fault(
    'update_disk_full',
    `the disk of ${folder} has no room for the update: ${missing} more are needed. Make room there; what runs stays as it is.`,
    { cause, details: { missingBytes } },
  )
}
