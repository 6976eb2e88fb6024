/**
 * The container of update archives, `SVC_ENC_V1`: AES-256-GCM in chunks of 64 KiB behind a header of 112 bytes. It keeps
 * an archive private; who made it is said by the signed record (record.ts), since each installation is given the key.
 *
 *       0  `SVC_ENC_V1\n`
 *      11  suite 1 · binary logarithm of the chunk size, 16 · flags 0 · header length 112, two bytes, big-endian
 *      16  salt
 *      48  SHA-256 of the plaintext
 *      80  HMAC-SHA-256 of bytes 0 to 79
 *     112  chunks, each followed by its tag; an empty plaintext is one empty chunk
 *
 * The nonce of a chunk is its number, from 0, in 11 bytes, big-endian, then 1 for the last chunk and 0 for any other.
 * Keys: HKDF-SHA-256 of the key and the salt, with the labels `SVC_ENC_V1 header` and `SVC_ENC_V1 payload`.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { Fault } from '../pure/fault.ts'

/** Bytes of a key. */
export const CONTAINER_KEY_BYTES = 32

const CHUNK_BYTES = 65_536
const TAG_BYTES = 16
const MARK = Buffer.from('SVC_ENC_V1\n')
/** Mark, suite, size of chunks, flags and header length: the same in each container. */
const START = Buffer.concat([MARK, Buffer.from([1, 16, 0, 0, 112])])
const AT = { salt: 16, hash: 48, proof: 80, body: 112 } as const

/** Bytes of the container of a plaintext of so many bytes. */
export function containerBytes(plainBytes: number): number {
  return AT.body + plainBytes + TAG_BYTES * Math.max(1, Math.ceil(plainBytes / CHUNK_BYTES))
}

/**
 * Bytes of the plaintext of a container of so many bytes.
 * @throws Fault `container_cut` if no container has so few
 */
export function plainBytes(sizeBytes: number): number {
  const body = sizeBytes - AT.body
  if (body < TAG_BYTES) throw new Fault('container_cut', `a container has more than ${sizeBytes} bytes`)
  return body - TAG_BYTES * Math.ceil(body / (CHUNK_BYTES + TAG_BYTES))
}

// Writing.

/** What was encrypted. */
export interface Sealed {
  /** Bytes of the container. */
  sizeBytes: number
  /** SHA-256 of the container, 64 hex digits. */
  sha256: string
  /** SHA-256 of the plaintext, 64 hex digits. */
  plainSha256: string
}

/**
 * Encrypts a file, which is read twice: its checksum stands before its bytes.
 * @param from the plaintext, a file open for reading; is left open
 * @param to written from its current position; is left open, and neither synced nor cut
 * @param key 32 random bytes. Each container has keys of its own, made of this one and a salt: a delta has the key of its update
 * @param onRead bytes of the plaintext encrypted since the last call
 * @throws Fault `container_changed` if the file changed between the two; errors of the disk
 */
export async function writeContainer(
  from: FileHandle,
  to: FileHandle,
  key: Uint8Array,
  onRead: (bytes: number) => void = () => {},
): Promise<Sealed> {
  const first = createHash('sha256')
  for await (const { chunk } of chunksOf(from)) first.update(chunk)
  const hash = first.digest()
  const salt = randomBytes(32)
  const whole = createHash('sha256')
  let sizeBytes = 0
  const write = async (bytes: Uint8Array) => {
    whole.update(bytes)
    sizeBytes += bytes.length
    for (let at = 0; at < bytes.length; ) at += (await to.write(bytes, at)).bytesWritten
  }
  const { headerKey, payloadKey } = keysOf(key, salt)
  const proven = Buffer.concat([START, salt, hash])
  await write(Buffer.concat([proven, proofOf(headerKey, proven)]))
  const second = createHash('sha256')
  let count = 0
  for await (const { chunk, isLast } of chunksOf(from)) {
    second.update(chunk)
    const cipher = createCipheriv('aes-256-gcm', payloadKey, nonceOf(count, isLast))
    await write(Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()]))
    count++
    onRead(chunk.length)
  }
  if (!second.digest().equals(hash)) throw new Fault('container_changed', 'the file changed while it was encrypted')
  return { sizeBytes, sha256: whole.digest('hex'), plainSha256: hash.toString('hex') }
}

