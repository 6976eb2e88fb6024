/** Sends a stored file, or the part of it that was asked for. */
import type { Readable } from 'node:stream'
import { type Ask, Reply } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Receiver, Transfer, Transfers } from '../core/releases/transfers.ts'
import { type ByteRange, rangeOf } from '../wire/range.ts'

/** Opens a stored file for reading. @throws Fault `file_lost` */
export type ReadFile = (file: string, range: ByteRange) => Promise<Readable>

interface Sendable {
  file: string
  /** SHA-256 of it. */
  checksum: string
  sizeBytes: number
  filename: string
  /** The release that it belongs to: the transfer ends with it. */
  version: string
}

interface Sending {
  ask: Pick<Ask, 'headers' | 'signal'>
  transfers: Transfers
  receiver: Receiver
  read: ReadFile
  /** Called when the last byte was taken. */
  onSent?(): void
}

/** @throws Fault `too_many_downloads`, `file_lost` */
export async function sendFile(sendable: Sendable, by: Sending): Promise<Reply> {
  const { checksum, filename, sizeBytes, version } = sendable
  const { headers, signal } = by.ask
  const etag = `"${checksum}"`
  const asked = { range: headers.range, ifRange: headers['if-range']?.toString() }
  const range = rangeOf(asked, etag, sizeBytes)
  if (range === 'outside') return outside(sizeBytes)
  const { start, end } = range ?? { start: 0, end: sizeBytes - 1 }
  const transfer = by.transfers.begin(by.receiver)
  const stream = await opened(by, sendable.file, { start, end }, transfer)
  transfer.sends(version, () => stream.destroy(new Fault('release_gone', `Release ${version} was withdrawn.`)))
  if (signal.aborted) stream.destroy()
  else signal.addEventListener('abort', () => stream.destroy(), { once: true })
  if (end === sizeBytes - 1) stream.once('end', () => by.onSent?.())
  return new Reply(range ? 206 : 200, stream, {
    'content-type': 'application/octet-stream',
    'content-length': String(end - start + 1),
    'content-disposition': `attachment; filename="${filename}"`,
    'accept-ranges': 'bytes',
    etag,
    ...(range && { 'content-range': `bytes ${start}-${end}/${sizeBytes}` }),
  })
}

async function opened(
  { read }: Pick<Sending, 'read'>,
  file: string,
  range: ByteRange,
  transfer: Transfer,
): Promise<Readable> {
  try {
    const stream = await read(file, range)
    stream.once('close', () => transfer.leave())
    return stream
  } catch (fault) {
    transfer.leave()
    throw fault
  }
}

function outside(sizeBytes: number): Reply {
  const { code, message } = new Fault('bad_range', `The file has ${sizeBytes} bytes: no byte of the range is in it.`)
  return new Reply(416, { error: code, message }, { 'content-range': `bytes */${sizeBytes}`, 'accept-ranges': 'bytes' })
}
