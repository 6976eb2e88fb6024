/** What another daemon says of itself, cleaned of whatever a stranger may have put into it. */
import type { Service } from 'bonjour-service'
import { plainText } from '../../bytes/plain-text.ts'
import { type AddressClass, classOf, parseAddress } from '../address.ts'
import { type Link, linkOf } from './links.ts'

/** A daemon that was heard. Every text is a stranger's: short, without control characters but `name`, and not to be believed. */
export interface HeardService {
  /** Its full name, lower case: what tells it from others. */
  id: string
  /** The name before its kind sign for sign as it is written: by no other is it found. Not for people. */
  name: string
  /** Where it says it runs: `name.local`, lower case; empty where it names no such host. */
  host: string
  /** 1..65535 */
  port: number
  /** Where it may be reached, the likeliest first. At most four. */
  reach: readonly string[]
  /** The address the message came from, which is its own or that of a repeater. */
  from: string
  /** What stands in its text record: at most sixteen keys. */
  text: ReadonlyMap<string, string>
}

const LONGEST_ID = 255
const LONGEST_TEXT = 128
const MOST_KEYS = 16
const MOST_REACH = 4
/** One label below `.local`. @source RFC 1123, 2.1; RFC 6762, 3 */
const HOST = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.local$/
const KEY = /^[a-z0-9_-]{1,16}$/

/**
 * @param links those of this machine
 * @returns undefined where it is no daemon that could be spoken to, or nothing that is wholly said
 */
export function heardServiceOf(service: Service, links: readonly Link[]): HeardService | undefined {
  const { fqdn, host, port, referer, addresses = [], txt } = service
  if (!referer || !txt || typeof fqdn !== 'string' || fqdn.length > LONGEST_ID) return undefined
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined
  const id = plainText(fqdn, LONGEST_ID).toLowerCase()
  const hostName = typeof host === 'string' ? host.toLowerCase() : ''
  const from = referer.address
  const reach = reachOf(addresses, from, links)
  const name = fqdn.replace(/\._[^.]+\._tcp\.local$/i, '')
  return { id, name, host: HOST.test(hostName) ? hostName : '', port, reach, from, text: textOf(txt) }
}

/**
 * The address the message came from where it is among those announced: that one is reached for certain. Where it is not,
 * a repeater stands between. What stands on another wire than the message came over is not believed then: whoever is
 * on one wire could have us ask machines on another (docs/decisions/mdns-and-peers.md).
 */
function reachOf(announced: readonly string[], from: string, links: readonly Link[]): string[] {
  if (announced.includes(from)) return [from]
  const link = linkOf(links, from)
  const good = announced.filter((text) => {
    const other = linkOf(links, text)
    return isReachable(text, kindOf(from)) && (!other || other === link)
  })
  const v4First = [...new Set(good)].sort((one, other) => Number(one.includes(':')) - Number(other.includes(':')))
  return v4First.length > 0 ? v4First.slice(0, MOST_REACH) : [from]
}

/** IPv6 addresses of one wire alone cannot be opened in a browser. */
function isReachable(text: string, fromKind: AddressClass | undefined): boolean {
  const kind = kindOf(text)
  if (kind === 'loopback') return fromKind === 'loopback'
  return kind === 'ordinary' || (kind === 'link-local' && !text.includes(':'))
}

function kindOf(text: string): AddressClass | undefined {
  const address = parseAddress(text)
  return address && classOf(address)
}

function textOf(txt: unknown): Map<string, string> {
  const text = new Map<string, string>()
  for (const [key, value] of Object.entries(txt as Record<string, unknown>)) {
    if (text.size >= MOST_KEYS) break
    if (typeof value === 'string' && KEY.test(key)) text.set(key, plainText(value, LONGEST_TEXT))
  }
  return text
}
