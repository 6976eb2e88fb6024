/** Reads footage back: a cut as the bytes of one MP4 file. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { Fault } from '#kit/pure/fault.ts'
import type { Cut } from '../core/footage/footage.ts'
import { PIECE_BYTES } from '../core/memory.ts'
import type { KeptFile } from '../core/ports.ts'
import { type FileTracks, type FragmentPlace, headBytesOf, type Retiming, retimed, scanMp4 } from '../wire/mp4-read.ts'
import { MDAT_HEAD_BYTES, writeHead } from '../wire/mp4-write.ts'

/** A head with its parameter sets, however long they are. */
const MOST_HEAD_BYTES = 262_144

/** What a file says of its pictures and its sound. @throws Fault `footage_gone` */
export async function tracksOfFile({ fragments, path }: KeptFile): Promise<FileTracks> {
  const handle = await openFile(path)
  try {
    const head = await readPart(handle, 0, Math.min(fragments[0]?.offset ?? 0, MOST_HEAD_BYTES))
    const { tracks } = scanMp4((offset, length) => head.subarray(offset, offset + length), head.length)
    if (!tracks) throw gone(path)
    return tracks
  } finally {
    await handle.close()
  }
}

/** One fragment as it lies in its file. @throws Fault `footage_gone` */
export async function fragmentOf({ path }: KeptFile, { length, offset }: FragmentPlace): Promise<Uint8Array> {
  const handle = await openFile(path)
  try {
    const bytes = await readPart(handle, offset, length)
    if (bytes.length < length) throw gone(path)
    return bytes
  } finally {
    await handle.close()
  }
}

/** Enough for the head of a fragment of a thousand pictures; one that has more is read in two. */
const HEAD_BYTES = 32_768

/** The file of a cut, read as fast as it is taken. It ends early if footage is removed meanwhile, or may not go on. */
export function streamCut(cut: Cut, goesOn: () => boolean): Readable {
  return Readable.from(bytesOf(cut, goesOn), { objectMode: false })
}

async function* bytesOf({ endTicks, fragments, hiddenTicks, tracks }: Cut, goesOn: () => boolean) {
  const { sets, sound } = tracks
  yield writeHead({ sets, facts: sets.codec.factsOf(sets.units), sound, hiddenTicks })
  let open: { path: string; handle: FileHandle } | undefined
  try {
    for (const [
      at,
      {
        decodeTicks,
        file: { path },
        place,
      },
    ] of fragments.entries()) {
      if (open?.path !== path) {
        await open?.handle.close()
        open = undefined
        open = { path, handle: await openFile(path) }
      }
      const to = { sequence: at + 1, decodeTicks, endTicks, soundRate: sound?.rate }
      for await (const piece of piecesOf(open, place, to)) {
        if (!goesOn())
          throw new Fault('footage_masked', 'The camera has privacy masks by now. Ask for the footage again.')
        yield piece
      }
    }
  } finally {
    await open?.handle.close()
  }
}

/** A fragment with its head made anew, in pieces: a large one is never held whole. */
async function* piecesOf(
  { handle, path }: { handle: FileHandle; path: string },
  { length, offset, wallMs }: FragmentPlace,
  to: Retiming,
) {
  const read = async (from: number, bytes: number) => {
    const part = await readPart(handle, offset + from, bytes)
    if (part.length < bytes) throw gone(path)
    return part
  }
  const begin = await read(0, Math.min(length, HEAD_BYTES))
  const headBytes = headBytesOf(begin)
  // A disk that gives back other bytes than were written.
  if (headBytes > length || headBytes < MDAT_HEAD_BYTES + 32) throw gone(path)
  const head = headBytes <= begin.length ? begin.subarray(0, headBytes) : await read(0, headBytes)
  const made = retimed(head, wallMs, to)
  yield made.head
  for (const { from, to: end } of made.data)
    for (let at = from; at < end; at += PIECE_BYTES) yield await read(at, Math.min(PIECE_BYTES, end - at))
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (cause) {
    throw gone(path, cause)
  }
}

async function readPart(handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, offset)
  return buffer.subarray(0, bytesRead)
}

function gone(path: string, cause?: unknown): Fault {
  return new Fault('footage_gone', `The footage in ${basename(path)} was removed, or its disk is away.`, { cause })
}
