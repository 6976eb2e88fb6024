/**
 * Signed texts: JSON with Ed25519 signatures over it, in one form only. A text whose keys are in another order, are there
 * twice, or have blanks between is refused, so that all who read it read the same.
 *
 * The signature is over a line that names what is signed, then the JSON: a signature of one kind is none of another.
 */
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { type Static, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../pure/fault.ts'
import { sortedJson } from '../revision.ts'

const strict = { additionalProperties: false }

/**
 * A public key: 32 bytes in base64, whose unused bits are zero. It is its own name: no key can have two, and count twice.
 */
export const publicKey = Type.String({ pattern: '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$' })

/** Epoch milliseconds. @source ECMA-262, 21.4.1.1, for the last instant that a Date can hold */
export const instant = Type.Integer({ minimum: 0, maximum: 8.64e15 })

/** Most keys of one kind, and so most signatures of one text. */
export const MOST_KEYS = 8

const signature = Type.Object({ key: publicKey, sig: Type.String({ pattern: '^[A-Za-z0-9+/]{85}[AQgw]==$' }) }, strict)
export type Signature = Static<typeof signature>

/** The form of a signed text, as part of a schema. */
export function signedSchema<Schema extends TSchema>(signed: Schema) {
  return Type.Object({ signatures: Type.Array(signature, { minItems: 1, maxItems: 2 * MOST_KEYS }), signed }, strict)
}

/** What is signed: the kind of text is a part of it. */
export type SignedKind = 'root' | 'update' | 'installer' | 'image' | 'lease' | 'licence-notice' | 'licence-request'

/** The bytes that a signature is over. @param signed a plain value that JSON can hold */
export function signedBytes(kind: SignedKind, signed: unknown): Buffer {
  return Buffer.from(`plantroom ${kind} 1\n${sortedJson(signed)}`)
}

/** Signs. @param keys private keys, Ed25519 */
export function signText(kind: SignedKind, signed: unknown, keys: readonly KeyObject[]): Signature[] {
  const bytes = signedBytes(kind, signed)
  return keys
    .map((key) => ({ key: publicKeyOf(key), sig: sign(null, bytes, key).toString('base64') }))
    .sort((one, other) => (one.key < other.key ? -1 : 1))
}

/** How many different ones of these keys have signed. */
export function countSigners(
  kind: SignedKind,
  { signed, signatures }: { signed: unknown; signatures: readonly Signature[] },
  keys: readonly string[],
): number {
  const bytes = signedBytes(kind, signed)
  const has = (key: string) =>
    signatures.some((one) => one.key === key && verify(null, bytes, keyObject(key), Buffer.from(one.sig, 'base64')))
  return new Set(keys.filter(has)).size
}

/** The public half of a key, as signed texts name it. */
export function publicKeyOf(key: KeyObject): string {
  const { x } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' })
  return Buffer.from(x ?? '', 'base64url').toString('base64')
}

/** A public key as the crypto of Node takes it. */
function keyObject(key: string): KeyObject {
  const x = Buffer.from(key, 'base64').toString('base64url')
  return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
}

/** The one text of a value. */
export function textOfSigned(value: unknown): string {
  return `${sortedJson(value)}\n`
}

/**
 * Reads a text in its one form; whether the right ones signed it is not looked at.
 * @param schema with `additionalProperties: false` all through
 * @throws Fault `release_malformed`
 */
export function readSignedText<Schema extends TSchema>(
  text: Uint8Array,
  schema: Schema,
  mostBytes: number,
): Static<Schema> {
  if (text.length > mostBytes)
    throw new Fault('release_malformed', `the signed text has ${text.length} bytes, at most ${mostBytes} are read`)
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text))
  } catch (cause) {
    throw new Fault('release_malformed', 'the signed text is not JSON', { cause })
  }
  if (!Value.Check(schema, value)) {
    const [first] = Value.Errors(schema, value)
    throw new Fault(
      'release_malformed',
      `the signed text has other fields: ${first?.instancePath || 'it'} ${first?.message}`,
    )
  }
  if (!Buffer.from(textOfSigned(value)).equals(text))
    throw new Fault('release_malformed', 'the signed text is not in its one form: keys sorted, none twice, no blanks')
  return value as Static<Schema>
}
