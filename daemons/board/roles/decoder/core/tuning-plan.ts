/** What is to be received, from the route, what is announced, what is heard, and the clock: a rule without memory. */
import type { HeardStream } from '../../../core/streams/book.ts'
import type { StreamEncoding } from '../../../wire/streams/description.ts'
import { isInLocalSegment, type OwnNetwork } from './local-segment.ts'
import type { ReceivePath, ReceptionStats, Tuning } from './ports.ts'
import type { RouteRecord } from './route-form.ts'
import { announcementOf, chooseSource, senderOf } from './source-choice.ts'
import { chooseSync, type OwnClock } from './sync-choice.ts'

/** What a plan is made from. */
export interface PlanFacts {
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
export interface HeardNow {
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
  const announced = streams.map((stream) => senderOf(stream, mcast, port))
  const source = chooseSource({ named: route.source, announced, playing: heard.sender, held: heard.held })
  const sender = source ?? heard.sender
  const announcement = announcementOf(streams, route, sender)
  const { sync, broken } = chooseSync({ announcement, own: clock, transitMs: heard.transitMs })
  const linkMs = route.link_ms ?? settings.link_ms
  const extLinkMs = isInLocalSegment(sender, networks) ? 0 : settings.ext_link_ms
  const isFormer = former !== null && senderOf(former, mcast, port) === sender
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
