/** Firmware images for tests: signed, and as faulty as requested. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Owner } from '#kit/test/running-daemon.ts'
import { type Manifest, signedPart } from '../wire/firmware-image.ts'

/** A key pair, and a folder with the public key as a board would have it. */
export interface KeysForTest {
  privateKey: KeyObject
  folder: string
}

export function keysForTest(t: Owner): KeysForTest {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const folder = mkdtempSync(join(tmpdir(), 'keys-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'release.pem'), publicKey.export({ type: 'spki', format: 'pem' }))
  return { privateKey, folder }
}

/** The header of an image: mark, length, manifest, signature. */
export function headOf(privateKey: KeyObject, manifest: Manifest): Buffer {
  const signed = signedPart(manifest)
  return Buffer.concat([signed, sign(null, signed, privateKey)])
}

/** The manifest of a payload, with changes. */
export function manifestOf(payload: Uint8Array, otherwise: Partial<Manifest> = {}): Manifest {
  const sha256 = createHash('sha256').update(payload).digest('hex')
  return {
    compatible: 'plantroom-board',
    version: '2.0.0',
    floor: null,
    sizeBytes: payload.length,
    sha256,
    ...otherwise,
  }
}

/** A whole image. */
export function imageOf(privateKey: KeyObject, payload: Uint8Array, otherwise: Partial<Manifest> = {}): Buffer {
  return Buffer.concat([headOf(privateKey, manifestOf(payload, otherwise)), payload])
}
