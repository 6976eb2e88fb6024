/** mDNS messages, and a filter of those worth decoding. */

import type { Clock } from '../../clock.ts'
import { parseAddress } from '../address.ts'
import { type Link, linkOf } from './sockets.ts'

/** Types of records that we distinguish. @source RFC 1035, 3.2.2; RFC 3596; RFC 2782 */
const TYPE = { A: 1, PTR: 12, TXT: 16, AAAA: 28, SRV: 33 } as const

/** Longest TTL of our records, so that a daemon that was cut off is soon forgotten. */
const LONGEST_TTL_S = 120

/** Class bit of a unique record: earlier ones are to be forgotten. @source RFC 6762, 10.2 */
const FLUSH = 0x8000

const CLASS_IN = 1
const HEADER_BYTES = 12
const QUESTION_TAIL_BYTES = 4
const RECORD_TAIL_BYTES = 10
/** Name of the list of all service types; it belongs to no single daemon. @source RFC 6763, 9 */
const ALL_KINDS = '\x09_services\x07_dns-sd\x04_udp\x05local\0'

/** One record; offsets into the message. */
interface MessageRecord {
  /** Start of its name. */
  startAt: number
  /** End of its data. */
  endAt: number
  type: number
  classAt: number
  ttlAt: number
  ttlS: number
  dataAt: number
  /** 0 answers, 1 authorities, 2 additionals. */
  section: number
}

/** The outline of a message. */
interface Message {
  isResponse: boolean
  questions: number
  /** Where the records begin. */
  recordsAt: number
  records: MessageRecord[]
}

/**
 * Walks a message without decoding names or data.
 * @param mostEntries most questions and records together; longer messages are ignored
 * @returns undefined if it is not a whole message of opcode 0 without error, or holds too much
 * @source RFC 1035, 4.1; RFC 6762, 18
 */
export function openMessage(bytes: Uint8Array, mostEntries: number): Message | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  const flags = word(bytes, 2)
  // Messages with a nonzero opcode or response code must be ignored.
  if ((flags & 0x780f) !== 0) return undefined
  const [questions = 0, ...counts] = [4, 6, 8, 10].map((at) => word(bytes, at))
  if (questions + counts.reduce((sum, count) => sum + count, 0) > mostEntries) return undefined
  let at = HEADER_BYTES
  for (let index = 0; index < questions; index++) {
    const nameEnd = endOfName(bytes, at)
    if (nameEnd === undefined || nameEnd + QUESTION_TAIL_BYTES > bytes.length) return undefined
    at = nameEnd + QUESTION_TAIL_BYTES
  }
  const recordsAt = at
  const records: MessageRecord[] = []
  for (const [section, count] of counts.entries())
    for (let index = 0; index < count; index++) {
      const record = recordAt(bytes, at, section)
      if (!record) return undefined
      records.push(record)
      at = record.endAt
    }
  return { isResponse: (flags & 0x8000) !== 0, questions, recordsAt, records }
}

/** Whether a label is anywhere in the message, in either case. Compressed names point into the message itself. */
export function mentions(bytes: Uint8Array, labels: readonly string[]): boolean {
  const text = latin(bytes).toLowerCase()
  return labels.some((label) => text.includes(String.fromCharCode(label.length) + label))
}

/** Whether a message only asks for one name's pointers, and lists no known answers. */
export function asksFor(bytes: Uint8Array, { isResponse, questions, records }: Message, name: string): boolean {
  if (isResponse || questions !== 1 || records.length > 0) return false
  const question = latin(bytes.subarray(HEADER_BYTES)).toLowerCase()
  return question.startsWith(`${nameBytes(name)}\0\x0c`)
}

/** Whether a message withdraws records. */
export function isGoodbye({ isResponse, records }: Message): boolean {
  return isResponse && records.length > 0 && records.every(({ ttlS }) => ttlS === 0)
}

/** How a link's messages describe this machine. */
interface OwnHost {
  /** `name.local` */
  host: string
  /** Addresses of the link, as text. */
  addresses: readonly string[]
}

/**
 * Corrects one of our messages for one link. bonjour-service 1.4.4 lists the addresses of every interface on each of
 * them, sets a TTL of eight hours, never marks a record as replacing earlier ones, and withdraws the machine's
 * addresses and the service type along with the daemon (docs/decisions/mdns-and-peers.md).
 * @returns undefined if nothing is left to send
 */
