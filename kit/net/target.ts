/** Hosts that a user tells us to call: which are allowed, how they resolve, whose certificates are trusted. */

import { X509Certificate } from 'node:crypto'
import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import tls from 'node:tls'
import { Fault } from '../pure/fault.ts'
import { plainText } from '../pure/text.ts'
import { readNamed } from '../run/named-file.ts'
import { type AddressClass, classOf, parseAddress } from './address.ts'

// Shares DNS lookups: one query per name at a time, however many callers ask.

/** Receives the answer, as from `dns.lookup` with `all`. */
export type Answered = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/** `dns.lookup` with `all`. */
type LookupAll = (hostname: string, options: LookupAllOptions, answered: Answered) => void

/**
 * Callers that ask while the same query is running get its answer. An unreachable resolver holds a query for half a
 * minute, Node runs two at a time, and a caller that gives up does not cancel its query: with retries every few
 * seconds, queries would pile up for as long as the outage lasts, and names that do resolve would wait behind them.
 */
export function createSharedLookup(resolve: LookupAll): LookupAll {
  const asking = new Map<string, Answered[]>()
  return (hostname, options, answered) => {
    const question = JSON.stringify([hostname, options])
    const others = asking.get(question)
    if (others) {
      others.push(answered)
      return
    }
    const waiting = [answered]
    asking.set(question, waiting)
    resolve(hostname, options, (error, addresses) => {
      asking.delete(question)
      for (const tell of waiting) tell(error, addresses)
    })
  }
}

// Certificates of hosts we call: which are trusted, and what to do about one that is not.

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

/** Each one is parsed here, since OpenSSL silently skips text that is not a certificate. */
function certificatesOf(file: string): string[] {
  const blocks =
    readNamed(file)
      .toString('utf8')
      .match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw new Error('it holds no PEM certificate')
  return blocks.map((block) => new X509Certificate(block).toString())
}

/** OpenSSL's error codes that a further authority would fix. @source Node, tls, X509 certificate error codes */
const UNKNOWN_AUTHORITY = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
])

/** Most characters shown of the names in a certificate. */
const LONGEST_NAMES = 200

/**
 * What is wrong with a certificate and what to do about it: Node's own message names a flag of Node, which nobody can
 * give to a daemon.
 * @param error from a TLS connection; nodemailer keeps its code as `originalCode`
 * @param setting that names further authorities
 * @returns undefined if the error is not about a certificate
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

/** Longest URL accepted. */
const LONGEST = 2048

/** Loopback and private networks are allowed: buildings consist of them. */
const FORBIDDEN: Readonly<Partial<Record<AddressClass, string>>> = {
  'link-local': 'a link-local address',
  metadata: 'the address of a metadata service',
  multicast: 'a multicast address',
  unspecified: 'an address of no host',
  reserved: 'a reserved or broadcast address',
}

/**
 * Parses the URL of a target. An address as host is checked here, in any notation, since URL makes it canonical; a name
 * is checked by `lookupSafely` at each connect.
 * @throws Fault `bad_target`; the sentence has the URL as its subject and says what is expected instead
 */
export function parseTarget(text: string): URL {
  if (text.length > LONGEST) refuse(`has ${text.length} characters, at most ${LONGEST} are taken`)
  // URL would drop these silently, so that the stored URL would differ from the checked one.
  if (/[\s\p{Cc}]/u.test(text)) refuse('has a space or a control character')
  const url = URL.parse(text)
  if (!url) return refuse('cannot be read, expected such as http://192.168.1.20:8080/hook')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    refuse(`begins with ${url.protocol} where http:// or https:// is expected`)
  // The URL is shown in lists and log lines.
  if (url.username !== '' || url.password !== '')
    refuse('holds a user name or password: send them in headers, as Authorization')
  if (text.includes('#')) refuse('has a fragment (#...), which is never sent')
  if (url.port === '0') refuse('has port 0, which cannot be connected to')
  const sentence = forbiddenSentence(url.hostname)
  if (sentence !== undefined) refuse(sentence)
  return url
}

/**
 * The `lookup` of `http.request` for targets. Fails if any address of the name is forbidden; a name that resolves
 * differently a moment later (DNS rebinding) gains nothing, since the socket uses the addresses returned here. Node
 * does not look up a host that is an address: `parseTarget` checks that.
 * @throws to its callback Fault `bad_target`, or the resolver's own error
 */
export const lookupSafely: LookupFunction = (hostname, options, callback) => {
  sharedLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0)
    for (const { address } of addresses) {
      const sentence = forbiddenSentence(address)
      if (sentence !== undefined) return callback(new Fault('bad_target', `${hostname} ${sentence}`), '', 0)
    }
    const first = addresses[0]
    if (!first) return callback(new Fault('bad_target', `${hostname} has no address`), '', 0)
    if (options.all) callback(null, addresses)
    else callback(null, first.address, first.family)
  })
}

const sharedLookup = createSharedLookup((hostname, options, answered) => lookup(hostname, options, answered))

/** The same rule for a host that is called by another protocol than HTTP. @throws Fault `bad_target` */
export function checkTargetHost(host: string): void {
  const sentence = forbiddenSentence(host)
  if (sentence !== undefined) refuse(`the address ${sentence}`)
}

function forbiddenSentence(host: string): string | undefined {
  const address = parseAddress(host)
  const what = address && FORBIDDEN[classOf(address)]
  return what && `leads to ${host}, ${what}, to which nothing is sent`
}

function refuse(sentence: string): never {
  throw new Fault('bad_target', sentence)
}
