/** A file of records, one to a line: read past any damage, appended to durably. */
import { closeSync, constants, fstatSync, fsync, ftruncateSync, readSync, writeFile } from 'node:fs'
import { promisify } from 'node:util'
import type { Log } from '../log.ts'
import { Fault } from '../pure/fault.ts'
import { openPlain } from '../store/store.ts'

/** Our records never get near this size; a longer file would be held in memory several times over. */
const LARGEST_FILE_BYTES = 268_435_456

/**
 * Whole lines of the file, only the newest if it is far too long; none if there is no file. A line torn by a crash is
 * cut off, so that the next record does not begin in the middle of a line.
 * @param name of the records, in log lines
 * @throws Fault `store_unreadable`
 */
export function readLines(path: string, name: string, log: Log): string[] {
  return bytesOf(path, name, log).toString('utf8').split('\n').slice(0, -1)
}

function bytesOf(path: string, name: string, log: Log): Buffer {
  let descriptor: number
  try {
    descriptor = openPlain(path, constants.O_RDWR)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw new Fault('store_unreadable', `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    })
  }
  try {
    const { size } = fstatSync(descriptor)
    const from = Math.max(0, size - LARGEST_FILE_BYTES)
    if (from > 0) log.warning(`${name} is too long, its oldest part is left out`, { file: path, bytes: size })
    const bytes = Buffer.alloc(size - from)
    const read = bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, from))
    const end = read.lastIndexOf(0x0a) + 1
    if (end < read.length) {
      ftruncateSync(descriptor, from + end)
      log.warning(`${name} ended in a torn line, which is dropped`, { file: path })
    }
    return read.subarray(from > 0 ? read.indexOf(0x0a) + 1 : 0, end)
  } finally {
    closeSync(descriptor)
  }
}

/** Resolves when the text is on the disk. @throws the error of the call that failed */
export async function appendLines(path: string, text: string): Promise<void> {
  const { O_WRONLY, O_APPEND, O_CREAT } = constants
  const descriptor = openPlain(path, O_WRONLY | O_APPEND | O_CREAT)
  try {
    await promisify(writeFile)(descriptor, text)
    await promisify(fsync)(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
