/**
 * A release as one file, to be carried by hand: a line that names the form, a line of JSON with the encryption key and the
 * signed record, and the container as an update server has it. Nothing in it is proven but by that record.
 */
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../pure/fault.ts'
import { type ReleaseRecord, readRelease } from './record.ts'

const MARK = 'PLANTROOM RELEASE 1\n'
/** Of both lines: a record in base64, and some more. */
export const MOST_HEAD_BYTES = 16_384

const head = Type.Object(
  {
    encryption_key: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    /** The text of the signed record, base64. */
    release: Type.String({ pattern: '^[A-Za-z0-9+/]+={0,2}$' }),
  },
  { additionalProperties: false },
)

/** The head of a release file. */
export interface ReleaseHead extends Static<typeof head> {
  /** What the record says; its signature was not looked at. */
  signed: ReleaseRecord
  /** Bytes before the container. */
  headBytes: number
}

/** @param release text of the signed record */
export function writeReleaseHead({ encryptionKey, release }: { encryptionKey: string; release: string }): Buffer {
  const said: Static<typeof head> = {
    encryption_key: encryptionKey,
    release: Buffer.from(release).toString('base64'),
  }
  return Buffer.from(`${MARK}${JSON.stringify(said)}\n`)
}

/**
 * Reads the head out of the first bytes of a file.
 * @param start of the file, up to `MOST_HEAD_BYTES` or more
 * @returns undefined if more bytes are needed
 * @throws Fault `release_file_unknown`, `release_malformed`
 */
export function readReleaseHead(start: Uint8Array): ReleaseHead | undefined {
  const text = Buffer.from(start.subarray(0, MOST_HEAD_BYTES)).toString('latin1')
  if (!MARK.startsWith(text.slice(0, MARK.length))) throw unknown()
  const end = text.indexOf('\n', MARK.length)
  if (end < 0) {
    if (start.length < MOST_HEAD_BYTES) return undefined
    throw unknown()
  }
  const said = jsonOf(text.slice(MARK.length, end))
  if (!Value.Check(head, said)) throw unknown()
  return { ...said, signed: readRelease(Buffer.from(said.release, 'base64')).signed, headBytes: end + 1 }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw unknown(cause)
  }
}

function unknown(cause?: unknown): Fault {
  return new Fault(
    'release_file_unknown',
    'this is no release file: take the one that plantroom publish --release-file made',
    { cause },
  )
}
