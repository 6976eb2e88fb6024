/**
 * The root of trust for releases: which keys may sign them. A root is signed by a threshold of its own offline keys, such
 * as 2 of 3; the next version also by a threshold of those before. So a machine that knows one version follows to the
 * next, and a stolen release key is replaced without touching a machine.
 * @source The Update Framework 1.0.33, 5.3, for the rules of rotation; the form is our own (docs/decisions/firmware-images.md)
 */
import type { KeyObject } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Fault } from '../pure/fault.ts'
import { countSigners, instant, MOST_KEYS, publicKey, readSignedText, signedSchema, signText } from './signed.ts'

const whole = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }

const root = Type.Object(
  {
    /** 1, 2, 3 and so on. */
    version: Type.Integer(whole),
    /** Offline keys, sorted. */
    root_keys: Type.Array(publicKey, { minItems: 1, maxItems: MOST_KEYS }),
    /** How many of them sign a root. */
    threshold: Type.Integer({ minimum: 1, maximum: MOST_KEYS }),
    /** Each of them may sign a release; sorted. */
    release_keys: Type.Array(publicKey, { minItems: 1, maxItems: MOST_KEYS }),
    /** Releases below this sequence are refused. */
    min_sequence: Type.Integer(whole),
    issued_at: instant,
    /** Then its release keys count no more; a next root is followed even so. */
    expires: instant,
  },
  { additionalProperties: false },
)
export type Root = Static<typeof root>

/** A root and its signatures, as part of the schema of a release. */
export const signedRoot = signedSchema(root)
export type SignedRoot = Static<typeof signedRoot>

/** Largest text of a signed root: eight keys of each kind, sixteen signatures. */
export const MOST_ROOT_BYTES = 4096

/** @throws Fault `release_malformed` */
export function readRoot(text: Uint8Array): SignedRoot {
  return readSignedText(text, signedRoot, MOST_ROOT_BYTES)
}

/** Signs a root. @param keys private root keys: of this one, and of the one before */
export function signRoot(root: Root, keys: readonly KeyObject[]): SignedRoot {
  return { signatures: signText('root', root, keys), signed: root }
}

/**
 * Checks that a root is one by itself: signed by a threshold of its own keys. Whether it is ours is another question.
 * @throws Fault `root_untrusted`
 */
export function proveRoot(root: SignedRoot): Root {
  const { expires, issued_at, release_keys, root_keys, threshold, version } = root.signed
  for (const keys of [root_keys, release_keys])
    if (keys.some((key, at) => at > 0 && key <= (keys[at - 1] ?? '')))
      throw untrusted(`root ${version} names a key twice, or not in order`)
  if (root_keys.some((key) => release_keys.includes(key)))
    throw untrusted(`root ${version} has a key that is to be offline and to sign releases`)
  if (threshold > root_keys.length)
    throw untrusted(`root ${version} wants ${threshold} signatures of ${root_keys.length} keys`)
  if (expires <= issued_at) throw untrusted(`root ${version} expires before it is issued`)
  requireSigners(root, { root_keys, threshold }, 'its own')
  return root.signed
}

/**
 * Follows from the root that is trusted to the newest one offered. Those up to the trusted version are skipped.
 * @param offered by version, upwards
 * @returns the newest, which is the trusted one if there is no newer
 * @throws Fault `root_missing` if a version between is not offered, `root_untrusted` if one is not signed as it must be
 */
export function followRoots(trusted: Root, offered: readonly SignedRoot[]): Root {
  let newest = trusted
  for (const next of offered) {
    const { version } = next.signed
    if (version <= newest.version) continue
    if (version !== newest.version + 1)
      throw new Fault(
        'root_missing',
        `root ${version} is offered, and ${newest.version} is trusted here: those between are missing. Install the newest Plantroom by hand.`,
      )
    requireSigners(next, newest, `those of root ${newest.version}`)
    newest = proveRoot(next)
  }
  return newest
}

function requireSigners(
  root: SignedRoot,
  { root_keys, threshold }: Pick<Root, 'root_keys' | 'threshold'>,
  whose: string,
): void {
  const count = countSigners('root', root, root_keys)
  if (count < threshold)
    throw untrusted(`root ${root.signed.version} is signed by ${count} of ${whose} keys, expected ${threshold}`)
}

function untrusted(sentence: string): Fault {
  return new Fault('root_untrusted', sentence)
}
