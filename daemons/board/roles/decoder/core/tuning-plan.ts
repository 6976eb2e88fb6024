/** What is to be received, and by what time, from the route, what is announced, what is heard, and the clock: rules without memory. */
import type { PtpView } from '../../../core/ptp/ptp.ts'
import type { HeardStream } from '../../../core/streams/book.ts'
import { isInNetwork, parseIpv4 } from '../../../wire/addresses.ts'
import { isSameClock, type OwnRefClock, type StreamEncoding } from '../../../wire/streams/description.ts'
import type { ReceivePath, ReceptionStats, SyncMode, Tuning } from './ports.ts'
import type { RouteRecord } from './route.ts'

// Whether a sender is in a network of this board, or beyond a router.

/** One address of this board. */
export interface OwnNetwork {
  address: string
  /** Bits of its network. */
  prefix: number
}

/**
 * @param sender null while nobody is heard: it is taken to be near, as most are
 * @param own all addresses of this board; IPv6 ones are left out
 */
export function isInLocalSegment(sender: string | null, own: readonly OwnNetwork[]): boolean {
  const address = sender === null ? undefined : parseIpv4(sender)
  if (address === undefined) return true
  const [first, second] = [address >>> 24, (address >>> 16) & 0xff]
  // This very machine, and addresses that no router passes on (RFC 3927, 7).
  if (first === 127 || (first === 169 && second === 254)) return true
  return own.some(({ address: text, prefix }) => {
    const mine = parseIpv4(text)
    return mine !== undefined && isInNetwork(address, mine, prefix)
  })
}

// Which sender of a group is played, and which announcement is its.

/** What a sender is chosen from. */
interface SourceFacts {
  /** Of the route. */
  named: string | null
  /** Addresses that announce this very group and port. */
  announced: readonly string[]
  /** Who is heard now, and has not fallen silent. */
  playing: string | null
  /** The only one that is let through now; null: any. */
  held: string | null
}

/**
 * The named one; else the announced one where exactly one announces that group and port; else the first that is heard.
 * One that plays goes on when further ones begin to announce its group, until it falls silent.
 * @returns its address, or null for the first that is heard
 * @source Interface 2, B, rule 1
 */
export function chooseSource({ named, announced, playing, held }: SourceFacts): string | null {
  if (named !== null) return named
  const [only, ...others] = new Set(announced)
  if (only !== undefined && others.length === 0) return only
  return playing !== null && playing === held ? held : null
}

/** Who sends a stream to a group and port: each of two paths has its own sender. */
export function streamSender(stream: HeardStream, mcast: string, port: number): string {
  const { dup } = stream
  const isSecond = dup !== null && dup.mcast === mcast && dup.port === port && stream.mcast !== mcast
  return isSecond ? (dup.source ?? stream.source) : stream.source
}

/**
 * The announcement of what is played: that of the sender, or the only one. What somebody else tells of a sender counts
 * where the sender itself tells nothing: anybody may tell anything of anybody.
 * @param streams those that come on the group and port
 * @param sender null while nobody is chosen and nobody is heard
 */
export function announcementOf(
  streams: readonly HeardStream[],
  at: { mcast: string; port: number },
  sender: string | null,
): HeardStream | null {
  const its = streams.filter((stream) => streamSender(stream, at.mcast, at.port) === sender)
  const own = its.filter((stream) => isOwnWord(stream))
  // Of several by one sender the newest counts: it may have restarted under another session.
  const newest = (own.length > 0 ? own : its).sort((one, other) => other.last_heard_at - one.last_heard_at)[0]
  if (newest !== undefined) return newest
  return sender === null && streams.length === 1 ? (streams[0] ?? null) : null
}

/** Whether a stream is announced from where it is sent, by either path. */
function isOwnWord({ dup, from, source }: HeardStream): boolean {
  return from === source || from === dup?.source
}

// By what time a stream is played: the clock that board and sender share, or the arrival of its packets.

/** The board's own clock. */
export interface OwnClock {
  view: Pick<PtpView, 'enabled' | 'state'>
  refClock: OwnRefClock
  isLocked: boolean
  /** It has been, at some time since the start. */
  wasLocked: boolean
}

/** What the choice is made from. */
interface SyncFacts {
  /** null where nobody announces it. */
  announcement: Pick<HeardStream, 'refclk'> | null
  own: OwnClock
  /** Arrival of packets less their timestamps by the board's clock, in ms; null while that is not known. */
  transitMs: number | null
}

/** How it is played, and why it may not be. */
interface SyncChoice {
  sync: SyncMode
  /** Why the stream cannot be played in time with its sender; null where it can. */
  broken: 'no_ptp_lock' | 'other_grandmaster' | null
}

/** Timestamps this close to the board's own clock are counted on it: by chance that is one stream in half a million. */
const SAME_CLOCK_MS = { from: -20, to: 150 } as const

/**
 * A stream that names a grandmaster is played by that clock where this board follows one, and is silent while it has
 * never been locked, or follows another; a board without PTP plays it by arrival, as it does those of a sender that keeps
 * its own time. What names no clock is on the board's where its timestamps say so.
 */
export function chooseSync({ announcement, own, transitMs }: SyncFacts): SyncChoice {
  const clock = announcement?.refclk ?? null
  const isByPtp = own.view.enabled && own.view.state !== 'absent'
  if (clock?.kind === 'ptp') {
    if (!isByPtp) return { sync: 'arrival', broken: null }
    // A clock that is lost goes on at its last rate, and so does the sound.
    if (!own.isLocked) return { sync: 'clock', broken: own.wasLocked ? null : 'no_ptp_lock' }
    return { sync: 'clock', broken: isSameClock(clock, own.refClock) ? null : 'other_grandmaster' }
  }
  if (clock?.kind === 'localmac') {
    const isOwn = own.refClock.kind === 'localmac' && own.refClock.mac.toUpperCase() === clock.mac.toUpperCase()
    return { sync: isOwn ? 'clock' : 'arrival', broken: null }
  }
  const isOurs = own.isLocked && transitMs !== null && isNear(transitMs)
  return { sync: isOurs ? 'clock' : 'arrival', broken: null }
}

