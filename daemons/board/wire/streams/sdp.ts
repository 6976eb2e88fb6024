/**
 * The SDP of a stream: parsed as senders in the field write it, written as AES67 requires.
 * @source RFC 8866
 */

import { Fault } from '#kit/pure/fault.ts'
import { plainText } from '#kit/pure/text.ts'
import { isGroup, isSourceSpecific, parseIpv4 } from '../addresses.ts'
import {
  framesOf,
  playFault,
  type RefClock,
  readRefClock,
  refClockText,
  type StreamDescription,
  type StreamPath,
} from './description.ts'

// An SDP as sections of lines: the session, then each medium.

/** Consecutive lines, in order. */
interface SdpSection {
  /** By type, a single letter such as `c` or `m`; attributes are kept apart. */
  fields: ReadonlyMap<string, string>
  /** An attribute (`a=`): name and value. */
  attributes: readonly { name: string; value: string }[]
}

/** Longest description that is parsed; SAP packets are no longer. */
export const LONGEST_SDP = 8192
/** A board's own description has about twenty. */
const MOST_LINES = 512

/**
 * @param text lines end with CRLF, or with LF from some senders; malformed lines are skipped
 * @returns the session first, then its media
 * @throws Fault `sdp_malformed` if the text is no description, or too long
 * @source RFC 4566, 5
 */
function sectionsOf(text: string): { session: SdpSection; media: SdpSection[] } {
  if (text.length > LONGEST_SDP)
    throw new Fault('sdp_malformed', `the description has ${text.length} characters; at most ${LONGEST_SDP} are read`)
  const lines = text.split(/\r\n|\n|\r|\0/, MOST_LINES + 1)
  if (lines.length > MOST_LINES) throw new Fault('sdp_malformed', `the description has more than ${MOST_LINES} lines`)
  if (!/^v=0\s*$/.test(lines[0] ?? ''))
    throw new Fault('sdp_malformed', 'the text does not begin with v=0, as every description does')
  let section = newSection()
  const sections = [section]
  for (const line of lines) {
    const [, type, value] = /^([a-z])=(.*)$/.exec(line) ?? []
    if (type === undefined || value === undefined) continue
    if (type === 'm') {
      section = newSection()
      sections.push(section)
    }
    if (type === 'a') section.attributes.push(attributeOf(value.trim()))
    else if (!section.fields.has(type)) section.fields.set(type, value.trim())
  }
  const [session = newSection(), ...media] = sections
  return { session, media }
}

function newSection() {
  return { fields: new Map<string, string>(), attributes: [] as { name: string; value: string }[] }
}

function attributeOf(text: string): { name: string; value: string } {
  const colon = text.indexOf(':')
  if (colon < 0) return { name: text.toLowerCase(), value: '' }
  return { name: text.slice(0, colon).trim().toLowerCase(), value: text.slice(colon + 1).trim() }
}

// Parsing, as senders in the field write it.

/** Longest name or information line, in characters. */
const LONGEST_TEXT = 120
/** Two paths are allowed; a few more are kept so that they can be reported. */
const MOST_PATHS = 8
/** Most formats a medium may offer; senders offer one. Each is looked up in all lines. */
const MOST_FORMATS = 16
/** Most media examined; senders have one or two, or a few of video before them. */
const MOST_MEDIA = 8

/**
 * Session lines apply to each medium that does not override them. Of several media the first playable one is taken,
 * with those grouped with it (group:DUP). Media over IPv6, disabled ones, and anything but audio over RTP are skipped.
 * A stream that no board can play is returned too: `playFault` says why.
 * @param text from the network: untrusted
 * @returns `origin` is empty if it is not an IPv4 address
 * @throws Fault `sdp_malformed` if it is no description, `sdp_no_stream` if it has no audio over IPv4 and RTP
 * @source RFC 4566; AES67-2018, 8; RFC 7273; RFC 4570; RFC 7104
 */
