/**
 * Decides what to receive and by which clock, from the route, announcements, the current sender and the clock: rules
 * without state.
 */
import type { PtpView } from '../../../core/ptp/ptp.ts'
import type { HeardStream } from '../../../core/streams/book.ts'
import { isInNetwork, parseIpv4 } from '../../../wire/addresses.ts'
import { isSameClock, type OwnRefClock, type StreamEncoding } from '../../../wire/streams/description.ts'
import type { ReceivePath, ReceptionStats, SyncMode, Tuning } from './ports.ts'
import type { RouteRecord } from './route.ts'

// Whether a sender is in one of this board's networks, or beyond a router.

/** One address of this board. */
export interface OwnNetwork {
  address: string
  /** Bits of its network. */
  prefix: number
}

/**
 * @param sender null if none is heard: assumed to be near, as most are
 * @param own all addresses of this board; IPv6 ones are ignored
 */
export function isInLocalSegment(sender: string | null, own: readonly OwnNetwork[]): boolean {
  const address = sender === null ? undefined : parseIpv4(sender)
  if (address === undefined) return true
  const [first, second] = [address >>> 24, (address >>> 16) & 0xff]
  // This machine, and addresses that no router forwards (RFC 3927, 7).
  if (first === 127 || (first === 169 && second === 254)) return true
  return own.some(({ address: text, prefix }) => {
    const mine = parseIpv4(text)
    return mine !== undefined && isInNetwork(address, mine, prefix)
  })
}

// Which sender of a group is played, and which announcement belongs to it.

/** Input for choosing a sender. */
interface SourceFacts {
  /** Named in the route. */
  named: string | null
  /** Senders announced for this very group and port. */
  announced: readonly string[]
  /** The current sender, unless it has fallen silent. */
  playing: string | null
  /** The only sender accepted now; null: any. */
  held: string | null
}

/**
 * The named sender; else the announced one if exactly one announces that group and port; else the first one heard. A
 * playing sender stays when others begin to announce its group, until it falls silent.
 * @returns its address, or null for the first one heard
 * @source Interface 2, B, rule 1
 */
export function chooseSource({ named, announced, playing, held }: SourceFacts): string | null {
  if (named !== null) return named
  const [only, ...others] = new Set(announced)
  if (only !== undefined && others.length === 0) return only
  return playing !== null && playing === held ? held : null
}

/** The sender of a stream to a group and port: each of two paths has its own. */
export function streamSender(stream: HeardStream, mcast: string, port: number): string {
  const { dup } = stream
  const isSecond = dup !== null && dup.mcast === mcast && dup.port === port && stream.mcast !== mcast
  return isSecond ? (dup.source ?? stream.source) : stream.source
}

/**
 * The announcement of what is played: that of the sender, or the only one. Announcements by others count only if the
 * sender makes none: anybody may announce anything.
 * @param streams streams on the group and port
 * @param sender null if none is chosen and none is heard
 */
export function announcementOf(
  streams: readonly HeardStream[],
  at: { mcast: string; port: number },
  sender: string | null,
): HeardStream | null {
  const its = streams.filter((stream) => streamSender(stream, at.mcast, at.port) === sender)
  const own = its.filter((stream) => isOwnWord(stream))
  // Of several by one sender the newest counts: it may have restarted with another session.
  const newest = (own.length > 0 ? own : its).sort((one, other) => other.last_heard_at - one.last_heard_at)[0]
  if (newest !== undefined) return newest
  return sender === null && streams.length === 1 ? (streams[0] ?? null) : null
}

/** Whether a stream is announced by its own sender, of either path. */
function isOwnWord({ dup, from, source }: HeardStream): boolean {
  return from === source || from === dup?.source
}

// By which clock a stream is played: the one that board and sender share, or the arrival of its packets.

/** The board's own clock. */
export interface OwnClock {
  view: Pick<PtpView, 'enabled' | 'state'>
  refClock: OwnRefClock
  isLocked: boolean
  /** Whether it was ever locked since the start. */
  wasLocked: boolean
}

