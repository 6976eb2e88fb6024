/**
 * A firmware image's header: the kind of board it is for, its version, size and signature. The layout is in
 * firmware-images/README.md.
 * @source our own format: firmware-images/README.md
 */
import { Fault } from '#kit/pure/fault.ts'
import { compareVersions } from '#kit/pure/version.ts'

// Versions: three numbers.

/** Pattern of a version such as `2.0.13`: each number has at most six digits and no leading zero. */
export const VERSION_PATTERN = '^(0|[1-9][0-9]{0,5})\\.(0|[1-9][0-9]{0,5})\\.(0|[1-9][0-9]{0,5})$'

const VERSION = new RegExp(VERSION_PATTERN)

/** Whether the text is the version of an image. */
export function isImageVersion(text: string): boolean {
  return VERSION.test(text)
}

// The header of an image.

/** Signed description of an image. */
export interface Manifest {
  /** Kind of board it is for: letters, digits, `.`, `_` and `-`, at most 64. */
  compatible: string
  version: string
  /** Oldest version that may be installed after this one; null for no limit. */
  floor: string | null
  /** Length of the payload. */
  sizeBytes: number
  /** SHA-256 of the payload, 64 hex digits. */
  sha256: string
}

/** A header split into its parts, not yet verified. */
interface Head {
  /** The bytes covered by the signature. */
  signed: Uint8Array
  /** Ed25519. */
  signature: Uint8Array
  /** JSON; parse it only after verifying the signature. */
  manifest: Uint8Array
}

/** Bytes that `headLength` needs: the mark and the manifest's length. */
export const START_BYTES = 12

/** Bytes of an Ed25519 signature. @source RFC 8032, 5.1.6 */
const SIGNATURE_BYTES = 64

/** Longest manifest. */
export const MOST_MANIFEST_BYTES = 4096

const MARK = new TextEncoder().encode('PLANTFW1')

/**
 * Length of a header.
 * @param start its first START_BYTES bytes: `PLANTFW1`, then the manifest's length, 4 bytes, big-endian
 * @returns bytes of mark, length, manifest and signature together
 * @throws Fault `image_unknown`
 */
export function headLength(start: Uint8Array): number {
  if (start.length < START_BYTES || MARK.some((byte, at) => start[at] !== byte))
    throw new Fault('image_unknown', 'this is not a firmware image: it does not begin with PLANTFW1')
  const manifestBytes = new DataView(start.buffer, start.byteOffset).getUint32(MARK.length)
  if (manifestBytes < 2 || manifestBytes > MOST_MANIFEST_BYTES)
    throw new Fault(
      'image_unknown',
      `the image has a manifest of ${manifestBytes} bytes, expected 2 to ${MOST_MANIFEST_BYTES}`,
    )
  return START_BYTES + manifestBytes + SIGNATURE_BYTES
}

/** Splits a whole header. @param head as many bytes as `headLength` returned */
export function splitHead(head: Uint8Array): Head {
  const signed = head.subarray(0, -SIGNATURE_BYTES)
  return { signed, signature: head.subarray(-SIGNATURE_BYTES), manifest: signed.subarray(START_BYTES) }
}

/**
 * Parses a manifest whose signature has been verified. Unknown fields are ignored, so that later versions can add some.
 * @throws Fault `image_unknown`
 */
export function openManifest(manifest: Uint8Array): Manifest {
  const fields = fieldsOf(manifest)
  const { compatible, version, floor = null, size, sha256 } = fields
  if (typeof compatible !== 'string' || !/^[A-Za-z0-9._-]{1,64}$/.test(compatible))
    throw bad('compatible is not the name of a kind of board')
  if (typeof version !== 'string' || !isImageVersion(version)) throw bad('version is not three numbers such as 2.0.13')
  if (floor !== null && (typeof floor !== 'string' || !isImageVersion(floor)))
    throw bad('floor is not three numbers such as 2.0.13')
  if (floor !== null && compareVersions(version, floor) < 0) throw bad('floor is later than version')
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 1)
    throw bad('size is not a number of bytes above 0')
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) throw bad('sha256 is not 64 hex digits')
  return { compatible, version, floor, sizeBytes: size, sha256 }
}

/** The part to sign: mark, length and manifest. The signature follows it, then the payload. */
export function signedPart(manifest: Manifest): Uint8Array {
  const { compatible, version, floor, sizeBytes, sha256 } = manifest
  const fields = { compatible, version, ...(floor !== null && { floor }), size: sizeBytes, sha256 }
  const text = new TextEncoder().encode(JSON.stringify(fields))
  const bytes = new Uint8Array(START_BYTES + text.length)
  bytes.set(MARK)
  new DataView(bytes.buffer).setUint32(MARK.length, text.length)
  bytes.set(text, START_BYTES)
  return bytes
}

function fieldsOf(manifest: Uint8Array): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(manifest))
  } catch (cause) {
    throw new Fault('image_unknown', "the image's manifest is not JSON", { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('it is not an object')
  return value as Record<string, unknown>
}

function bad(what: string): Fault {
  return new Fault('image_unknown', `the image's manifest cannot be used: ${what}`)
}
