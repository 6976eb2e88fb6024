/** Assembles streams: announces the board's own and finds others, over SAP and with RAVENNA devices. */
import { createShareOf } from '#kit/net/address.ts'
import type { ServiceKind } from '#kit/net/mdns/library.ts'
import { identityHere, instanceName, Mdns } from '#kit/net/mdns/mdns.ts'
import type { BoardConfig } from '../config.ts'
import type { RoleWorld } from '../core/role.ts'
import {
  type AnnouncementView,
  createOwnSession,
  type OwnStream,
  type RtspSession,
  sessionLabel,
} from '../core/streams/announcing.ts'
import { type HeardStream, StreamBook } from '../core/streams/book.ts'
import { gathered, type ListeningView, SessionFinder } from '../core/streams/finding.ts'
import { streamLink } from '../io/interfaces.ts'
import { describeOverRtsp, RtspServer } from '../io/rtsp.ts'
import { createSapAnnouncer, createSapListener } from '../io/sap.ts'
import type { StreamDescription } from '../wire/streams/description.ts'
import { writeSdp } from '../wire/streams/sdp.ts'

/** @source RAVENNA Operating Principles 1.0, 5.1: sessions are `_ravenna_session` of `_rtsp._tcp` */
const RAVENNA: ServiceKind = { type: 'rtsp', subtype: 'ravenna_session' }

// The board's own stream.

/** What to announce. */
interface AnnounceOptions {
  config: Pick<BoardConfig, 'audio' | 'connections' | 'mdns' | 'streams'>
  /** Whether to use SAP: the setting `sap`. */
  sap: boolean
  hostname: string
  /** The present stream; undefined while it cannot be sent, as without a network. */
  describe(): OwnStream | undefined
}

/** A stream announced as long as the board's parts run. */
export interface StreamAnnouncement {
  /** The stream has changed: another clock, address or name. */
  changed(): void
  /** The present description of the stream. */
  sdp(): string | undefined
  view(): AnnouncementView
}

export function announceStream(world: RoleWorld, options: AnnounceOptions): StreamAnnouncement {
  const { clock, log, onChange, parts, stateFolder } = world
  const { audio, mdns, streams } = options.config
  const link = () => streamLink(audio.interface)
  const session = createOwnSession(clock, sessionIdOf(stateFolder))
  const now = (): StreamDescription | undefined => {
    const stream = options.describe()
    return stream && session.describe(stream)
  }
  const described = () => {
    const stream = now()
    return stream && { sdp: writeSdp(stream), origin: stream.origin }
  }
  const announcer = createSapAnnouncer({
    ...{ clock, log, link, onChange },
    everyMs: streams.announce_s * 1000,
    ttl: streams.sap_ttl,
    recheckMs: mdns.recheck_ms,
    describe: described,
  })
  const ravenna = offerToRavenna(world, options, now)
  if (options.sap) parts.add({ name: 'sap', start: () => announcer.start(), stop: () => announcer.stop() })
  return {
    changed: () => announcer.changed(),
    sdp: () => described()?.sdp,
    view() {
      const { count, lastAt, on } = announcer.view()
      return { sap: options.sap && on, last_at: lastAt, count, ...ravenna.view(), sdp: described()?.sdp ?? '' }
    },
  }
}

/** Described over RTSP, and announced by mDNS if that is enabled. */
function offerToRavenna(world: RoleWorld, options: AnnounceOptions, now: () => StreamDescription | undefined) {
  const { clock, log, parts } = world
  const { audio, connections, mdns, streams } = options.config
  const label = (stream: StreamDescription) => sessionLabel(stream.name, options.hostname)
  const server = new RtspServer({
    ...{ clock, log },
    port: streams.rtsp_port,
    host: isOnLoopback(audio) ? '127.0.0.1' : undefined,
    shareOf: createShareOf(connections.trusted),
    limits: {
      clients: streams.rtsp_clients,
      clientsPerHost: streams.rtsp_clients_per_host,
      requestMs: streams.rtsp_request_ms,
      idleMs: streams.rtsp_idle_s * 1000,
    },
    session() {
      const stream = now()
      return stream && rtspSessionOf(stream, label(stream))
    },
  })
  const names = new Mdns({
    ...{ clock, log, kind: RAVENNA },
    config: { ...mdns, interface: audio.interface || mdns.interface },
    listenHost: '0.0.0.0',
    announcement() {
      const stream = now()
      return stream && { instance: label(stream), hostname: options.hostname, port: server.port, text: {} }
    },
  })
  if (streams.ravenna) {
    parts.add({ name: 'rtsp', start: () => server.start(), stop: () => server.stop() })
    parts.add({ name: 'ravenna', start: () => names.start(), stop: () => names.stop() })
  }
  return {
    view() {
      const stream = now()
      const isOn = server.port > 0 && stream !== undefined
      const { clients, described } = server.counts()
      const url = isOn ? `rtsp://${stream.origin}:${server.port}/by-id/${stream.sessionId}` : null
      return { rtsp: isOn && names.counts().links > 0, url, clients, described }
    },
  }
}

