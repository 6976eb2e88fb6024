/**
 * Envelopes of SOAP as ONVIF uses them: requests signed by WS-Security, and what their answers say.
 * @source SOAP 1.2 part 1, 5; ONVIF Core Specification 5.9 (security), 5.8.2 (faults);
 *   OASIS Web Services Security UsernameToken Profile 1.0, 3.1
 */
import { Fault } from '#kit/pure/fault.ts'
import { plainText } from '#kit/pure/text.ts'
import { elementAt, escapeXml, readXml, textAt, type XmlElement } from './xml.ts'

/** What a request is signed with. */
export interface SoapSigning {
  username: string
  password: string
  /** Unguessable bytes of this request. */
  nonce: Uint8Array
  /** The camera's time, epoch ms: it refuses what is older or newer than some seconds by its own clock. */
  cameraMs: number
  /** SHA-1 in base64. */
  sha1(bytes: Uint8Array): string
  base64(bytes: Uint8Array): string
}

const WSSE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd'
const WSU = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd'
const DIGEST = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest'
/** Of the elements that say what a request is, and which answer belongs to it. */
export const ADDRESSING = 'http://www.w3.org/2005/08/addressing'
const BASE64 = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary'

/**
 * A request.
 * @param body the element of the operation, as XML
 * @param signing undefined for what cameras answer to anyone
 * @param addressing elements of the header beside the login, as XML
 */
export function soapText(body: string, signing: SoapSigning | undefined, addressing = ''): string {
  const inner = addressing + (signing ? securityText(signing) : '')
  const header = inner === '' ? '' : `<s:Header>${inner}</s:Header>`
  return `<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope">${header}<s:Body>${body}</s:Body></s:Envelope>`
}

function securityText({ base64, cameraMs, nonce, password, sha1, username }: SoapSigning): string {
  const created = new Date(cameraMs).toISOString()
  const secret = new TextEncoder().encode(created + password)
  const hashed = new Uint8Array(nonce.length + secret.length)
  hashed.set(nonce)
  hashed.set(secret, nonce.length)
  // Some cameras know the element without a prefix alone, so each carries its namespace itself.
  return (
    `<Security s:mustUnderstand="1" xmlns="${WSSE}"><UsernameToken><Username>${escapeXml(username)}</Username>` +
    `<Password Type="${DIGEST}">${sha1(hashed)}</Password><Nonce EncodingType="${BASE64}">${base64(nonce)}</Nonce>` +
    `<Created xmlns="${WSU}">${created}</Created></UsernameToken></Security>`
  )
}

/**
 * Names a request in its header. Some cameras do not take what has an action without it.
 * @param id a UUID that no other request has
 */
export function messageIdText(id: string): string {
  return `<MessageID xmlns="${ADDRESSING}">urn:uuid:${id}</MessageID>`
}

/** Codes of faults that mean the login or what it may do. @source ONVIF Core Specification 5.8.2.2 */
const REFUSALS: ReadonlySet<string> = new Set(['NotAuthorized', 'FailedAuthentication', 'InvalidSecurity'])

/** Codes of faults of cameras that do not know an operation. */
const UNKNOWN: ReadonlySet<string> = new Set(['ActionNotSupported', 'UnknownAction', 'OptionalActionNotImplemented'])

/**
 * Opens an answer.
 * @param name of the element that is expected in its body, `GetProfilesResponse`
 * @throws Fault `onvif_broken`; of faults that the camera answers: `camera_refused` for a login, `onvif_unsupported` for an
 *   operation it does not know, `onvif_failed` for others
 */
export function readSoap(text: string, name: string): XmlElement {
  const body = elementAt(readXml(text), 'Body')
  const fault = elementAt(body, 'Fault')
  if (fault) throw faultOfCamera(fault)
  const answer = elementAt(body, name)
  if (answer) return answer
  throw new Fault('onvif_broken', `The camera answered without ${name}. Update its firmware, or add it by RTSP.`)
}

function faultOfCamera(fault: XmlElement): Fault {
  const words = codesOf(fault)
  const reason = textAt(fault, 'Reason', 'Text') ?? textAt(fault, 'faultstring') ?? words.at(-1) ?? 'no reason'
  const said = sayable(reason)
  if (words.some((word) => REFUSALS.has(word)))
    return new Fault('camera_refused', `The camera does not take this user name and password for ONVIF (${said}).`)
  if (words.some((word) => UNKNOWN.has(word)))
    return new Fault('onvif_unsupported', `The camera does not know what was asked (${said}).`)
  // Where a reason says no more than `Action failed`, the detail often says what is wrong.
  const detail = sayable(textAt(fault, 'Detail', 'Text') ?? reason)
  return new Fault(
    'onvif_failed',
    `The camera answered with a fault: ${detail === said ? said : `${said}: ${detail}`}.`,
  )
}

function sayable(text: string): string {
  return plainText(text, 200).replace(/\.$/, '')
}

/** The codes of a fault from the general to the particular, without prefixes; SOAP 1.1 has one. */
function codesOf(fault: XmlElement): string[] {
  const words = [textAt(fault, 'faultcode')]
  let code = elementAt(fault, 'Code')
  while (code) {
    words.push(textAt(code, 'Value'))
    code = elementAt(code, 'Subcode')
  }
  return words.flatMap((word) => (word === undefined ? [] : [word.slice(word.indexOf(':') + 1)]))
}
