/** Wraps bonjour-service: filters what it hears, and validates what it found. */

import { EventEmitter } from 'node:events'
import type Bonjour from 'bonjour-service'
import type { Browser, Service } from 'bonjour-service'
import { atMost, type Clock, type Timer } from '../../clock.ts'
import { plainText } from '../../pure/text.ts'
import { type AddressClass, classOf, parseAddress } from '../address.ts'
import { type Admitted, asksFor, isGoodbye, mended, openMessage } from './message.ts'
import { type Link, linkOf } from './sockets.ts'

// Kinds of services, as multicast DNS names them.

/** One kind. */
export interface ServiceKind {
  /** `plantroom` for `_plantroom._tcp.local`. */
  type: string
  /** A subtype to look for instead of the whole kind: `ravenna_session`. @source RFC 6763, 7.1 */
  subtype?: string
}

/** The kind of every daemon. */
export const DAEMON: ServiceKind = { type: 'plantroom' }

/** The domain that follows the instance name of services of a kind. */
export function domainOf({ type }: ServiceKind): string {
  return `_${type}._tcp.local`
}

/** The name to query to find them. */
export function soughtOf(kind: ServiceKind): string {
  return kind.subtype === undefined ? domainOf(kind) : `_${kind.subtype}._sub.${domainOf(kind)}`
}

/** Labels, at least one of which is in every message about the kind. */
export function labelsOf({ subtype, type }: ServiceKind): string[] {
  return subtype === undefined ? [`_${type}`] : [`_${type}`, `_${subtype}`]
}

// What another daemon announces, with anything a stranger may have injected removed.

/**
 * A daemon that was heard. Every text comes from a stranger: short, without control characters except in `name`, and
 * not to be trusted.
 */
export interface HeardService {
  /** Its full name, lower case: identifies it. */
  id: string
  /** The instance name exactly as sent, since it is found by no other. Not for display. */
  name: string
  /** Host name it claims to run on: `name.local`, lower case; empty if it names no such host. */
  host: string
  /** 1..65535 */
  port: number
  /** Addresses where it may be reached, the likeliest first. At most four. */
  reach: readonly string[]
  /** The address the message came from: its own or that of a repeater. */
  from: string
  /** Its text record: at most sixteen keys. */
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
 * @returns undefined if it is not a daemon we could talk to, or its records are incomplete
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
 * If the sender's address is among those announced, it alone is used: it is certainly reachable. Otherwise the message
 * came through a repeater. Announced addresses on any other link of ours are then ignored: otherwise anyone on one
 * network could make us call machines on another (docs/decisions/mdns-and-peers.md).
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

/** Link-local IPv6 addresses cannot be opened in a browser. */
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

// The socket given to bonjour-service: every message passes through here, in and out.

/** Dependencies. */
interface LibrarySocketOptions {
  clock: Clock
  links: readonly Link[]
  kind: string
  /** The machine's name with its domain; messages that say where a service runs carry its addresses. */
  host: string
  /** Sends on one link; failures are reported there. */
  send(link: Link, bytes: Uint8Array): void
  /** 0..1 */
  chance(): number
}

/** No record is sent twice within this time. @source RFC 6762, 6 */
const SAME_AGAIN_MS = 1000
/** Random delay of answers, so that many responders do not all send at once. @source RFC 6762, 6 */
const SPREAD_MS = { least: 20, most: 120 } as const
/** Different messages held back or remembered; our own records make about ten. */
const MOST_HELD = 32
/** More entries than the library puts into one message. */
const MOST_ENTRIES = 1024

type Sent = (error?: Error | null) => void

/**
 * Acts as the datagram socket that multicast-dns is given (`multicast: false`, `bind: false`). Questions go out at
 * once, unless somebody else has just asked them; answers a little later, at most once a second. Both are corrected for
 * each link.
 */
export class LibrarySocket extends EventEmitter {
  readonly #options: LibrarySocketOptions
  readonly #sentMs = new Map<string, number>()
  readonly #waiting = new Map<Timer, Sent>()
  readonly #askedMs = new Map<Link, number>()
  #isClosed = false
  /** A question is skipped on a link where anybody asked it within this time. @source RFC 6762, 7.3 */
  spareMs = 0

