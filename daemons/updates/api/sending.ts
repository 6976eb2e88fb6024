/** Sends a stored file, or the part of it that was asked for. */
import { type Ask, Reply, type Writing, WrittenBody } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { PIECE_BYTES } from '../core/memory.ts'
import type { Blobs, Outgoing } from '../core/ports.ts'
import type { Receiver, Transfer, Transfers } from '../core/releases/transfers.ts'
import { rangeOf } from '../wire/range.ts'

interface Sendable {
  file: string
  /** SHA-256 of it. */
  checksum: string
  sizeBytes: number
  filename: string
  /** What names the release that it belongs to: the transfer ends with it. */
  release: string
}

interface Sending {
  ask: Pick<Ask, 'headers'>
  transfers: Transfers
  receiver: Receiver
  files: Pick<Blobs, 'read'>
  /** Whether nginx sends it, where it asks on behalf of a client. */
  isOffloaded: boolean
  /** Called when a download came to its end: the last byte was taken, or was left to nginx. */
  onSent?(): void
}

/** The internal location of nginx that has the files; docs/updates.md. */
const OFFLOADED = '/plantroom-releases/'

/** @throws Fault `too_many_downloads`, `file_lost` */
export async function sendFile(sendable: Sendable, by: Sending): Promise<Reply> {
  const { checksum, filename, release, sizeBytes } = sendable
  const { headers } = by.ask
  const etag = `"${checksum}"`
  const asked = { range: headers.range, ifRange: headers['if-range']?.toString() }
  const range = rangeOf(asked, etag, sizeBytes)
  if (range === 'outside') return outside(sizeBytes)
  const { start, end } = range ?? { start: 0, end: sizeBytes - 1 }
  const isEnd = end === sizeBytes - 1 && (start === 0 || !isTail(asked.range))
  const common = {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${filename}"`,
    etag,
  }
  // Only a trusted proxy, which nginx is, may ask for this. Anybody else gets the bytes from here, within the limits.
  if (by.isOffloaded && by.receiver.share === undefined && headers['x-sendfile-type'] === 'X-Accel-Redirect') {
    if (isEnd) by.onSent?.()
    // The range too is left to nginx, which has the tag from this answer.
    return new Reply(200, Buffer.alloc(0), { ...common, 'x-accel-redirect': OFFLOADED + sendable.file })
  }
  const transfer = by.transfers.begin(by.receiver)
  const file = await by.files.read(sendable.file, { start, end }).catch((fault) => {
    transfer.leave()
    throw fault
  })
  const body = new WrittenBody(async (writing) => {
    await sendAll(file, { transfer, release, lengthBytes: end - start + 1 }, writing)
    if (isEnd) by.onSent?.()
  })
  return new Reply(range ? 206 : 200, body, {
    ...common,
    'content-length': String(end - start + 1),
    'accept-ranges': 'bytes',
    ...(range && { 'content-range': `bytes ${start}-${end}/${sizeBytes}` }),
  })
}

/** Bytes counted from the end are a look at a file; a download that goes on says where it was. */
function isTail(range: string | undefined): boolean {
  return range?.trim().startsWith('bytes=-') === true
}

/** One buffer for all of it: a new one for each piece cost two thirds of what a download takes of the processor. */
async function sendAll(
  file: Outgoing,
  { lengthBytes, release, transfer }: { lengthBytes: number; transfer: Transfer; release: string },
  writing: Writing,
): Promise<void> {
  try {
    transfer.sends(release, () => writing.cut())
    const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, lengthBytes))
    for (let left = lengthBytes; left > 0; ) {
      const bytes = await file.read(piece)
      if (bytes === 0) throw new Fault('file_lost', 'The stored file is shorter than it was. Publish it again.')
      await writing.write(piece.subarray(0, bytes))
      left -= bytes
    }
  } finally {
    transfer.leave()
    await file.close()
  }
}

function outside(sizeBytes: number): Reply {
  const { code, message } = new Fault('bad_range', `The file has ${sizeBytes} bytes: no byte of the range is in it.`)
  return new Reply(416, { error: code, message }, { 'content-range': `bytes */${sizeBytes}`, 'accept-ranges': 'bytes' })
}
