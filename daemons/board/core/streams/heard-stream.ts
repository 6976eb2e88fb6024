/** A stream that was heard on the network, as `GET /api/streams` shows it. */
import type { RefClock } from '../../wire/streams/ref-clock.ts'
import { playFault, type StreamDescription } from '../../wire/streams/stream-description.ts'

/** How a stream was heard of: announced by SAP; named by mDNS; described over RTSP. */
export type HeardBy = 'sap' | 'mdns' | 'rtsp'

/** One stream; every text in it is a stranger's. */
export interface HeardStream {
  /** Tells it from all others for as long as it is heard. */
  id: string
  name: string
  info: string
  mcast: string
  port: number
  /** Whoever sends it: that which its description names (source-filter), else where the description was made. */
  source: string
  /** Where the description was made. */
  origin: string
  /** Address that told of it: its sender's own word, or somebody else's. */
  from: string
  /** `L24`, `L16`, or what else it is. */
  encoding: string
  channels: number
  /** Hz */
  sample_rate: number
  packet_ms: number
  payload_type: number
  ttl: number
  refclk: RefClock | null
  /** RTP timestamp at the epoch of its clock; null where it does not say. */
  mclk_offset: number | null
  /** The second path of a stream that has two. */
  dup: { mcast: string; port: number; source: string | null } | null
  /** Whether packets of others than `source` are to be left out, as its description asks for. */
  source_specific: boolean
  /** Why no board can play it; null where boards can. */
  not_playable: string | null
  heard_by: HeardBy[]
  /** Epoch milliseconds. */
  first_heard_at: number
  last_heard_at: number
  /** As it was heard. */
  sdp: string
}

/** How, from whom, when and in which words a stream was heard of. */
export type Hearsay = Pick<HeardStream, 'id' | 'from' | 'heard_by' | 'first_heard_at' | 'last_heard_at' | 'sdp'>

/** @param stream has at least one path */
export function heardStreamOf(stream: StreamDescription<string>, hearsay: Hearsay): HeardStream {
  const [path, dup] = stream.paths
  return {
    ...hearsay,
    name: stream.name,
    info: stream.info,
    mcast: path?.group ?? '',
    port: path?.port ?? 0,
    source: path?.source ?? stream.origin,
    origin: stream.origin,
    encoding: stream.encoding,
    channels: stream.channels,
    sample_rate: stream.sampleRate,
    packet_ms: stream.packetMs,
    payload_type: stream.payloadType,
    ttl: path?.ttl ?? 0,
    refclk: stream.refClock,
    mclk_offset: stream.mediaOffset,
    dup: dup ? { mcast: dup.group, port: dup.port, source: dup.source } : null,
    source_specific: typeof path?.source === 'string',
    not_playable: playFault(stream) ?? null,
  }
}
