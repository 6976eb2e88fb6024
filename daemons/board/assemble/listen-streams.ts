/** Streams of others found: over SAP, and those of RAVENNA devices by mDNS and RTSP. */
import { Mdns } from '#kit/net/mdns/mdns.ts'
import type { BoardConfig } from '../config.ts'
import type { RoleWorld } from '../core/role.ts'
import { gathered } from '../core/streams/gathered.ts'
import type { HeardStream } from '../core/streams/heard-stream.ts'
import { SessionFinder } from '../core/streams/session-finder.ts'
import { StreamBook } from '../core/streams/stream-book.ts'
import type { ListeningView } from '../core/streams/stream-views.ts'
import { describeOverRtsp } from '../io/streams/rtsp-client.ts'
import { createSapListener } from '../io/streams/sap-listener.ts'
import { streamLink } from '../io/streams/stream-link.ts'
import { RAVENNA } from './ravenna.ts'

/** Where is listened. */
export interface ListenOptions {
  config: Pick<BoardConfig, 'audio' | 'mdns' | 'streams'>
  /** The list is otherwise now. */
  onChange(): void
}

/** A flood of new streams is no flood of changes. */
const CHANGES_APART_MS = 100

/** Streams heard from the start of the board's parts to their end. */
export interface StreamListening {
  list(): HeardStream[]
  /** Those that come on a group and port, by either path. */
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