export function readSdp(text: string): StreamDescription<string> {
  const { media, session } = sectionsOf(text)
  const { origin, sessionId, version } = originOf(session)
  const shared = { section: session, refClock: refClockOf(session), filters: filtersOf(session) }
  const found = media
    .slice(0, MOST_MEDIA)
    .map((section) => mediumOf(shared, section))
    .filter((medium) => medium !== undefined)
  if (found.length === 0)
    throw new Fault('sdp_no_stream', 'the description has no audio that is sent over IPv4 and RTP')
  const common = {
    sessionId,
    version,
    origin,
    name: plainText(session.fields.get('s') ?? '', LONGEST_TEXT),
    info: plainText(session.fields.get('i') ?? '', LONGEST_TEXT),
  }
  const streams = found.map(({ path, sound }) => ({ ...common, ...sound, paths: [path] }))
  const chosen = Math.max(
    0,
    streams.findIndex((stream) => playFault(stream) === undefined),
  )
  const { mid, path, sound } = found[chosen] as Medium
  const doubles = mid === '' ? [] : groupOf(session, mid)
  const others = found.filter((medium) => medium.mid !== mid && doubles.includes(medium.mid))
  return { ...common, ...sound, paths: [path, ...others.map((medium) => medium.path)].slice(0, MOST_PATHS) }
}

/** Session identity of a description, and where it was made. */
export interface SdpOrigin {
  sessionId: string
  version: string
  /** Empty if it is not an IPv4 address. */
  origin: string
}

/**
 * Parses only the second line: enough to tell sessions apart, and a hundred times as fast.
 * @returns undefined if there is no such line
 * @source RFC 4566, 5.2
 */
export function readSdpOrigin(text: string): SdpOrigin | undefined {
  const line = /^(?:v=0\s*?\r?\n)?o=([^\r\n]{1,320})/.exec(text)?.[1]
  return line === undefined ? undefined : originIn(line)
}

/** One medium that is audio over IPv4 and RTP. */
interface Medium {
  mid: string
  path: StreamPath
  sound: Pick<
    StreamDescription<string>,
    'payloadType' | 'encoding' | 'channels' | 'sampleRate' | 'packetMs' | 'refClock' | 'mediaOffset'
  >
}

function originOf({ fields }: SdpSection): SdpOrigin {
  const origin = originIn(fields.get('o') ?? '')
  if (!origin)
    throw new Fault('sdp_malformed', 'the description does not say in o= which session it is, and of which version')
  return origin
}

/** User names contain spaces at times, against the standard, so numbers and address are parsed from the end. */
function originIn(line: string): SdpOrigin | undefined {
  const [, sessionId, version, address] =
    /(?:^| )(\d{1,20}) +(\d{1,20}) +IN +IP[46] +(\S{1,255})$/i.exec(line.trimEnd()) ?? []
  if (sessionId === undefined || version === undefined || address === undefined) return undefined
  return { sessionId, version, origin: parseIpv4(address) === undefined ? '' : address }
}

/** Session-level values, parsed once: a hostile description has hundreds of lines there, and as many media. */
interface Shared {
  section: SdpSection
  refClock: RefClock | undefined
  filters: readonly SourceFilter[]
}

function mediumOf(shared: Shared, medium: SdpSection): Medium | undefined {
  const { section: session } = shared
  const [, port, formats = ''] =
    /^audio +(\d{1,5})(?:\/\d+)? +RTP\/AVPF?((?: +\d{1,3})+)$/i.exec(medium.fields.get('m') ?? '') ?? []
  const connection = connectionOf(medium.fields.get('c') ?? session.fields.get('c') ?? '')
  const number = Number(port)
  if (!connection || !(number >= 1 && number <= 65_535)) return undefined
  const format = formatOf(medium, formats.trim().split(/ +/, MOST_FORMATS).map(Number))
  if (!format) return undefined
  const attribute = (name: string) => attributeValue(medium, name) ?? attributeValue(session, name)
  return {
    mid: attributeValue(medium, 'mid') ?? '',
    path: {
      ...connection,
      port: number,
      source: sourceOf([...filtersOf(medium), ...shared.filters], connection.group),
    },
    sound: {
      ...format,
      packetMs: packetMsOf(format.sampleRate, attribute),
      refClock: refClockOf(medium) ?? shared.refClock ?? null,
      mediaOffset: mediaOffsetOf(attribute),
    },
  }
}