  constructor(options: LibrarySocketOptions) {
    super()
    this.#options = options
  }

  /** Passes a message to the library, which throws on some hostile ones; the caller must catch that. */
  hear(bytes: Uint8Array, from: { address: string; port: number }, { link, asksForOurs }: Admitted): void {
    if (this.#isClosed) return
    if (asksForOurs) this.#askedMs.set(link, this.#options.clock.monotonicMs())
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.emit('message', buffer, { ...from, family: 'IPv4', size: bytes.length })
  }

  /** Called by the library: buffer, offset, length, port, address, callback. Port and address are ignored. */
  send(bytes: Uint8Array, ...rest: unknown[]): void {
    const sent = rest.at(-1) as Sent
    const message = openMessage(bytes, MOST_ENTRIES)
    if (this.#isClosed || !message) return void process.nextTick(sent)
    if (!message.isResponse) {
      const isOurs = asksFor(bytes, message, this.#options.kind)
      this.#sendNow(bytes, (link) => !isOurs || this.#isToBeAsked(link))
      return void process.nextTick(sent)
    }
    if (isGoodbye(message)) {
      // A delayed answer would announce us again, after the goodbye. A daemon that comes back announces itself at once.
      this.#dropHeld()
      this.#sentMs.clear()
      this.#sendNow(bytes)
      return void process.nextTick(sent)
    }
    if (!this.#isDue(bytes)) return void process.nextTick(sent)
    const delayMs = SPREAD_MS.least + this.#options.chance() * (SPREAD_MS.most - SPREAD_MS.least)
    const timer = this.#options.clock.after(delayMs, () => {
      this.#waiting.delete(timer)
      this.#sendNow(bytes)
      sent()
    })
    this.#waiting.set(timer, sent)
  }

  /** Called by the library. */
  close(closed?: () => void): void {
    this.#isClosed = true
    this.#dropHeld()
    if (closed) process.nextTick(closed)
  }

  #dropHeld(): void {
    for (const [timer, sent] of this.#waiting) {
      timer.cancel()
      process.nextTick(sent)
    }
    this.#waiting.clear()
  }

  #sendNow(bytes: Uint8Array, isTo: (link: Link) => boolean = () => true): void {
    const message = openMessage(bytes, MOST_ENTRIES)
    if (!message) return
    for (const link of this.#options.links) {
      const out = isTo(link)
        ? mended(bytes, message, { host: this.#options.host, addresses: link.addresses })
        : undefined
      if (out) this.#options.send(link, out)
    }
  }

  #isToBeAsked(link: Link): boolean {
    const nowMs = this.#options.clock.monotonicMs()
    const askedMs = this.#askedMs.get(link) ?? Number.NEGATIVE_INFINITY
    if (nowMs - askedMs < this.spareMs) return false
    this.#askedMs.set(link, nowMs)
    return true
  }

  #isDue(bytes: Uint8Array): boolean {
    const nowMs = this.#options.clock.monotonicMs()
    const key = Buffer.from(bytes).toString('latin1')
    const sentMs = this.#sentMs.get(key) ?? Number.NEGATIVE_INFINITY
    if (nowMs - sentMs < SAME_AGAIN_MS) return false
    this.#sentMs.delete(key)
    for (const [oldest, oldestMs] of this.#sentMs) {
      if (this.#sentMs.size < MOST_HELD && nowMs - oldestMs < SAME_AGAIN_MS) break
      this.#sentMs.delete(oldest)
    }
    this.#sentMs.set(key, nowMs)
    return this.#waiting.size < MOST_HELD
  }
}

/** Reports of other daemons. */
interface Hearing {
  onHeard(service: HeardService): void
  onGoodbye(id: string): void
  links: readonly Link[]
}

/** bonjour-service over one socket. */
export interface Library {
  publish(announced: { instance: string; hostname: string; port: number; text: Readonly<Record<string, string>> }): void
  /**
   * Asks which daemons are there. Each round starts with an empty list, so that everybody who answers is reported
   * again.
   */
  find(hearing: Hearing): void
  /** Withdraws what was published. */
  farewell(clock: Clock, deadlineMs: number): Promise<void>
  close(): void
}

/**
 * Bytes of messages that a round may remember; beyond this it starts over, and daemons heard again are reported again.
 * The library keeps each service decoded: a key that is only a number takes kilobytes.
 */
const REMEMBERED_BYTES = 32_768

/**
 * @param socket used for all messages; the library opens none itself
 * @param onFault receives failures to send, which the library would throw uncaught
 */
export async function openLibrary(
  socket: LibrarySocket,
  { subtype, type }: ServiceKind,
  onFault: (fault: unknown) => void,
): Promise<Library> {
  const { default: Library } = await import('bonjour-service')
  const settings = { socket, bind: false, multicast: false } as unknown as ConstructorParameters<typeof Bonjour>[0]
  const bonjour = new Library(settings, onFault)
  const subtypes = subtype === undefined ? [] : [subtype]
  // The library's browser knows no subtypes; we pass the subtype in place of a name.
  const sought = subtype === undefined ? { type } : { type, name: `_${subtype}._sub` }
  let browser: Browser | undefined
  /** That of the round before, with names alone: it knows who says goodbye before anybody has answered in this round. */
  let former: Browser | undefined
  let rememberedBytes = 0
  function forgetFormer(): void {
    former?.stop()
    former = undefined
  }
  // Runs before the library's own listener: it remembers part of some messages and throws at the rest.
  socket.prependListener('message', ({ length }: Uint8Array) => {
    rememberedBytes += length
    if (rememberedBytes <= REMEMBERED_BYTES) return
    rememberedBytes = length
    forgetFormer()
    if (browser) Object.assign(browser, { _services: [], serviceMap: {} })
  })

  return {
    publish({ instance, hostname, port, text }) {
      const host = `${hostname}.local`
      // No probing: if two daemons met, the loser would withdraw the winner's records.
      bonjour.publish({ name: instance, type, subtypes, host, port, txt: { ...text }, probe: false })
    },
    find({ onHeard, onGoodbye, links }) {
      forgetFormer()
      former = browser && withNamesAlone(browser)
      rememberedBytes = 0
      const hear = (service: Service) => {
        const heard = heardServiceOf(service, links)
        if (heard) onHeard(heard)
      }
      browser = bonjour.find(sought, hear)
      leaveOutNumbers(browser)
      browser.on('srv-update', hear).on('txt-update', hear)
      const gone = ({ fqdn }: Service) => onGoodbye(String(fqdn).toLowerCase())
      browser.on('down', gone)
      former?.on('down', (service) => {
        if (!browser?.services.some(({ fqdn }) => fqdn === service.fqdn)) gone(service)
      })
    },
    async farewell(clock, deadlineMs) {
      const { promise, resolve } = Promise.withResolvers<void>()
      bonjour.unpublishAll(() => resolve())
      await atMost(clock, deadlineMs, promise)
    },
    close() {
      forgetFormer()
      browser?.stop()
      bonjour.destroy()
    },
  }
}

/** A browser that tells nothing but goodbyes, and learns nothing more: two whole ones would keep everything twice. */
function withNamesAlone(browser: Browser): Browser {
  const names = browser.services.map(({ fqdn }) => ({ fqdn }))
  const learnsNothing = { addService: () => undefined, replaceService: () => undefined }
  Object.assign(browser.removeAllListeners(), { _services: names, serviceMap: {}, ...learnsNothing })
  return browser
}

/**
 * No text of ours begins with a digit, and V8 keeps a value under the key `999` in a list of a thousand places: a round
 * of such keys takes seven megabytes.
 */
function leaveOutNumbers(browser: Browser): void {
  const { txt } = browser as unknown as { txt: { decodeAll(items: readonly Uint8Array[]): unknown } }
  const isNumber = ([first = 0]: Uint8Array) => first >= 0x30 && first <= 0x39
  const decodeAll = (items: readonly Uint8Array[]) => txt.decodeAll(items.filter((item) => !isNumber(item)))
  Object.assign(browser, { txt: { decodeAll } })
}
