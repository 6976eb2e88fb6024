/** The face of the argon2 addon: one hash in a thread of its own. */
import type { Argon2Parameters } from 'node:crypto'
import { loadAddon } from '../load.ts'

/** As node:crypto has them. Memory in KiB, `tagLength` in bytes. */
export interface Argon2idInput extends Pick<Argon2Parameters, 'tagLength' | 'memory' | 'passes' | 'parallelism'> {
  message: Buffer
  nonce: Buffer
}

interface Argon2Addon {
  derive(input: Argon2idInput, niceness: number): Promise<Buffer>
}

let addon: Argon2Addon | undefined

/**
 * Computes argon2id (version 19) beside the event loop and beside libuv's threads. The process stays until it is done.
 * @param niceness of the thread, above the daemon's own; where the system refuses it, that of the daemon
 * @throws Error with OpenSSL's reason, by rejecting: `invalid iteration count`, `invalid memory size`, ...
 * @source RFC 9106
 */
export function argon2id(input: Argon2idInput, niceness: number): Promise<Buffer> {
  addon ??= loadAddon('argon2') as Argon2Addon
  return addon.derive(input, niceness)
}
