/**
 * Reads files that a person or another program names, such as those of settings and passwords: a pipe, a device or a file
 * without end in the place of one must not hold whoever reads it.
 */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/** Largest file of a password, a key or certificates: all authorities of a Debian have a quarter of it. */
const SMALL_FILE_BYTES = 1_048_576

const PIECE_BYTES = 65_536

/** `/dev/null` is an empty file to whoever names it. @source Linux, admin-guide/devices.txt: character device 1, 3 */
const NULL_DEVICE = 0x103

/** Something else is there than the file that was expected; the message completes `cannot be read (...)`. */
class OddFile extends Error {}

/**
 * Opens it; a link is followed. The caller closes it.
 * @throws the error of open(2), and one of what is no plain file: `whyUnread` says why
 */
export function openNamed(path: string): number {
  const { O_NOCTTY, O_NONBLOCK, O_RDONLY } = constants
  const descriptor = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
  const stats = fstatSync(descriptor)
  // A folder is told by its first read.
  if (stats.isFile() || stats.isDirectory() || isNull(stats)) return descriptor
  closeSync(descriptor)
  throw new OddFile(`it is ${kindOf(stats)}, expected a file`)
}

/** @throws as `openNamed`, and of a file of more bytes */
export function readNamed(path: string, mostBytes = SMALL_FILE_BYTES): Buffer {
  const descriptor = openNamed(path)
  try {
    return readBounded(descriptor, mostBytes)
  } finally {
    closeSync(descriptor)
  }
}

/** Reads an open file to its end; those of /proc say that they are empty. @throws as `readNamed` */
export function readBounded(descriptor: number, mostBytes: number): Buffer {
  const { size } = fstatSync(descriptor)
  if (size > mostBytes) throw new OddFile(`it has ${size} bytes, expected at most ${mostBytes}`)
  const pieces: Buffer[] = []
  for (let left = mostBytes + 1; left > 0; ) {
    const piece = Buffer.alloc(Math.min(left, PIECE_BYTES))
    const bytes = readSync(descriptor, piece)
    if (bytes === 0) return Buffer.concat(pieces)
    pieces.push(piece.subarray(0, bytes))
    left -= bytes
  }
  throw new OddFile(`it has more than ${mostBytes} bytes, which is the most`)
}

/** What was in the way, to be put in brackets: an error code, or what is there in the place of a file. */
export function whyUnread(cause: unknown): string {
  if (cause instanceof OddFile) return cause.message
  const { code, message } = cause as NodeJS.ErrnoException
  return code ?? message
}

function isNull(stats: Stats): boolean {
  return stats.isCharacterDevice() && stats.rdev === NULL_DEVICE
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return 'a pipe'
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : 'something else'
}