export function mended(bytes: Uint8Array, message: Message, own: OwnHost): Uint8Array | undefined {
  const sections: Uint8Array[][] = [[], [], []]
  const asked = new Set<number>()
  for (const record of message.records) {
    if (isAddress(record)) {
      if (record.section === 0 && record.ttlS > 0) asked.add(record.type)
    } else if (!isOfAllKindsTakenBack(bytes, record)) sections[record.section]?.push(mendedRecord(bytes, record))
  }
  const isPlaceSaid = message.records.some(({ type, ttlS }) => type === TYPE.SRV && ttlS > 0)
  const addresses = addressRecords(own)
  sections[0]?.push(...addresses.filter(({ type }) => asked.has(type)).map(({ record }) => record))
  if (isPlaceSaid) sections[2]?.push(...addresses.filter(({ type }) => !asked.has(type)).map(({ record }) => record))
  if (message.isResponse && sections[0]?.length === 0) return undefined
  const out = Buffer.concat([bytes.subarray(0, message.recordsAt), ...sections.flat()])
  for (const [index, section] of sections.entries()) out.writeUInt16BE(section.length, 6 + 2 * index)
  return out
}

function isAddress({ type }: MessageRecord): boolean {
  return type === TYPE.A || type === TYPE.AAAA
}

function isOfAllKindsTakenBack(bytes: Uint8Array, { ttlS, startAt }: MessageRecord): boolean {
  return ttlS === 0 && latin(bytes.subarray(startAt)).startsWith(ALL_KINDS)
}

function mendedRecord(bytes: Uint8Array, record: MessageRecord): Uint8Array {
  const { startAt, endAt, ttlAt, classAt, ttlS, type } = record
  const out = Buffer.from(bytes.subarray(startAt, endAt))
  out.writeUInt32BE(Math.min(ttlS, LONGEST_TTL_S), ttlAt - startAt)
  const isOnlyOne = type !== TYPE.PTR
  if (isOnlyOne) out.writeUInt16BE(word(bytes, classAt) | FLUSH, classAt - startAt)
  return out
}

function addressRecords({ host, addresses }: OwnHost): { type: number; record: Uint8Array }[] {
  const name = Buffer.from(nameBytes(host), 'latin1')
  return addresses.flatMap((text) => {
    const address = parseAddress(text)
    if (!address) return []
    const type = address.length === 4 ? TYPE.A : TYPE.AAAA
    const fields = Buffer.alloc(RECORD_TAIL_BYTES)
    fields.writeUInt16BE(type, 0)
    fields.writeUInt16BE(CLASS_IN | FLUSH, 2)
    fields.writeUInt32BE(LONGEST_TTL_S, 4)
    fields.writeUInt16BE(address.length, 8)
    return [{ type, record: Buffer.concat([name, fields, address]) }]
  })
}

function recordAt(bytes: Uint8Array, startAt: number, section: number): MessageRecord | undefined {
  const nameEnd = endOfName(bytes, startAt)
  if (nameEnd === undefined || nameEnd + RECORD_TAIL_BYTES > bytes.length) return undefined
  const dataAt = nameEnd + RECORD_TAIL_BYTES
  const endAt = dataAt + word(bytes, nameEnd + 8)
  if (endAt > bytes.length) return undefined
  const [classAt, ttlAt] = [nameEnd + 2, nameEnd + 4]
  const ttlS = word(bytes, ttlAt) * 0x10000 + word(bytes, ttlAt + 2)
  return { startAt, endAt, type: word(bytes, nameEnd), classAt, ttlAt, ttlS, dataAt, section }
}

/** Where the name that begins here ends: behind its empty label, or behind the pointer to the rest of it. */
function endOfName(bytes: Uint8Array, at: number): number | undefined {
  while (at < bytes.length) {
    const length = bytes[at] ?? 0
    if (length === 0) return at + 1
    if (length >= 0xc0) return at + 2
    if (length > 63) return undefined
    at += length + 1
  }
  return undefined
}

/** A name as encoded in a message, one character a byte. */
function nameBytes(name: string): string {
  return `${name
    .split('.')
    .map((label) => String.fromCharCode(label.length) + label)
    .join('')}\0`
}

function latin(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

function word(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

// Filter: decides which messages are worth decoding.

/** Why messages were refused; counted. */
export type Refusal = 'malformed' | 'stranger' | 'flood'

/** A message that passed the filter. */
export interface Admitted {
  message: Message
  link: Link
  /** It asks the question that we would ask, so that we need not. */
  asksForOurs: boolean
}

/** Rules of the filter. */
interface GuardOptions {
  clock: Clock
  links: readonly Link[]
  /** Port that responses must come from. */
  port: number
  /** Labels of our own names, lower case; a message must mention one to matter to us. */
  labels: readonly string[]
  /** The kind of service, with its domain: `_plantroom._tcp.local`. */
  kind: string
  /** Whether responses matter at all. */
  isFinding: boolean
  /** Messages accepted per second and source; ten times as many in a burst. */
  perSecond: number
  onRefused(why: Refusal): void
}

/** The longest message allowed. @source RFC 6762, 17 */
const LONGEST_BYTES = 9000
/** Our messages have seven entries; a repeater may put several daemons into one. */
const MOST_ENTRIES = 64
/** Sources are told apart by a hash of their address: the table cannot grow in a flood. */
const BUCKETS = 1024

/**
 * @returns a function that returns a message if it passes, else undefined. Messages that do not concern us are dropped
 * silently, since a building is full of them.
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
