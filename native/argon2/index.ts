/** TypeScript interface of the argon2 addon: computes one hash in its own thread. */
import type { Argon2Parameters } from 'node:crypto'
import { loadAddon } from '../load.ts'

/** Parameters as in node:crypto. Memory in KiB, `tagLength` in bytes. */
export interface Argon2idInput extends Pick<Argon2Parameters, 'tagLength' | 'memory' | 'passes' | 'parallelism'> {
  message: Buffer
  nonce: Buffer
}

interface Argon2Addon {
  derive(input: Argon2idInput, niceness: number): Promise<Buffer>
}

let addon: Argon2Addon | undefined

/**
 * Computes argon2id (version 19) outside the event loop and libuv's threads. The process stays alive until it is done.
 * @param niceness of the thread, added to the daemon's own; if the system refuses it, the thread keeps the daemon's
 * @throws Error with OpenSSL's reason, by rejecting: `invalid iteration count`, `invalid memory size`, ...
 * @source RFC 9106
 */
export function argon2id(input: Argon2idInput, niceness: number): Promise<Buffer> {
  addon ??= loadAddon('argon2') as Argon2Addon
  return addon.derive(input, niceness)
}