function connectionOf(line: string): { group: string; ttl: number } | undefined {
  const [, group, ttl = '255'] = /^IN +IP4 +([\d.]+)(?:\/(\d{1,3}))?(?:\/\d+)?$/i.exec(line) ?? []
  if (group === undefined || !parseIpv4(group) || Number(ttl) > 255) return undefined
  return { group, ttl: Number(ttl) }
}

type Format = Pick<StreamDescription<string>, 'payloadType' | 'encoding' | 'channels' | 'sampleRate'>

/** Payload types that need no rtpmap. @source RFC 3551, 6 */
const STATIC_FORMATS: ReadonlyMap<number, Omit<Format, 'payloadType'>> = new Map([
  [10, { encoding: 'L16', sampleRate: 44_100, channels: 2 }],
  [11, { encoding: 'L16', sampleRate: 44_100, channels: 1 }],
])

/** The first format with linear samples, else the first with a known encoding. */
function formatOf(medium: SdpSection, payloadTypes: readonly number[]): Format | undefined {
  const mapped = rtpmapsOf(medium)
  const formats = payloadTypes
    .map((payloadType) => mapped.get(payloadType) ?? staticOf(payloadType))
    .filter((one) => one !== undefined)
  return formats.find(({ encoding }) => encoding === 'L24' || encoding === 'L16') ?? formats[0]
}

/** By payload type; of repeated ones the first. */
function rtpmapsOf({ attributes }: SdpSection): Map<number, Format> {
  const formats = new Map<number, Format>()
  for (const { name, value } of attributes) {
    if (name !== 'rtpmap') continue
    const [, type, encoding, rate, channels = '1'] =
      /^(\d{1,3}) +([\w.+-]{1,32}) *\/ *(\d{1,6})(?: *\/ *(\d{1,3}))?$/.exec(value) ?? []
    const payloadType = Number(type)
    if (encoding === undefined || payloadType > 127 || !Number(rate) || !Number(channels)) continue
    const format = { encoding: encoding.toUpperCase(), sampleRate: Number(rate), channels: Number(channels) }
    if (!formats.has(payloadType)) formats.set(payloadType, { payloadType, ...format })
  }
  return formats
}

function staticOf(payloadType: number): Format | undefined {
  const known = STATIC_FORMATS.get(payloadType)
  return known && { payloadType, ...known }
}

/** Rounds `ptime` to whole frames; RAVENNA senders give their number instead. The default is 1 ms. */
function packetMsOf(sampleRate: number, attribute: (name: string) => string | undefined): number {
  const ptime = /^\d{1,4}(?:\.\d{1,12})?$/.exec(attribute('ptime') ?? '')?.[0]
  const counted = /^\d{1,5}$/.exec(attribute('framecount') ?? '')?.[0]
  const frames = ptime === undefined ? Number(counted ?? 0) : framesOf({ packetMs: Number(ptime), sampleRate })
  return frames > 0 ? (frames * 1000) / sampleRate : 1
}

/** Prefers a PTP grandmaster, then a sound card: these can be compared. */
function refClockOf({ attributes }: SdpSection): RefClock | undefined {
  const clocks = attributes.filter(({ name }) => name === 'ts-refclk').map(({ value }) => readRefClock(value))
  return clocks.find(({ kind }) => kind === 'ptp') ?? clocks.find(({ kind }) => kind === 'localmac') ?? clocks[0]
}

/** RAVENNA senders used `sync-time` before the RFC existed. */
function mediaOffsetOf(attribute: (name: string) => string | undefined): number | null {
  const mediaclk = attribute('mediaclk')
  const text = mediaclk === undefined ? attribute('sync-time') : /^direct *= *(\d+)/i.exec(mediaclk)?.[1]
  const offset = /^\d{1,10}$/.test(text ?? '') ? Number(text) : Number.NaN
  return offset <= 0xffff_ffff ? offset : null
}

interface SourceFilter {
  /** A group, or `*` for all. */
  destination: string
  /** The only source allowed; null for a list of several, or of excluded ones, which does not tell the sender. */
  source: string | null
}

