/** Statistics of a receiver: the addon's counts, converted for callers. */

/** Counts of one path since it was opened, passed through unchanged. */
interface PathCounts {
  /** RTP packets from the current sender, and bytes of their payload. */
  packets: number
  bytes: number
  /** By sequence numbers (RFC 3550 A.3), 32 packets later; decreased if a packet arrives after all. */
  lost: number
  duplicate: number
  reordered: number
  /** Number of restarts of the sequence numbers. */
  restarts: number
  /** Arrived after their place had been played. */
  late: number
  /** Timestamps further from now than the ring reaches. */
  wild: number
  /** From the sender's address, but another synchronisation source. */
  wrongSsrc: number
  /** Another payload type, or sizes that do not fit the encoding and channels. */
  wrongFormat: number
}

/** As in receiver-calls.cc. */
interface NativePath extends PathCounts {
  wrongSource: number
  malformed: number[]
  sender: string | null
  otherAddress: string | null
  ssrc: number
  payloadType: number
  seenFrameBytes: number
}

/** Result of `receiverStats`. */
export interface NativeStats {
  paths: NativePath[]
  packets: number
  lost: number
  late: number
  channels: number
  framesPerPacket: number
  anchors: number
  goodFrames: number
  repeatedFrames: number
  silentFrames: number
  glitches: number
  lastTimestamp: number
  lastMonotonicNs: bigint
  errors: number
  receiveBufferBytes: number
  asked: number
  granted: boolean
  refusal: number
}

/** Result of `takeArrivals`; transits on the receiver's clock. */
export interface NativeArrivals {
  packets: number
  leastNs: bigint
  medianNs: bigint
  p99Ns: bigint
  mostNs: bigint
  fastestMonotonicNs: bigint
  fastestFrame: bigint
}

/** Why datagrams were not RTP packets, in the order of RtpFault in rtp-packet.h, after `none`. */
const MALFORMED = ['tooShort', 'version', 'contributors', 'extension', 'padding', 'empty', 'tooLong'] as const

/** Counts of one path since it was opened. */
export interface PathStats extends PathCounts {
  /** From other addresses than the sender's; and the last such address. */
  wrongSource: { count: number; address: string | null }
  malformed: Record<(typeof MALFORMED)[number], number>
  /** null if nothing was received for `senderGoneMs`. */
  sender: string | null
  ssrc: number | null
  payloadType: number | null
  /** Bytes of one frame, derived from sizes and timestamps, even if not as announced; null: not known yet. */
  seenFrameBytes: number | null
}

/** Counts since it was opened. */
export interface ReceiverStats {
  paths: PathStats[]
  /** Packets that brought sound, each counted once whichever path it took. */
  packets: number
  /** Lost on all paths. */
  lost: number
  /** Too late on all paths. */
  late: number
  duplicate: number
  reordered: number
  wild: number
  wrongSource: { count: number; address: string | null }
  wrongFormat: number
  malformed: number
  sender: string | null
  /** Channels of the stream, announced or detected; null while unknown. */
  channels: number | null
  framesPerPacket: number | null
  /** Lost packets replaced by a repeat when played. */
  concealed: number
  /** Times that sound was lost for longer and faded out, or jumped because the clock stepped. */
  glitches: number
  /** Frames played, by kind: as sent, repeated, silent. */
  frames: { good: number; repeated: number; silent: number }
  /** Number of new anchors, with sync `arrival`. */
  anchors: number
  /** The last packet in the right format, whatever its timestamp; null: none yet. */
  last: { timestamp: number; monotonicNs: bigint } | null
  /** Failed reads of the sockets. */
  errors: number
  /** What the kernel granted to the path with the least. */
  receiveBufferBytes: number
  realtime: { asked: number; granted: boolean; errno: number | null }
}

/** Arrival times of packets since the last call. */
export interface Arrivals {
  packets: number
  /** Margin of the earliest and of the latest packet before they were due; below 0: too late. */
  earliestNs: number
  latestNs: number
  /** Delay compared with the fastest packet. */
  jitterNs: { p50: number; p99: number; max: number }
  /**
   * The fastest packet against CLOCK_MONOTONIC: when it arrived, and the instant of its timestamp on the receiver's
   * clock. Input of the recovered clock.
   */
  fastest: { monotonicNs: bigint; mediaNs: bigint }
}

function pathOf(path: NativePath): PathStats {
  const { malformed, wrongSource, otherAddress, ssrc, payloadType, seenFrameBytes, ...counts } = path
  const kinds = MALFORMED.map((name, at) => [name, malformed[at + 1] ?? 0])
  return {
    ...counts,
    wrongSource: { count: wrongSource, address: otherAddress },
    malformed: Object.fromEntries(kinds) as PathStats['malformed'],
    ssrc: path.packets > 0 ? ssrc : null,
    payloadType: path.packets > 0 ? payloadType : null,
    seenFrameBytes: seenFrameBytes === 0 ? null : seenFrameBytes,
  }
}

/** The native counts by name; those of two paths also summed. */
export function statsOf(native: NativeStats): ReceiverStats {
  const paths = native.paths.map(pathOf)
  const sum = (figure: (path: PathStats) => number) => paths.reduce((total, path) => total + figure(path), 0)
  const others = paths.filter(({ wrongSource }) => wrongSource.address !== null)
  const { packets, lost, late, anchors, glitches, errors, receiveBufferBytes, framesPerPacket } = native
  return {
    paths,
    packets,
    lost,
    late,
    duplicate: sum((path) => path.duplicate),
    reordered: sum((path) => path.reordered),
    wild: sum((path) => path.wild),
    wrongSource: { count: sum((path) => path.wrongSource.count), address: others[0]?.wrongSource.address ?? null },
    wrongFormat: sum((path) => path.wrongFormat),
    malformed: sum((path) => Object.values(path.malformed).reduce((total, count) => total + count, 0)),
    sender: paths.find(({ sender }) => sender !== null)?.sender ?? null,
    channels: native.channels === 0 ? null : native.channels,
    framesPerPacket: framesPerPacket === 0 ? null : framesPerPacket,
    concealed: framesPerPacket === 0 ? 0 : Math.ceil(native.repeatedFrames / framesPerPacket),
    glitches,
    frames: { good: native.goodFrames, repeated: native.repeatedFrames, silent: native.silentFrames },
    anchors,
    last:
      native.lastMonotonicNs === 0n ? null : { timestamp: native.lastTimestamp, monotonicNs: native.lastMonotonicNs },
    errors,
    receiveBufferBytes,
    realtime: { asked: native.asked, granted: native.granted, errno: native.refusal === 0 ? null : native.refusal },
  }
}

/** Nanoseconds of a number of frames at 48 kHz, rounded up; as nsOfFrame in audio-time.h. */
function nsOfFrame(frame: bigint): bigint {
  return (frame * 62_500n + 2n) / 3n
}

/** Transits as margins before playing; null if nothing arrived. */
export function arrivalsOf(native: NativeArrivals, linkNs: bigint): Arrivals | null {
  if (native.packets === 0) return null
  const sinceFastest = (ns: bigint) => Number(ns - native.leastNs)
  return {
    packets: native.packets,
    earliestNs: Number(linkNs - native.leastNs),
    latestNs: Number(linkNs - native.mostNs),
    jitterNs: {
      p50: sinceFastest(native.medianNs),
      p99: sinceFastest(native.p99Ns),
      max: sinceFastest(native.mostNs),
    },
    fastest: { monotonicNs: native.fastestMonotonicNs, mediaNs: nsOfFrame(native.fastestFrame) },
  }
}
