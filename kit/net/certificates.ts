/** Certificates of those we call: whose are trusted, and what to do where one is not. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { plainText } from '#kit/bytes/plain-text.ts'
import { Fault } from '#kit/fault.ts'

/**
 * @param setting name of the setting that names the file, for the sentence
 * @param file PEM file of further certificate authorities
 * @returns Node's own authorities and those of the file, in PEM
 * @throws Fault `ca_file_unreadable`
 */
export function trustedAuthorities(setting: string, file: string): string[] {
  try {
    return [...tls.getCACertificates('default'), ...certificatesOf(file)]
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Fault('ca_file_unreadable', `${setting} ${file} cannot be used: ${reason}.`, { cause: error })
  }
}

/** Each is read here, since OpenSSL passes over text that holds no certificate without a word. */
function certificatesOf(file: string): string[] {
  const blocks = readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new Error('it holds no PEM certificate')
  return blocks.map((block) => new X509Certificate(block).toString())
}

/** OpenSSL's reasons that end with a further authority. @source Node, tls, X509 certificate error codes */
const UNKNOWN_AUTHORITY = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
])

/** Of the names in a certificate, in characters. */
const LONGEST_NAMES = 200

/**
 * What is wrong with a certificate and what to do about it: Node's own sentence names a flag of Node, which nobody can
 * give to a daemon.
 * @param error as a TLS connection told it; nodemailer keeps its code as `originalCode`
 * @param setting that takes further authorities
 * @returns undefined where the error is about no certificate
 */
export function certificateSentence(error: unknown, setting: string): string | undefined {
  const { code, originalCode, cert } = (error ?? {}) as CertificateError
  const reason = originalCode ?? code ?? ''
  if (UNKNOWN_AUTHORITY.has(reason))
    return `no authority known here has signed the certificate (${reason}); if it is to be trusted, name a PEM file with its authority, or with itself where it is self-signed, in ${setting}, and restart`
  if (reason === 'CERT_HAS_EXPIRED') return "the certificate has expired; renew it there, or set this machine's clock"
  if (reason === 'CERT_NOT_YET_VALID') return "the certificate is not valid yet; look at this machine's clock"
  if (reason !== 'ERR_TLS_CERT_ALTNAME_INVALID') return undefined
  const names = plainText(cert?.subjectaltname ?? cert?.subject?.CN ?? '', LONGEST_NAMES)
  return `the certificate is for other names (${names === '' ? 'none' : names}); call it by one of these`
}

interface CertificateError {
  code?: string
  originalCode?: string
  cert?: { subjectaltname?: string; subject?: { CN?: string } }
}
