/**
 * The question to which cameras answer on their network, and their answers.
 * @source OASIS Web Services Dynamic Discovery 1.1 as of its draft of April 2005, 5 and 6; ONVIF Core Specification 7.3
 */
import { plainText } from '#kit/pure/text.ts'
import { childrenOf, elementAt, escapeXml, readXml, textAt, type XmlElement } from './xml.ts'

/** Where cameras listen. */
export const DISCOVERY_GROUP = '239.255.255.250'
export const DISCOVERY_PORT = 3702

const ADDRESSING = 'http://schemas.xmlsoap.org/ws/2004/08/addressing'
const DISCOVERY = 'http://schemas.xmlsoap.org/ws/2005/04/discovery'

/**
 * The question, as one datagram. Cameras differ in which of ONVIF's types they know, and a question without any is
 * answered by printers too: those are left out by `readProbeMatches`.
 * @param messageId `urn:uuid:...`, unguessable: answers name it
 */
export function probeText(messageId: string): string {
  return (
    `<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="${ADDRESSING}">` +
    `<s:Header><a:Action s:mustUnderstand="1">${DISCOVERY}/Probe</a:Action><a:MessageID>${escapeXml(messageId)}</a:MessageID>` +
    '<a:ReplyTo><a:Address>http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous</a:Address></a:ReplyTo>' +
    '<a:To s:mustUnderstand="1">urn:schemas-xmlsoap-org:ws:2005:04:discovery</a:To></s:Header>' +
    `<s:Body><Probe xmlns="${DISCOVERY}"><d:Types xmlns:d="${DISCOVERY}" xmlns:dn="http://www.onvif.org/ver10/network/wsdl">` +
    'dn:NetworkVideoTransmitter</d:Types></Probe></s:Body></s:Envelope>'
  )
}

/** One device of an answer. Texts are those of the device, made safe to show. */
export interface ProbeMatch {
  /** Its endpoint reference, the same for as long as the device lives; empty if it says none. */
  endpoint: string
  /** Addresses of its device service, as it says them. */
  addresses: string[]
  name: string | undefined
  manufacturer: string | undefined
  /** ONVIF calls it the hardware. */
  model: string | undefined
}

/** Devices of one answer; those beyond are ignored. */
const MOST_MATCHES = 4
const MOST_ADDRESSES = 8
const LONGEST_ADDRESS = 512
const LONGEST_NAME = 64
const MOST_WORDS = 64

/**
 * Reads an answer.
 * @param messageId of the question
 * @returns nothing for an answer to another question, and for devices that are not of ONVIF
 * @throws Fault `onvif_broken`
 */
export function readProbeMatches(text: string, messageId: string): ProbeMatch[] {
  const root = readXml(text)
  // Some leave it out; one that names another question belongs to somebody else's.
  const relatesTo = textAt(root, 'Header', 'RelatesTo')
  if (relatesTo !== undefined && relatesTo !== messageId) return []
  const matches = childrenOf(elementAt(root, 'Body', 'ProbeMatches'), 'ProbeMatch')
  return matches.slice(0, MOST_MATCHES).filter(isCamera).map(matchOf)
}

function isCamera(match: XmlElement): boolean {
  const types = textAt(match, 'Types') ?? ''
  return /\b(?:NetworkVideoTransmitter|Device)\b/.test(types) || scopesOf(match).length > 0
}

function matchOf(match: XmlElement): ProbeMatch {
  const scopes = scopesOf(match)
  const said = (...words: string[]) => scopes.find(([word]) => words.includes(word))?.[1]
  return {
    endpoint: plainText(textAt(match, 'EndpointReference', 'Address') ?? '', 128),
    addresses: (textAt(match, 'XAddrs') ?? '')
      .split(/\s+/)
      .filter((address) => address !== '' && address.length <= LONGEST_ADDRESS)
      .slice(0, MOST_ADDRESSES),
    name: said('name'),
    manufacturer: said('manufacturer', 'mfr'),
    model: said('hardware'),
  }
}

/** Scopes of ONVIF as word and value. @source ONVIF Core Specification 7.3.3.2 */
function scopesOf(match: XmlElement): [string, string][] {
  const texts: string[] = []
  for (const word of (textAt(match, 'Scopes') ?? '').split(/\s+/).slice(0, MOST_WORDS)) {
    const before = word.includes(':') ? undefined : texts.pop()
    // Some write blanks of a name as they are, which end a scope by the standard.
    texts.push(before === undefined ? word : `${before} ${word}`)
  }
  return texts.flatMap((text) => {
    const [, word = '', value = ''] = /^onvif:\/\/www\.onvif\.org\/(\w+)\/(.+)$/i.exec(text) ?? []
    const name = plainText(decoded(value), LONGEST_NAME)
    return name === '' ? [] : [[word.toLowerCase(), name] as [string, string]]
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('_', ' '))
  } catch {
    return text
  }
}