/** Whether the streams are meant to stay on this machine; without a network yet they are not, as one may come. */
function isOnLoopback(audio: { interface: string; second_interface: string }): boolean {
  const wanted = [audio.interface, audio.second_interface].filter((name) => name !== '')
  return wanted.length > 0 && wanted.every((name) => streamLink(name)?.address.startsWith('127.'))
}

function rtspSessionOf(stream: StreamDescription, label: string): RtspSession | undefined {
  const [path] = stream.paths
  if (!path) return undefined
  const { group, port, ttl } = path
  return { names: [label, stream.name], ids: [stream.sessionId, '1'], sdp: writeSdp(stream), group, port, ttl }
}

/** Differs between boards, and between boards on one machine. Some receivers store it in 32 bits. */
function sessionIdOf(stateFolder: string): string {
  const digits = instanceName('stream', identityHere(stateFolder)).slice(-8)
  return String(Number.parseInt(digits, 16))
}

// Streams of others.

/** Where to listen. */
interface ListenOptions {
  config: Pick<BoardConfig, 'audio' | 'mdns' | 'streams'>
  /** The list has changed. */
  onChange(): void
}

/** A flood of new streams must not cause a flood of changes. */
const CHANGES_APART_MS = 100

/** Streams heard as long as the board's parts run. */
export interface StreamListening {
  list(): HeardStream[]
  /** Streams on a group and port, by either path. */
  find(group: string, port: number): HeardStream[]
  view(): ListeningView
}

export function listenStreams({ clock, log, parts }: RoleWorld, { config, onChange }: ListenOptions): StreamListening {
  const { audio, mdns, streams } = config
  const bounds = { most: streams.most, perSender: streams.per_sender, newPerSecond: streams.new_per_second }
  const book = new StreamBook({ clock, bounds, onChange: gathered(clock, CHANGES_APART_MS, onChange) })
  const link = () => streamLink(audio.interface)
  const sap = createSapListener({ clock, log, link, book, recheckMs: mdns.recheck_ms })
  const sessions = new SessionFinder({
    ...{ clock, book },
    most: streams.sessions,
    describeMs: streams.describe_s * 1000,
    roundMs: streams.ask_s * 1000,
    describe: (place) => describeOverRtsp({ clock, timeoutMs: streams.rtsp_request_ms, ...place }),
  })
  const names = new Mdns({
    ...{ clock, log, kind: RAVENNA },
    config: { ...mdns, interface: audio.interface || mdns.interface },
    listenHost: '0.0.0.0',
    announcement: () => undefined,
    finding: {
      queryMs: streams.ask_s * 1000,
      onHeard: (service) => sessions.heard(service),
      onGoodbye: (id) => sessions.gone(id),
    },
  })
  parts.add({
    name: 'streams',
    start: () => {},
    stop() {
      sessions.stop()
      book.close()
    },
  })
  parts.add({ name: 'sap', start: () => sap.start(), stop: () => sap.stop() })
  if (streams.ravenna) parts.add({ name: 'ravenna', start: () => names.start(), stop: () => names.stop() })
  return {
    list: () => book.list(),
    find: (group, port) => book.find(group, port),
    view() {
      const heard = sap.counts()
      const named = sessions.counts()
      return {
        streams: book.size,
        sap: sap.isOpen(),
        sap_packets: heard.packets,
        sap_malformed: heard.malformed,
        sap_not_read: heard.notRead,
        sessions: named.sessions,
        sessions_failed: named.failed,
        refused: book.refused(),
      }
    },
  }
}