/** Input for the choice. */
interface SyncFacts {
  /** null if nobody announces it. */
  announcement: Pick<HeardStream, 'refclk'> | null
  own: OwnClock
  /** Arrival of packets minus their timestamps on the board's clock, in ms; null if unknown. */
  transitMs: number | null
}

/** The result. */
interface SyncChoice {
  sync: SyncMode
  /** Why the stream cannot be played in time with its sender; null if it can. */
  broken: 'no_ptp_lock' | 'other_grandmaster' | null
}

/**
 * Timestamps this close to the board's own clock are assumed to be on it: by chance that is one stream in half a
 * million.
 */
const SAME_CLOCK_MS = { from: -20, to: 150 } as const

/**
 * A stream that names a grandmaster is played by that clock if this board follows one; it is silent while the board was
 * never locked, or follows another. A board without PTP plays it by arrival, like streams of a sender with its own
 * time. A stream that names no clock is on the board's if its timestamps say so.
 */
export function chooseSync({ announcement, own, transitMs }: SyncFacts): SyncChoice {
  const clock = announcement?.refclk ?? null
  const isByPtp = own.view.enabled && own.view.state !== 'absent'
  if (clock?.kind === 'ptp') {
    if (!isByPtp) return { sync: 'arrival', broken: null }
    // After a loss the clock goes on at its last rate, and so does the sound.
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

/** Input of a plan. */
interface PlanFacts {
  /** Not stopped. */
  route: RouteRecord
  settings: { link_ms: number; ext_link_ms: number }
  /** How much earlier than the link requires a packet may arrive. */
  earlyMs: number
  /** Streams announced for the group and port of the route. */
  streams: readonly HeardStream[]
  clock: OwnClock
  networks: readonly OwnNetwork[]
  heard: HeardNow
  /** Last announcement of what is played; null once its sender has brought no sound for a while. */
  former: HeardStream | null
}

/** State of the open receiver. */
interface HeardNow {
  /** The current sender, unless it has fallen silent. */
  sender: string | null
  /** The only sender that it accepts. */
  held: string | null
  transitMs: number | null
}

/** The decision. */
export interface TuningPlan {
  tuning: Tuning
  announcement: HeardStream | null
  /** Why it is received but not played; null if it is played. */
  broken: 'no_ptp_lock' | 'other_grandmaster' | 'wrong_encoding' | null
  /** The link offset itself and the added time, in ms. */
  linkMs: number
  extLinkMs: number
}

/**
 * An announcement may be lost while its stream goes on: its packet format stays in use as long as packets bring sound.
 * Its clock does not, which may be why it was withdrawn.
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
      // An unplayable stream may claim any number of channels.
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
 * Whether an open receiver already does what a plan asks: what it detected by itself counts like what is announced. A
 * new link offset alone needs no other receiver.
 */
export function doesAlready(open: Tuning, next: Tuning, stats: ReceptionStats | null): boolean {
  const found: Tuning = {
    ...open,
    // A larger ring than needed does no harm.
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

/** In steps, so that the link can be changed without another receiver. */
function roomFor(linkMs: number, earlyMs: number): number {
  const leastMs = 2 * Math.max(linkMs, earlyMs)
  return LEAST_ROOM_MS * 2 ** Math.max(0, Math.ceil(Math.log2(leastMs / LEAST_ROOM_MS)))
}

const LEAST_ROOM_MS = 500

function encodingOf(announcement: HeardStream | null): StreamEncoding | undefined {
  const encoding = announcement?.encoding
  return encoding === 'L16' || encoding === 'L24' ? encoding : undefined
}

/** The path of the route, and the other one if the stream has two. */
function pathsOf(route: RouteRecord, announcement: HeardStream | null, source: string | null): ReceivePath[] {
  const path = { group: route.mcast, port: route.port, source }
  if (announcement === null || announcement.dup === null) return [path]
  const { dup, mcast, port } = announcement
  const first = { group: mcast, port, source: announcement.source }
  const second = { group: dup.mcast, port: dup.port, source: dup.source }
  // In the order of the announcement, since each path has its own interface; the route's source applies to the route's
  // path.
  const isFirst = mcast === route.mcast && port === route.port
  return isFirst ? [path, second] : [first, path]
}
