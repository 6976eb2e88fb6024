/** X.509 certificates of two kinds, a root CA and what it signs for one server, written as DER: ECDSA on P-256. */
import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto'
import { parseAddress } from './address.ts'

/** What both kinds have. */
interface CertificateBase {
  /** Name of whom it is for, as programs show it: 1 to 64 characters. */
  subject: string
  /** First and last second of its life. */
  validFromMs: number
  validUntilMs: number
}

/** A root, which signs itself. */
interface RootRequest extends CertificateBase {
  key: KeyObject
  /** DNS names for which it may sign, with all below them; addresses are not limited. */
  permittedNames: readonly string[]
}

/** A certificate for one server. */
interface LeafRequest extends CertificateBase {
  publicKey: KeyObject
  names: readonly string[]
  /** IPv4 and IPv6, without a zone. */
  addresses: readonly string[]
  issuer: { subject: string; key: KeyObject; publicKey: KeyObject }
}

/**
 * @param publicKey of `key`
 * @returns PEM
 * @source RFC 5280, 4.1 and 4.2
 */
export function makeRootCertificate(request: RootRequest, publicKey: KeyObject): string {
  const permitted = request.permittedNames.map((name) => sequence(tlv(DNS_NAME, ascii(name))))
  return signed({
    ...request,
    publicKey,
    issuer: { subject: request.subject, key: request.key, publicKey },
    // The path length keeps what it signs from signing in turn.
    extensions: [
      extension(OID.basicConstraints, 'critical', sequence(TRUE, integer(Uint8Array.of(0)))),
      extension(OID.keyUsage, 'critical', bits(KEY_CERT_SIGN | CRL_SIGN)),
      extension(OID.nameConstraints, 'critical', sequence(tlv(0xa0, ...permitted))),
      extension(OID.subjectKeyId, '', tlv(OCTET_STRING, keyId(publicKey))),
    ],
  })
}

/**
 * @returns PEM
 * @source RFC 5280, 4.1 and 4.2; what browsers ask of a server's certificate: CA/Browser Forum BR 7.1.2.7
 */
export function makeLeafCertificate(request: LeafRequest): string {
  const names = request.names.map((name) => tlv(DNS_NAME, ascii(name)))
  const addresses = request.addresses.map((text) => tlv(IP_ADDRESS, addressBytes(text)))
  return signed({
    ...request,
    extensions: [
      extension(OID.basicConstraints, 'critical', sequence()),
      extension(OID.keyUsage, 'critical', bits(DIGITAL_SIGNATURE)),
      extension(OID.extendedKeyUsage, '', sequence(objectId(OID.serverAuth))),
      extension(OID.subjectAltName, '', sequence(...names, ...addresses)),
      extension(OID.subjectKeyId, '', tlv(OCTET_STRING, keyId(request.publicKey))),
      extension(OID.authorityKeyId, '', sequence(tlv(0x80, keyId(request.issuer.publicKey)))),
    ],
  })
}

/** @throws TypeError for what is no address: the caller has read it from this machine */
function addressBytes(text: string): Uint8Array {
  const bytes = parseAddress(text)
  if (!bytes) throw new TypeError(`${text} is not an address`)
  return bytes
}

function signed(of: Omit<LeafRequest, 'names' | 'addresses'> & { extensions: readonly Uint8Array[] }): string {
  const { issuer, publicKey, subject, validFromMs, validUntilMs, extensions } = of
  // Positive, and never begins with a zero byte, which DER would have to leave out.
  const serial = randomBytes(16)
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  const body = sequence(
    tlv(0xa0, integer(Uint8Array.of(2))),
    integer(serial),
    ECDSA_WITH_SHA256,
    nameOf(issuer.subject),
    sequence(time(validFromMs), time(validUntilMs)),
    nameOf(subject),
    publicKey.export({ format: 'der', type: 'spki' }),
    tlv(0xa3, sequence(...extensions)),
  )
  const whole = sequence(body, ECDSA_WITH_SHA256, bitString(sign('sha256', body, issuer.key)))
  const lines = Buffer.from(whole)
    .toString('base64')
    .replace(/.{1,64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`
}

/** Any value that differs from key to key will do; this is the usual one, cut to the usual length. RFC 7093, 2 */
function keyId(publicKey: KeyObject): Uint8Array {
  return createHash('sha256')
    .update(publicKey.export({ format: 'der', type: 'spki' }))
    .digest()
    .subarray(0, 20)
}

// DER: tag, length, content. @source ITU-T X.690, 8 and 10

const OCTET_STRING = 0x04
/** Alternatives of a GeneralName. @source RFC 5280, 4.2.1.6 */
const DNS_NAME = 0x82
const IP_ADDRESS = 0x87

/** Bits of a key usage, as they stand in its first byte. @source RFC 5280, 4.2.1.3 */
const DIGITAL_SIGNATURE = 0x80
const KEY_CERT_SIGN = 0x04
const CRL_SIGN = 0x02

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  organization: '2.5.4.10',
  commonName: '2.5.4.3',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const

const TRUE = tlv(0x01, Uint8Array.of(0xff))
const ECDSA_WITH_SHA256 = sequence(objectId(OID.ecdsaWithSha256))

function tlv(tag: number, ...content: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(content)
  return Buffer.concat([Uint8Array.of(tag, ...lengthOf(body.length)), body])
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length]
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
}

function sequence(...content: readonly Uint8Array[]): Uint8Array {
  return tlv(0x30, ...content)
}

/** @param bytes of a number that is not negative, its first bit zero, as short as it can be */
function integer(bytes: Uint8Array): Uint8Array {
  return tlv(0x02, bytes)
}

function ascii(text: string): Uint8Array {
  return Buffer.from(text, 'latin1')
}

function objectId(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return tlv(0x06, Uint8Array.from([40 * first + second, ...rest].flatMap(base128)))
}

function base128(part: number): number[] {
  const digits = [part & 0x7f]
  for (let rest = part >> 7; rest > 0; rest >>= 7) digits.unshift(0x80 | (rest & 0x7f))
  return digits
}

/** A bit string whose bits fill its bytes. */
function bitString(bytes: Uint8Array): Uint8Array {
  return tlv(0x03, Uint8Array.of(0), bytes)
}

/** Named bits of one byte: those behind the last that is set are left out. @source X.690, 11.2.2 */
function bits(byte: number): Uint8Array {
  const unused = 31 - Math.clz32(byte & -byte)
  return tlv(0x03, Uint8Array.of(unused, byte))
}

function extension(id: string, critical: 'critical' | '', value: Uint8Array): Uint8Array {
  return sequence(objectId(id), ...(critical ? [TRUE] : []), tlv(OCTET_STRING, value))
}

function nameOf(subject: string): Uint8Array {
  const attribute = (id: string, text: string) =>
    tlv(0x31, sequence(objectId(id), tlv(0x0c, Buffer.from(text, 'utf8'))))
  return sequence(attribute(OID.organization, 'Plantroom'), attribute(OID.commonName, subject))
}

/** UTCTime up to 2049, GeneralizedTime from then on; whole seconds. @source RFC 5280, 4.1.2.5 */
function time(atMs: number): Uint8Array {
  const text = new Date(atMs).toISOString().replace(/[-:T]|\.\d+/g, '')
  return new Date(atMs).getUTCFullYear() < 2050 ? tlv(0x17, ascii(text.slice(2))) : tlv(0x18, ascii(text))
}
