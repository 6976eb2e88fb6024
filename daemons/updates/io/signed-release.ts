/** Reads what a signed release record says. The server proves no signature: it trusts the publisher, and clients prove. */
import { readRelease } from '#kit/release/record.ts'
import type { SignedRelease } from '../core/ports.ts'

/** @param text base64 @throws Fault `release_malformed` */
export function readSignedRelease(text: string): SignedRelease {
  const { arch, bundle, min_from: minFrom, sha256, size, version } = readRelease(Buffer.from(text, 'base64')).signed
  return { version, checksum: sha256, sizeBytes: size, bundleHash: bundle, minFrom, arch }
}
