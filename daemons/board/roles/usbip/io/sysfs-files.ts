/** Small files and folders of sysfs; what is not there, or goes while it is read, reads as nothing. */
import { readdir, readFile, readlink, realpath } from 'node:fs/promises'
import { basename } from 'node:path'

/** What a device that goes away, or a driver that lets go, makes of a read. */
const GONE = new Set(['ENOENT', 'ENODEV', 'ENXIO', 'EIO', 'ENOTDIR', 'EINVAL', 'EACCES'])

async function orNothing<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading
  } catch (error) {
    if (GONE.has((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

/** @returns the text without its line end; null where it is not there or empty */
export async function attribute(path: string): Promise<string | null> {
  const text = await orNothing(readFile(path, 'utf8'))
  return text?.trim() || null
}

/** @returns 0 where it is not there or no number: what an unconfigured device has */
export async function number(path: string, base: 10 | 16): Promise<number> {
  const value = Number.parseInt((await attribute(path)) ?? '', base)
  return Number.isNaN(value) ? 0 : value
}

/** @returns names; none where there is no such folder */
export async function names(path: string): Promise<string[]> {
  return (await orNothing(readdir(path))) ?? []
}

/** @returns the name that a link leads to */
export async function linkedName(path: string): Promise<string | null> {
  const target = await orNothing(readlink(path))
  return target === null ? null : basename(target)
}

/** @returns the path without links */
export async function realPath(path: string): Promise<string | null> {
  return await orNothing(realpath(path))
}
