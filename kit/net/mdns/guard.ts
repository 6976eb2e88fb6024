/** Which messages of the network are looked at, before anything decodes them. */
import type { Clock } from '#kit/clock.ts'
import { type Link, linkOf } from './links.ts'
import { asksFor, type Message, mentions, openMessage } from './message.ts'

/** Why messages were not looked at; counted. */
export type Refusal = 'malformed' | 'stranger' | 'flood'

/** A message that may be looked at. */
export interface Admitted {
  message: Message
  link: Link
  /** It asks for what we look for ourselves, so that we need not. */
  asksForOurs: boolean
}

/** What is asked of each message. */
export interface GuardOptions {
  clock: Clock
  links: readonly Link[]
  /** Port that responses have to come from. */
  port: number
  /** Labels one of which a message has to mention to matter to us, lower case: those of our own names. */
  labels: readonly string[]
  /** The kind of service, with its domain: `_plantroom._tcp.local`. */
  kind: string
  /** Whether responses matter at all. */
  isFinding: boolean
  /** Messages looked at per second and source; ten times as many at once. */
  perSecond: number
  onRefused(why: Refusal): void
}

/** The longest message there may be. @source RFC 6762, 17 */
const LONGEST_BYTES = 9000
/** A message of ours has seven entries; a repeater may put several daemons into one. */
const MOST_ENTRIES = 64
/** Sources are told apart by a hash of their address: a table that no flood can make grow. */
const BUCKETS = 1024

/**
 * @returns a function that gives what is to be looked at; undefined for everything else. Messages that have nothing to
 *   do with us are left out silently, since a building is full of them.
 * @source RFC 6762: 6 (source port of responses), 11 (off-link sources), 18 (codes)
 */
export function createGuard({ clock, links, port, labels, kind, isFinding, perSecond, onRefused }: GuardOptions) {
  const tokens = new Float64Array(BUCKETS).fill(perSecond * 10)
  const filledMs = new Float64Array(BUCKETS).fill(clock.monotonicMs())

  function takeToken(address: string): boolean {
    const bucket = bucketOf(address)
    const nowMs = clock.monotonicMs()
    const gained = ((nowMs - (filledMs[bucket] ?? 0)) * perSecond) / 1000
    const there = Math.min(perSecond * 10, (tokens[bucket] ?? 0) + gained)
    filledMs[bucket] = nowMs
    tokens[bucket] = there >= 1 ? there - 1 : there
    return there >= 1
  }

  function refuse(why: Refusal): undefined {
    onRefused(why)
  }

  return (bytes: Uint8Array, from: { address: string; port: number }): Admitted | undefined => {
    if (bytes.length > LONGEST_BYTES) return refuse('malformed')
    if (!mentions(bytes, labels)) return undefined
    const link = linkOf(links, from.address)
    if (!link) return refuse('stranger')
    if (!takeToken(from.address)) return refuse('flood')
    const message = openMessage(bytes, MOST_ENTRIES)
    if (!message) return refuse('malformed')
    if (message.isResponse && from.port !== port) return refuse('stranger')
    if (message.isResponse && !isFinding) return undefined
    return { message, link, asksForOurs: asksFor(bytes, message, kind) }
  }
}

/** @source FNV-1a */
function bucketOf(address: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < address.length; at++) hash = Math.imul(hash ^ address.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % BUCKETS
}