function isNear(transitMs: number): boolean {
  return transitMs >= SAME_CLOCK_MS.from && transitMs <= SAME_CLOCK_MS.to
}

// The plan.

/** What a plan is made from. */
interface PlanFacts {
  /** Not stopped. */
  route: RouteRecord
  settings: { link_ms: number; ext_link_ms: number }
  /** How much earlier than the link asks for a packet may come. */
  earlyMs: number
  /** Streams announced for the group and port of the route. */
  streams: readonly HeardStream[]
  clock: OwnClock
  networks: readonly OwnNetwork[]
  heard: HeardNow
  /** How what is played was announced last; null once its sender has brought no sound for a while. */
  former: HeardStream | null
}

/** What the receiver that is open hears. */
interface HeardNow {
  /** Who is heard and has not fallen silent. */
  sender: string | null
  /** The only one that it lets through. */
  held: string | null
  transitMs: number | null
}

/** What is to be done. */
export interface TuningPlan {
  tuning: Tuning
  announcement: HeardStream | null
  /** Why it is received and not heard; null where it is heard. */
  broken: 'no_ptp_lock' | 'other_grandmaster' | 'wrong_encoding' | null
  /** Own and added time, in ms. */
  linkMs: number
  extLinkMs: number
}

/**
 * An announcement may be lost while its stream goes on: what it said of packets holds for as long as they bring sound.
 * What it said of the clock does not, which may be why it was taken back.
 * @source Interface 2, B, rules 1 and 2
 */
export function planTuning(facts: PlanFacts): TuningPlan {
  const { route, settings, earlyMs, streams, clock, networks, heard, former } = facts
  const { mcast, port } = route
  const announced = streams.map((stream) => streamSender(stream, mcast, port))
  const source = chooseSource({ named: route.source, announced, playing: heard.sender, held: heard.held })
  const sender = source ?? heard.sender
  const announcement = announcementOf(streams, route, sender)
  const { sync, broken } = chooseSync({ announcement, own: clock, transitMs: heard.transitMs })
  const linkMs = route.link_ms ?? settings.link_ms
  const extLinkMs = isInLocalSegment(sender, networks) ? 0 : settings.ext_link_ms
  const isFormer = former !== null && streamSender(former, mcast, port) === sender
  const told = announcement ?? (isFormer ? former : null)
  const encoding = route.encoding ?? encodingOf(told) ?? 'L24'
  const isPlayable = announcement === null || (announcement.not_playable === null && announcement.encoding === encoding)
  return {
    tuning: {
      paths: pathsOf(route, told, source),
      encoding,
      // What nobody can play may claim any number.
      channels: told?.not_playable === null ? told.channels : 0,
      payloadType: told?.payload_type ?? null,
      mediaOffset: route.mclk_offset ?? told?.mclk_offset ?? 0,
      linkMs: linkMs + extLinkMs,
      roomMs: roomFor(linkMs + extLinkMs, earlyMs),
      sync,
    },
    announcement,
    broken: isPlayable ? broken : 'wrong_encoding',
    linkMs,
    extLinkMs,
  }
}

/**
 * Whether a receiver that is open does already what a plan asks for: what it was to find out by itself, and has found, is
 * as good as told. Another link alone takes no other receiver.
 */
export function doesAlready(open: Tuning, next: Tuning, stats: ReceptionStats | null): boolean {
  const found: Tuning = {
    ...open,
    // More room than is needed does no harm.
    roomMs: Math.max(open.roomMs, next.roomMs) === open.roomMs ? next.roomMs : open.roomMs,
    channels: open.channels === 0 && stats?.channels === next.channels ? next.channels : open.channels,
    payloadType:
      open.payloadType === null && stats?.payloadType === next.payloadType ? next.payloadType : open.payloadType,
    paths: open.paths.map((path, index) => {
      const wanted = next.paths[index]?.source ?? null
      const isHeard = path.source === null && wanted !== null && stats?.paths[index]?.sender === wanted
      return isHeard ? { ...path, source: wanted } : path
    }),
  }
  return JSON.stringify({ ...found, linkMs: 0 }) === JSON.stringify({ ...next, linkMs: 0 })
}

/** In steps, so that the link can be moved without another receiver. */
function roomFor(linkMs: number, earlyMs: number): number {
  const leastMs = 2 * Math.max(linkMs, earlyMs)
  return LEAST_ROOM_MS * 2 ** Math.max(0, Math.ceil(Math.log2(leastMs / LEAST_ROOM_MS)))
}

const LEAST_ROOM_MS = 500

function encodingOf(announcement: HeardStream | null): StreamEncoding | undefined {
  const encoding = announcement?.encoding
  return encoding === 'L16' || encoding === 'L24' ? encoding : undefined
}

/** The path of the route, and of a stream that has two the other one as well. */
function pathsOf(route: RouteRecord, announcement: HeardStream | null, source: string | null): ReceivePath[] {
  const path = { group: route.mcast, port: route.port, source }
  if (announcement === null || announcement.dup === null) return [path]
  const { dup, mcast, port } = announcement
  const first = { group: mcast, port, source: announcement.source }
  const second = { group: dup.mcast, port: dup.port, source: dup.source }
  // In the order of the announcement, since each path has an interface of its own; the route's source holds for its own.
  const isFirst = mcast === route.mcast && port === route.port
  return isFirst ? [path, second] : [first, path]
}
