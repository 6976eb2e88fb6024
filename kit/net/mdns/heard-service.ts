/** What another daemon says of itself, cleaned of whatever a stranger may have put into it. */
import type { Service } from 'bonjour-service'
import { classOf, parseAddress } from '../address.ts'
import { plainText } from './plain-text.ts'

/** A daemon that was heard. Every text is a stranger's: short, without control characters, and not to be believed. */
export interface HeardService {
  /** Its full name, lower case: what tells it from others. */
  id: string
  /** Where it says it runs: `name.local`, lower case; empty where it names no such host. */
  host: string
  /** 1..65535 */
  port: number
  /** What it says its addresses are; none that means the machine itself or a group. At most eight. */
  addresses: readonly string[]
  /** The address the message came from, which is its own or that of a repeater. */
  from: string
  /** What stands in its text record: at most sixteen keys. */
  text: ReadonlyMap<string, string>
}

const LONGEST_ID = 255
const LONGEST_TEXT = 128
const MOST_KEYS = 16
const MOST_ADDRESSES = 8
/** One label below `.local`. @source RFC 1123, 2.1; RFC 6762, 3 */
const HOST = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.local$/
const KEY = /^[a-z0-9_-]{1,16}$/

/** @returns undefined where it is no daemon that could be spoken to, or nothing that is wholly said */
export function heardServiceOf(service: Service): HeardService | undefined {
  const { fqdn, host, port, referer, addresses, txt } = service
  if (!referer || !txt || typeof fqdn !== 'string' || fqdn.length > LONGEST_ID) return undefined
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined
  const id = plainText(fqdn, LONGEST_ID).toLowerCase()
  const name = String(host).toLowerCase()
  const from = referer.address
  return {
    id,
    host: HOST.test(name) ? name : '',
    port,
    addresses: addressesOf(addresses, from),
    from,
    text: textOf(txt),
  }
}

function addressesOf(addresses: readonly string[] | undefined, from: string): string[] {
  const isFromHere = isLoopback(from)
  const good = (addresses ?? []).filter((text) => {
    const address = parseAddress(text)
    const kind = address && classOf(address)
    return kind === 'ordinary' || kind === 'link-local' || (isFromHere && kind === 'loopback')
  })
  return [...new Set(good)].slice(0, MOST_ADDRESSES)
}

function isLoopback(text: string): boolean {
  const address = parseAddress(text)
  return address !== undefined && classOf(address) === 'loopback'
}

function textOf(txt: unknown): Map<string, string> {
  const text = new Map<string, string>()
  for (const [key, value] of Object.entries(txt as Record<string, unknown>)) {
    if (text.size >= MOST_KEYS) break
    if (typeof value === 'string' && KEY.test(key)) text.set(key, plainText(value, LONGEST_TEXT))
  }
  return text
}
