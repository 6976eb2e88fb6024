/** The head of an image, as it arrives: read within its bound, proven, then opened. */
import { Fault } from '#kit/fault.ts'
import { headLength, type Manifest, openManifest, START_BYTES, splitHead } from '../wire/firmware-image.ts'
import type { ByteSource } from './byte-source.ts'

/**
 * @param source of which nothing was taken yet; the payload is next when this resolves
 * @param isSigned whether a key that counts signed these bytes
 * @returns the head as it came, and what it says
 * @throws Fault `image_unknown`, `image_untrusted`, `image_length`
 */
export async function readHead(
  source: ByteSource,
  isSigned: (signed: Uint8Array, signature: Uint8Array) => boolean,
): Promise<{ head: Uint8Array; manifest: Manifest }> {
  const start = await source.take(START_BYTES)
  const length = headLength(start)
  const head = new Uint8Array(length)
  const rest = await source.take(length - start.length)
  head.set(start)
  head.set(rest, start.length)
  if (start.length + rest.length < length)
    throw new Fault('image_length', `the image ends after ${start.length + rest.length} bytes, within its head`)
  const { signed, signature, manifest } = splitHead(head)
  // Nothing that a stranger wrote is looked at more closely than this.
  if (!isSigned(signed, signature))
    throw new Fault('image_untrusted', 'the image is signed by none of the keys that this board knows')
  return { head, manifest: openManifest(manifest) }
}
