/** Passwords as argon2id, hashed on separate threads. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type Argon2idInput, argon2id } from '#native/argon2/index.ts'
import { Fault } from '../pure/fault.ts'

/** Most passwords that a daemon's settings can have hashed at once (kit/config/tables.ts); more wait. */
const MOST_AT_ONCE = 16

/** A hash takes a core for 25 to 100 ms and anyone can request one, so the daemon's own work comes first. */
const NICENESS = 5

/** Callers that wait for their turn, in order of arrival. */
const waiting: (() => void)[] = []
let computing = 0

/**
 * Computes argon2id in a thread with lower priority than the daemon's own.
 * @returns as many bytes as `tagLength` says
 * @throws Error, by rejecting, if the parameters are invalid for argon2
 */
export async function deriveArgon2id(input: Argon2idInput): Promise<Buffer> {
  if (computing < MOST_AT_ONCE) computing += 1
  else await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    return await argon2id(input, NICENESS)
  } finally {
    // The next waiting caller takes over this place.
    const next = waiting.shift()
    if (next) next()
    else computing -= 1
  }
}

/** Cost of one hash. Memory in KiB. */
interface Cost {
  memory: number
  passes: number
  parallelism: number
}

/** @source OWASP Password Storage Cheat Sheet, argon2id: 19 MiB, two passes, one lane */
const COST: Cost = { memory: 19_456, passes: 2, parallelism: 1 }

/** A hash string comes from a file: without these limits on its parameters, one line could take the whole machine. */
const MOST: Cost = { memory: 65_536, passes: 10, parallelism: 4 }

const SALT_BYTES = 16
const HASH_BYTES = 32

/** PHC string: `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>`, base64 without padding. */
const PHC = /^\$argon2id\$v=19\$m=(\d{1,9}),t=(\d{1,9}),p=(\d{1,9})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

/** A hash that no password matches, for users that do not exist, so that their refusal takes as long as any. */
const DECOY = phcOf(COST, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES))

/** @returns a PHC string with a new salt */
export async function hashPassword(text: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const hash = await deriveArgon2id({ message: messageOf(text), nonce: salt, tagLength: HASH_BYTES, ...COST })
  return phcOf(COST, salt, hash)
}

/**
 * @param stored PHC string; undefined for a user that does not exist: takes as long, and never matches
 * @throws Fault `bad_password_hash` if the string is not ours, or its parameters are above the limits
 */
export async function verifyPassword(text: string, stored: string | undefined): Promise<boolean> {
  const { cost, salt, hash } = parsePhc(stored ?? DECOY)
  const found = await deriveArgon2id({ message: messageOf(text), nonce: salt, tagLength: hash.length, ...cost })
  return timingSafeEqual(found, hash) && stored !== undefined
}

/** The same letters typed on another keyboard may be composed differently. @source RFC 8265, 4.2.2 */
function messageOf(text: string): Buffer {
  return Buffer.from(text.normalize('NFC'))
}

function parsePhc(text: string): { cost: Cost; salt: Buffer; hash: Buffer } {
  const [, memory, passes, parallelism, salt, hash] = PHC.exec(text) ?? []
  if (salt === undefined || hash === undefined)
    throw new Fault('bad_password_hash', 'a stored password is no argon2id string of version 19')
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
  const isWithin =
    cost.memory <= MOST.memory &&
    cost.passes <= MOST.passes &&
    cost.parallelism <= MOST.parallelism &&
    cost.passes >= 1 &&
    cost.parallelism >= 1 &&
    cost.memory >= 8 * cost.parallelism
  if (!isWithin)
    throw new Fault('bad_password_hash', `a stored password asks for m=${memory},t=${passes},p=${parallelism}`)
  return { cost, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') }
}

function phcOf({ memory, passes, parallelism }: Cost, salt: Buffer, hash: Buffer): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(hash)}`
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
