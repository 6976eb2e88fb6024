/** The head of a recording: lengths that nobody knew while it was written. */
import { open } from 'node:fs/promises'

/** RIFF, its length, WAVE, fmt with 16 bytes or more, ..., data, its length. */
const LONGEST_HEAD = 4096

/**
 * Writes how long a WAV file is into its head, as a recording that was stopped, or cut off, has nothing there.
 * A file that is none is left as it is.
 * @source Microsoft, Multimedia Programming Interface and Data Specifications 1.0, RIFF
 */
export async function completeWav(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    const head = Buffer.alloc(Math.min(size, LONGEST_HEAD))
    await file.read(head, 0, head.length, 0)
    const data = head.indexOf('data', 12, 'latin1')
    if (head.toString('latin1', 0, 4) !== 'RIFF' || data < 0 || data + 8 > size) return
    await file.write(lengthOf(size - 8), 0, 4, 4)
    await file.write(lengthOf(size - data - 8), 0, 4, data + 4)
  } finally {
    await file.close()
  }
}

function lengthOf(bytes: number): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(Math.min(bytes, 0xffff_ffff))
  return length
}
