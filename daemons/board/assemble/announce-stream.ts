/** A board's stream made known: over SAP, and to RAVENNA devices by mDNS and RTSP. */
import { createShareOf } from '#kit/net/address.ts'
import { identityHere, instanceName } from '#kit/net/mdns/instance-name.ts'
import { Mdns } from '#kit/net/mdns/mdns.ts'
import type { BoardConfig } from '../config.ts'
import type { RoleWorld } from '../core/role.ts'
import { createOwnSession, type OwnStream, sessionLabel } from '../core/streams/own-session.ts'
import type { RtspSession } from '../core/streams/rtsp-desk.ts'
import type { AnnouncementView } from '../core/streams/stream-views.ts'
import { RtspServer } from '../io/streams/rtsp-server.ts'
import { createSapAnnouncer } from '../io/streams/sap-announcer.ts'
import { streamLink } from '../io/streams/stream-link.ts'
import type { StreamDescription } from '../wire/streams/stream-description.ts'
import { writeSdp } from '../wire/streams/write-sdp.ts'
import { RAVENNA } from './ravenna.ts'

/** What is announced. */
export interface AnnounceOptions {
  config: Pick<BoardConfig, 'audio' | 'connections' | 'mdns' | 'streams'>
  /** Whether over SAP: the setting `sap`. */
  sap: boolean
  hostname: string
  /** As the stream is now; undefined while it cannot be sent, as without a network. */
  describe(): OwnStream | undefined
}

/** A stream that is made known from the start of the board's parts to their end. */
export interface StreamAnnouncement {
  /** The stream is otherwise now: another clock, address or name. */
  changed(): void
  /** The stream as it is described now, for whoever asks. */
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

/** Described over RTSP, and named by mDNS where that is switched on. */
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

/** Whether somebody wants the streams to stay on this machine: where there is no network yet, one may come. */
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

/** Differs from board to board, and from one board of a machine to another. Some receivers keep it in 32 bits. */
function sessionIdOf(stateFolder: string): string {
  const digits = instanceName('stream', identityHere(stateFolder)).slice(-8)
  return String(Number.parseInt(digits, 16))
}
