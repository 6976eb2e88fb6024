/** Firmware image files: creates, reads, verifies and unpacks them. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { type PublicKey, readPrivateKey, signBytes, signerOf } from '#kit/auth/signing-key.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  headLength,
  type Manifest,
  openManifest,
  START_BYTES,
  signedPart,
  splitHead,
} from '../../daemons/board/wire/firmware-image.ts'

/** An image whose header was read. */
export interface ImageFile {
  manifest: Manifest
  headBytes: number
  /** File of the key that signed it; undefined if none of the given keys did. */
  signer: string | undefined
}

/** Length and checksum of a payload. */
export type Payload = Pick<Manifest, 'sizeBytes' | 'sha256'>

/** Reads a whole file once. */
export async function measure(path: string): Promise<Payload> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  for await (const piece of createReadStream(path)) {
    hash.update(piece)
    sizeBytes += piece.length
  }
  return { sizeBytes, sha256: hash.digest('hex') }
}

/**
 * Writes an image to a temporary name first, so that it is complete or absent.
 * @throws Fault `bad_key`, `image_unknown` if no board would accept the manifest, `image_damaged` if the payload has
 * changed since it was measured
 */
export async function signImage(
  { payload, image }: { payload: string; image: string },
  manifest: Manifest,
  keyFile: string,
): Promise<void> {
  const signed = signedPart(manifest)
  openManifest(splitHead(Buffer.concat([signed, new Uint8Array(64)])).manifest)
  const signature = signBytes(await readPrivateKey(keyFile), signed)
  await written(image, async (file) => {
    await file.appendFile(signed)
    await file.appendFile(signature)
    await copyProven(createReadStream(payload), file, manifest)
  })
}

/**
 * Reads a header, and parses it whoever signed it.
 * @throws Fault `image_unknown`
 */
export async function readImage(path: string, keys: readonly PublicKey[]): Promise<ImageFile> {
  const file = await open(path, 'r')
  try {
    const start = await take(file, START_BYTES, 0)
    const headBytes = headLength(start)
    const head = await take(file, headBytes, 0)
    if (head.length < headBytes)
      throw new Fault('image_unknown', `the file ends after ${head.length} bytes, within its head`)
    const { signed, signature, manifest } = splitHead(head)
    return { manifest: openManifest(manifest), headBytes, signer: signerOf(keys, signed, signature)?.file }
  } finally {
    await file.close()
  }
}

/**
 * Writes the payload of an image to a device, or to a file, which appears only once it is complete.
 * @throws Fault `image_damaged`
 */
export async function unpackImage(path: string, { manifest, headBytes }: ImageFile, to: string): Promise<void> {
  await written(to, (file) => copyProven(createReadStream(path, { start: headBytes }), file, manifest))
}

/** @throws Fault `image_damaged` if the payload does not match the manifest */
export async function provePayload(path: string, { manifest, headBytes }: ImageFile): Promise<void> {
  await copyProven(createReadStream(path, { start: headBytes }), undefined, manifest)
}

async function copyProven(from: AsyncIterable<Buffer>, to: FileHandle | undefined, expected: Payload): Promise<void> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  for await (const piece of from) {
    sizeBytes += piece.length
    // No byte beyond the signed ones reaches a slot.
    if (sizeBytes > expected.sizeBytes) break
    hash.update(piece)
    for (let at = 0; to && at < piece.length; ) at += (await to.write(piece, at)).bytesWritten
  }
  if (sizeBytes !== expected.sizeBytes)
    throw new Fault(
      'image_damaged',
      `the payload has ${sizeBytes > expected.sizeBytes ? 'more than ' : `${sizeBytes} of `}${expected.sizeBytes} bytes`,
    )
  if (hash.digest('hex') !== expected.sha256)
    throw new Fault('image_damaged', 'the payload is not the one that was signed: its checksum differs')
}

/** A file gets its name once it is complete; a device or pipe is written directly. */
async function written(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const isFile = await stat(path).then(
    (facts) => facts.isFile(),
    () => true,
  )
  const draft = isFile ? `${path}.new` : path
  const file = await open(draft, isFile ? 'w' : 'r+')
  try {
    await write(file)
    // Pipes cannot be synced, and need not be.
    await file.sync().catch((error) => {
      if (error.code !== 'EINVAL') throw error
    })
    await file.close()
    if (isFile) await rename(draft, path)
  } catch (error) {
    await file.close().catch(() => {})
    if (isFile) await rm(draft, { force: true })
    throw error
  }
}

async function take(file: FileHandle, bytes: number, at: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, at)
  return buffer.subarray(0, bytesRead)
}
