/**
 * The SDP of a stream: read as senders in the field write it, written as AES67 asks for.
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

// An SDP as sections of lines: the session, and each of its media.

/** Lines that stand together, in their order. */
interface SdpSection {
  /** By type, one letter each: `c` or `m`. Attributes are not among them. */
  fields: ReadonlyMap<string, string>
  /** An attribute (`a=`): name and value. */
  attributes: readonly { name: string; value: string }[]
}

/** The longest description that is read; SAP packets are no longer. */
export const LONGEST_SDP = 8192
/** A description of a board's own has about twenty. */
const MOST_LINES = 512

/**
 * @param text lines end with CRLF, or with LF as some senders have it; lines that are none are left out
 * @returns the session first, then its media
 * @throws Fault `sdp_malformed` for a text that is no description, or is too long
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

// Read as senders in the field write it.

/** Characters of a name or an information line. */
const LONGEST_TEXT = 120
/** Two paths are as many as there may be; more are counted, to be refused. */
const MOST_PATHS = 8
/** Formats that a medium may offer; senders offer one. Each is looked up in all lines. */
const MOST_FORMATS = 16
/** Media that are looked at; senders have one or two, or a few of video before them. */
const MOST_MEDIA = 8

/**
 * What stands with the session goes for each of its media that says nothing else. Of several media the first that a
 * board can play is taken, with those grouped with it (group:DUP); media over IPv6, switched off, or other than audio
 * over RTP are passed over. A stream that no board can play is described all the same: `playFault` says why.
 * @param text from the network: anything may stand in it
 * @returns `origin` is empty where it is no IPv4 address
 * @throws Fault `sdp_malformed` for what is no description, `sdp_no_stream` for one without audio over IPv4 and RTP
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

/** Which session a description is of, and where it was made. */
export interface SdpOrigin {
  sessionId: string
  version: string
  /** Empty where it is no IPv4 address. */
  origin: string
}

/**
 * Reads the second line alone: enough to tell sessions apart, a hundred times as fast.
 * @returns undefined where it is no such line
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

/** The name of the user may have spaces in it, against the standard: numbers and address are read from the end. */
function originIn(line: string): SdpOrigin | undefined {
  const [, sessionId, version, address] =
    /(?:^| )(\d{1,20}) +(\d{1,20}) +IN +IP[46] +(\S{1,255})$/i.exec(line.trimEnd()) ?? []
  if (sessionId === undefined || version === undefined || address === undefined) return undefined
  return { sessionId, version, origin: parseIpv4(address) === undefined ? '' : address }
}

/** The session level, read once: a hostile description has hundreds of lines there, and as many media. */
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

/** Those that need no rtpmap. @source RFC 3551, 6 */
const STATIC_FORMATS: ReadonlyMap<number, Omit<Format, 'payloadType'>> = new Map([
  [10, { encoding: 'L16', sampleRate: 44_100, channels: 2 }],
  [11, { encoding: 'L16', sampleRate: 44_100, channels: 1 }],
])

/** The first format that says how it is encoded in linear samples, else the first that says it at all. */
function formatOf(medium: SdpSection, payloadTypes: readonly number[]): Format | undefined {
  const mapped = rtpmapsOf(medium)
  const formats = payloadTypes
    .map((payloadType) => mapped.get(payloadType) ?? staticOf(payloadType))
    .filter((one) => one !== undefined)
  return formats.find(({ encoding }) => encoding === 'L24' || encoding === 'L16') ?? formats[0]
}

/** By payload type; of several for one the first. */
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

/** Whole frames, whatever digits stand there; senders of RAVENNA count them. Where nobody says it, it is 1 ms. */
function packetMsOf(sampleRate: number, attribute: (name: string) => string | undefined): number {
  const ptime = /^\d{1,4}(?:\.\d{1,12})?$/.exec(attribute('ptime') ?? '')?.[0]
  const counted = /^\d{1,5}$/.exec(attribute('framecount') ?? '')?.[0]
  const frames = ptime === undefined ? Number(counted ?? 0) : framesOf({ packetMs: Number(ptime), sampleRate })
  return frames > 0 ? (frames * 1000) / sampleRate : 1
}

/** Of several clocks a grandmaster comes first, then a sound card: those can be compared. */
function refClockOf({ attributes }: SdpSection): RefClock | undefined {
  const clocks = attributes.filter(({ name }) => name === 'ts-refclk').map(({ value }) => readRefClock(value))
  return clocks.find(({ kind }) => kind === 'ptp') ?? clocks.find(({ kind }) => kind === 'localmac') ?? clocks[0]
}

/** Senders of RAVENNA said it in `sync-time` before there was an RFC. */
function mediaOffsetOf(attribute: (name: string) => string | undefined): number | null {
  const mediaclk = attribute('mediaclk')
  const text = mediaclk === undefined ? attribute('sync-time') : /^direct *= *(\d+)/i.exec(mediaclk)?.[1]
  const offset = /^\d{1,10}$/.test(text ?? '') ? Number(text) : Number.NaN
  return offset <= 0xffff_ffff ? offset : null
}

interface SourceFilter {
  /** A group, or `*` for every one. */
  destination: string
  /** The one source that is let in. A list of several, or of what is kept out, does not tell who sends. */
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

/** @param filters those of the medium before those of the session */
function sourceOf(filters: readonly SourceFilter[], group: string): string | null {
  const its = filters.find(({ destination }) => destination === group || destination === '*')
  return its?.source ?? null
}

/** Names of the media that carry the same packets as one. */
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

// Written: what AES67 asks for, and the few lines that RAVENNA devices look for.

/**
 * Paths of which there are two carry the same packets and are grouped.
 *
 * A source filter stands there for paths that name their source, and for groups that cannot be joined without, alone:
 * with one on an ordinary group, Dante's controller lists the stream no more.
 * @param stream of a board: one path or two, `origin` an address of its own; name and information are written without control characters; an empty name as a space
 * @returns lines that end with CRLF
 * @source AES67-2018, 8; RFC 4566, 5; RFC 7273, 4.8 and 5.3; RFC 4570, 3; RFC 7104, 4; RAVENNA Operating Principles 1.0, 4
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

/** Devices from before RFC 7273 know the clock by its domain alone. */
function clockDomain({ refClock }: StreamDescription): string[] {
  return refClock?.kind === 'ptp' ? [`a=clock-domain:PTPv2 ${refClock.domain}`] : []
}

function midOf(index: number): string {
  return index === 0 ? 'primary' : 'secondary'
}
