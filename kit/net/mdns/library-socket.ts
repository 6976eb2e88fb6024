/** What bonjour-service takes for its socket: every message passes here, in and out. */
import { EventEmitter } from 'node:events'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Admitted } from './guard.ts'
import type { Link } from './links.ts'
import { asksFor, isGoodbye, mended, openMessage } from './message.ts'

/** What it needs of the world. */
export interface LibrarySocketOptions {
  clock: Clock
  links: readonly Link[]
  kind: string
  /** The machine's name with its domain; messages that say where a service runs carry its addresses. */
  host: string
  /** Sends on one link; failing is told there. */
  send(link: Link, bytes: Uint8Array): void
  /** 0..1 */
  chance(): number
}

/** No record goes out twice within this. @source RFC 6762, 6 */
const SAME_AGAIN_MS = 1000
/** Answers of many are spread over this, so that not all are sent at the same moment. @source RFC 6762, 6 */
const SPREAD_MS = { least: 20, most: 120 } as const
/** Different messages that are held back or remembered; our own records make about ten. */
const MOST_HELD = 32
/** More entries than the library puts into one message. */
const MOST_ENTRIES = 1024

type Sent = (error?: Error | null) => void

/**
 * A datagram socket as far as multicast-dns uses one that it is given (`multicast: false`, `bind: false`). Questions go
 * out at once unless somebody else has just put them; answers a little later, once a second at most; both mended for
 * each link.
 */
export class LibrarySocket extends EventEmitter {
  readonly #options: LibrarySocketOptions
  readonly #sentMs = new Map<string, number>()
  readonly #waiting = new Map<Timer, Sent>()
  readonly #askedMs = new Map<Link, number>()
  #isClosed = false
  /** A question is left out where it was put on that link within this time, by whomever. @source RFC 6762, 7.3 */
  spareMs = 0

  constructor(options: LibrarySocketOptions) {
    super()
    this.#options = options
  }

  /** Hands a message to the library, which throws on some that are hostile: that is the caller's to catch. */
  hear(bytes: Uint8Array, from: { address: string; port: number }, { link, asksForOurs }: Admitted): void {
    if (this.#isClosed) return
    if (asksForOurs) this.#askedMs.set(link, this.#options.clock.monotonicMs())
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.emit('message', buffer, { ...from, family: 'IPv4', size: bytes.length })
  }

  /** As the library calls it: buffer, offset, length, port, address, callback. Port and address are not ours to ask. */
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

  /** As the library calls it. */
  close(closed?: () => void): void {
    this.#isClosed = true
    for (const timer of this.#waiting.keys()) timer.cancel()
    this.#waiting.clear()
    if (closed) process.nextTick(closed)
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