/** The file's chunks from its start, each in a buffer of its own; one empty chunk of an empty file. */
async function* chunksOf(file: FileHandle): AsyncGenerator<{ chunk: Buffer; isLast: boolean }> {
  let next = await chunkAt(file, 0)
  for (let at = next.length; ; at += next.length) {
    const chunk = next
    next = await chunkAt(file, at)
    yield { chunk, isLast: next.length === 0 }
    if (next.length === 0) return
  }
}

/** Full, unless the file ends. */
async function chunkAt(file: FileHandle, at: number): Promise<Buffer> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  let length = 0
  while (length < CHUNK_BYTES) {
    const { bytesRead } = await file.read(chunk, length, CHUNK_BYTES - length, at + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return chunk.subarray(0, length)
}

// Reading.

/** Decrypts a container as it arrives. */
export interface ContainerReader {
  /**
   * Decrypts what has arrived. Holds at most one chunk back: only the next byte, or the end, tells whether it is the last.
   * @param bytes any cut of the container; not kept after the call
   * @returns pieces of the plaintext, which belong to the caller. Each is as encrypted, at its place; that they are all is
   * known when `end` has returned.
   * @throws Fault `container_unknown`, `container_unsupported`, `container_wrong_key`, `container_damaged`,
   * `container_too_long`; after any, the reader is of no more use
   */
  take(bytes: Uint8Array): Uint8Array[]
  /**
   * To be called once, when all bytes have been taken.
   * @returns the last pieces of the plaintext
   * @throws Fault as `take`, and `container_cut`, `container_wrong_content`
   */
  end(): Uint8Array[]
}

/**
 * A reader for one container. Holds up to 64 KiB.
 * @param key 32 bytes
 */
export function createContainerReader(key: Uint8Array): ContainerReader {
  const held = Buffer.alloc(CHUNK_BYTES + TAG_BYTES)
  let heldBytes = 0
  let count = 0
  let header: { hash: Buffer; payloadKey: KeyObject } | undefined
  const hash = createHash('sha256')

  function openHeld(payloadKey: KeyObject, isLast: boolean): Uint8Array[] {
    const sealed = held.subarray(0, heldBytes)
    heldBytes = 0
    const chunk = openChunk(payloadKey, sealed, count, isLast)
    if (chunk === undefined) throw chunkFault(payloadKey, sealed, count, isLast)
    // One plaintext has one form.
    if (chunk.length === 0 && count > 0)
      throw new Fault('container_damaged', `chunk ${count + 1} of the container is empty`)
    count++
    hash.update(chunk)
    return chunk.length === 0 ? [] : [chunk]
  }

  function take(bytes: Uint8Array): Uint8Array[] {
    const pieces: Uint8Array[] = []
    for (let at = 0; at < bytes.length; ) {
      if (header !== undefined && heldBytes === held.length) pieces.push(...openHeld(header.payloadKey, false))
      const part = bytes.subarray(at, at + (header === undefined ? AT.body : held.length) - heldBytes)
      held.set(part, heldBytes)
      heldBytes += part.length
      at += part.length
      if (header !== undefined) continue
      refuseOther(held.subarray(0, heldBytes))
      if (heldBytes < AT.body) continue
      header = openHeader(held.subarray(0, AT.body), key)
      heldBytes = 0
    }
    return pieces
  }

  function end(): Uint8Array[] {
    if (header === undefined)
      throw new Fault('container_cut', `the container ends after ${heldBytes} bytes, within its header`)
    const pieces = openHeld(header.payloadKey, true)
    if (!hash.digest().equals(header.hash))
      throw new Fault('container_wrong_content', 'the content is not the one whose checksum stands in the header')
    return pieces
  }

  return { take, end }
}

/** Decrypts a container in a file. @returns pieces of the plaintext. @throws Fault as `ContainerReader`; errors of the disk */
export async function* decryptFile(path: string, key: Uint8Array): AsyncGenerator<Uint8Array> {
  const reader = createContainerReader(key)
  for await (const piece of createReadStream(path, { highWaterMark: 1_048_576 })) yield* reader.take(piece as Buffer)
  yield* reader.end()
}

/** @throws Fault `container_unknown` for bytes that begin no container */
function refuseOther(start: Buffer): void {
  if (!start.subarray(0, MARK.length).equals(MARK.subarray(0, start.length)))
    throw new Fault('container_unknown', 'this is no encrypted update: it does not begin with SVC_ENC_V1')
}

/** @param header copied where kept */
function openHeader(header: Buffer, key: Uint8Array): { hash: Buffer; payloadKey: KeyObject } {
  if (!header.subarray(0, START.length).equals(START)) {
    const [suite, logarithm, flags] = header.subarray(MARK.length)
    const length = header.readUInt16BE(MARK.length + 3)
    throw new Fault(
      'container_unsupported',
      `the container has suite ${suite}, chunks of 2^${logarithm} bytes, flags ${flags} and a header of ${length} bytes, expected 1, 2^16, 0 and 112`,
    )
  }
  const { headerKey, payloadKey } = keysOf(key, header.subarray(AT.salt, AT.hash))
  if (!timingSafeEqual(proofOf(headerKey, header.subarray(0, AT.proof)), header.subarray(AT.proof)))
    throw new Fault('container_wrong_key', 'the key is not that of this container, or its header is damaged')
  return { hash: Buffer.from(header.subarray(AT.hash, AT.proof)), payloadKey }
}

/** The plaintext, in a buffer of its own; undefined if its tag does not fit. */
function openChunk(key: KeyObject, sealed: Buffer, count: number, isLast: boolean): Buffer | undefined {
  if (sealed.length < TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(count, isLast), { authTagLength: TAG_BYTES })
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  const chunk = decipher.update(sealed.subarray(0, -TAG_BYTES))
  try {
    decipher.final()
  } catch {
    return undefined
  }
  return chunk
}

/** Why a chunk does not open: at the wrong end it opens as what it is. */
function chunkFault(key: KeyObject, sealed: Buffer, count: number, isLast: boolean): Fault {
  const isOther = openChunk(key, sealed, count, !isLast) !== undefined
  if (isOther && !isLast)
    return new Fault('container_too_long', `bytes follow chunk ${count + 1}, which is the last of the container`)
  if (isOther || sealed.length < TAG_BYTES)
    return new Fault('container_cut', `the container ends after chunk ${isOther ? count + 1 : count}, before its last`)
  return new Fault(
    'container_damaged',
    `chunk ${count + 1} of the container is damaged${isLast ? ', or cut' : ''}: it does not fit its tag`,
  )
}

// Keys and nonces.

/** The payload's as an object: from bytes it is made anew for each chunk, which takes 20 us. */
function keysOf(key: Uint8Array, salt: Uint8Array): { headerKey: Buffer; payloadKey: KeyObject } {
  if (key.length !== CONTAINER_KEY_BYTES)
    throw new Fault('container_wrong_key', `the key has ${key.length} bytes, expected ${CONTAINER_KEY_BYTES}`)
  const derived = (label: string) => Buffer.from(hkdfSync('sha256', key, salt, label, 32))
  return { headerKey: derived('SVC_ENC_V1 header'), payloadKey: createSecretKey(derived('SVC_ENC_V1 payload')) }
}

function proofOf(headerKey: Buffer, bytes: Uint8Array): Buffer {
  return createHmac('sha256', headerKey).update(bytes).digest()
}

function nonceOf(count: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  // The number of a chunk is far below 2^48: a container has at most some thousand.
  nonce.writeUIntBE(count, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}