function filtersOf({ attributes }: SdpSection): SourceFilter[] {
  return attributes.flatMap(({ name, value }) => {
    if (name !== 'source-filter') return []
    const [, destination, sources = ''] = /^incl +IN +(?:IP4|\*) +(\S+)((?: +\S+)+)$/i.exec(value) ?? []
    if (destination === undefined) return []
    const [source = '', ...more] = sources.trim().split(/ +/)
    const isOne = more.length === 0 && parseIpv4(source) !== undefined && !isGroup(source)
    return [{ destination, source: isOne ? source : null }]
  })
}

/** @param filters the medium's before the session's */
function sourceOf(filters: readonly SourceFilter[], group: string): string | null {
  const its = filters.find(({ destination }) => destination === group || destination === '*')
  return its?.source ?? null
}

/** Names of the media that carry the same packets. */
function groupOf({ attributes }: SdpSection, mid: string): string[] {
  for (const { name, value } of attributes) {
    if (name !== 'group') continue
    const [semantics, ...mids] = value.split(/ +/)
    if (semantics?.toUpperCase() === 'DUP' && mids.includes(mid)) return mids
  }
  return []
}

function attributeValue({ attributes }: SdpSection, wanted: string): string | undefined {
  return attributes.find(({ name }) => name === wanted)?.value
}

// Writing: what AES67 requires, and the few lines that RAVENNA devices look for.

/**
 * Two paths carry the same packets and are grouped.
 *
 * A source filter is written only for paths that name their source and for groups that cannot be joined without one:
 * with a filter on an ordinary group, Dante's controller no longer lists the stream.
 * @param stream of a board: one or two paths, `origin` is its own address; control characters are removed from name and
 *   information, an empty name becomes a space
 * @returns lines that end with CRLF
 * @source AES67-2018, 8; RFC 4566, 5; RFC 7273, 4.8 and 5.3; RFC 4570, 3; RFC 7104, 4; RAVENNA Operating Principles
 * 1.0, 4
 */
export function writeSdp(stream: StreamDescription): string {
  const { info, name, origin, paths, sessionId, version } = stream
  const isDoubled = paths.length > 1
  const lines = [
    'v=0',
    `o=- ${sessionId} ${version} IN IP4 ${origin}`,
    `s=${plainText(name, LONGEST_TEXT) || ' '}`,
    ...(info === '' ? [] : [`i=${plainText(info, LONGEST_TEXT)}`]),
    't=0 0',
    ...clockDomain(stream),
    ...(isDoubled ? [`a=group:DUP ${paths.map((_, index) => midOf(index)).join(' ')}`] : []),
    ...paths.flatMap((path, index) => [...mediaOf(stream, path), ...(isDoubled ? [`a=mid:${midOf(index)}`] : [])]),
  ]
  return lines.map((line) => `${line}\r\n`).join('')
}

function mediaOf(stream: StreamDescription, path: StreamPath): string[] {
  const { channels, encoding, mediaOffset, packetMs, payloadType, refClock, sampleRate } = stream
  const { group, port, ttl } = path
  const source = path.source ?? (isSourceSpecific(group) ? stream.origin : null)
  return [
    `m=audio ${port} RTP/AVP ${payloadType}`,
    // A unicast address carries no TTL. RFC 4566, 5.7
    `c=IN IP4 ${isGroup(group) ? `${group}/${ttl}` : group}`,
    ...(source === null ? [] : [`a=source-filter: incl IN IP4 ${group} ${source}`]),
    `a=rtpmap:${payloadType} ${encoding}/${sampleRate}/${channels}`,
    'a=recvonly',
    `a=ptime:${Number(packetMs.toFixed(6))}`,
    `a=framecount:${framesOf(stream)}`,
    ...(refClock ? [`a=ts-refclk:${refClockText(refClock)}`] : []),
    ...(mediaOffset === null ? [] : [`a=mediaclk:direct=${mediaOffset}`, `a=sync-time:${mediaOffset}`]),
  ]
}

/** Devices older than RFC 7273 identify the clock by its domain only. */
function clockDomain({ refClock }: StreamDescription): string[] {
  return refClock?.kind === 'ptp' ? [`a=clock-domain:PTPv2 ${refClock.domain}`] : []
}

function midOf(index: number): string {
  return index === 0 ? 'primary' : 'secondary'
}
