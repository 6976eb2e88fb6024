/** Ed25519 keys in PEM files: verifies and makes signatures. */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../pure/fault.ts'
import { readNamed } from '../run/named-file.ts'

/** A public key and where it came from. */
export interface PublicKey {
  file: string
  key: KeyObject
}

/** More key files than this are a mistake. */
const MOST_KEYS = 64
/** An Ed25519 key in PEM has about 120 characters. */
const MOST_BYTES = 4096

/**
 * Reads public keys, in PEM (`-----BEGIN PUBLIC KEY-----`).
 * @param places files, and folders whose every `*.pem` is read; missing ones hold no key
 * @throws Fault `bad_key` for a file that is not such a key: a trusted key that is missing must be noticed
 */
export async function readPublicKeys(places: readonly string[]): Promise<PublicKey[]> {
  const files = (await Promise.all(places.map(filesOf))).flat()
  if (files.length > MOST_KEYS)
    throw new Fault('bad_key', `there are ${files.length} keys, at most ${MOST_KEYS} are read`)
  return Promise.all(files.map(async (file) => ({ file, key: await readKey(file, createPublicKey, readNamed) })))
}

/** Reads a private key, in PEM; also from a pipe, so that it need not be on a disk. @throws Fault `bad_key` */
export function readPrivateKey(file: string): Promise<KeyObject> {
  return readKey(file, createPrivateKey, readFile)
}

/** The first key that signed the bytes; undefined if none did. @param signature 64 bytes */
export function signerOf(keys: readonly PublicKey[], bytes: Uint8Array, signature: Uint8Array): PublicKey | undefined {
  return keys.find(({ key }) => verify(null, bytes, key, signature))
}

/** @returns 64 bytes */
export function signBytes(key: KeyObject, bytes: Uint8Array): Uint8Array {
  return sign(null, bytes, key)
}

async function filesOf(place: string): Promise<string[]> {
  try {
    if (!(await stat(place)).isDirectory()) return [place]
    const names = await readdir(place)
    return names
      .filter((name) => name.endsWith('.pem'))
      .sort()
      .map((name) => join(place, name))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new Fault('bad_key', `${place} cannot be read`, { cause })
  }
}

async function readKey(
  file: string,
  make: (pem: Buffer) => KeyObject,
  read: (file: string) => Buffer | Promise<Buffer>,
): Promise<KeyObject> {
  let key: KeyObject | undefined
  try {
    const pem = await read(file)
    if (pem.length <= MOST_BYTES) key = make(pem)
  } catch (cause) {
    throw new Fault('bad_key', `${file} is not a key in PEM, or cannot be read`, { cause })
  }
  if (key?.asymmetricKeyType !== 'ed25519') throw new Fault('bad_key', `${file} is not an Ed25519 key`)
  return key
}
