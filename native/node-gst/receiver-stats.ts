/** What a receiver counts, as the addon has it and as it is told. */

/** Counts of one path since it was opened, that are told as the addon has them. */
interface PathCounts {
  /** RTP packets of the sender that is heard, and bytes of their payload. */
  packets: number
  bytes: number
  /** By sequence numbers (RFC 3550 A.3), 32 packets later; one less where a packet comes after all. */
  lost: number
  duplicate: number
  reordered: number
  /** Times that sequence numbers restarted. */
  restarts: number
  /** Came when their place had been played. */
  late: number
  /** Timestamps further from now than the ring holds. */
  wild: number
  /** Of the sender's address, but another synchronisation source. */
  wrongSsrc: number
  /** Another payload type, or sizes that are not of the encoding and channels. */
  wrongFormat: number
}

/** As receiver-calls.cc has them. */
interface NativePath extends PathCounts {
  wrongSource: number
  malformed: number[]
  sender: string | null
  otherAddress: string | null
  ssrc: number
  payloadType: number
  seenFrameBytes: number
}

/** What `receiverStats` gives. */
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

/** What `takeArrivals` gives; transits on the receiver's clock. */
export interface NativeArrivals {
  packets: number
  leastNs: bigint
  medianNs: bigint
  p99Ns: bigint
  mostNs: bigint
  fastestMonotonicNs: bigint
  fastestFrame: bigint
}

/** Why datagrams were no RTP packets, in the order of RtpFault in rtp-packet.h, after `none`. */
const MALFORMED = ['tooShort', 'version', 'contributors', 'extension', 'padding', 'empty', 'tooLong'] as const

/** Counts since it was opened, of one path. */
export interface PathStats extends PathCounts {
  /** Of other addresses than the sender's; the last one of them. */
  wrongSource: { count: number; address: string | null }
  malformed: Record<(typeof MALFORMED)[number], number>
  /** null where nothing was heard for `senderGoneMs`. */
  sender: string | null
  ssrc: number | null
  payloadType: number | null
  /** Bytes of one frame as sizes and timestamps tell them, also where they are not as announced; null: not known yet. */
  seenFrameBytes: number | null
}

/** Counts since it was opened. */
export interface ReceiverStats {
  paths: PathStats[]
  /** Packets that brought sound, each once whichever path it came by. */
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
  /** Of the stream, announced or found out; null while unknown. */
  channels: number | null
  framesPerPacket: number | null
  /** Packets that were stood in for as they were played. */
  concealed: number
  /** Times that sound was lost for longer and faded out, or went on elsewhere because the clock stepped. */
  glitches: number
  /** What became of the frames that were played: as sent, a repeat, silence. */
  frames: { good: number; repeated: number; silent: number }
  /** Times that the place of packets was laid anew, with sync `arrival`. */
  anchors: number
  /** The last packet of the format, of whatever time; null: none has come. */
  last: { timestamp: number; monotonicNs: bigint } | null
  /** Reads of the sockets that failed. */
  errors: number
  /** What the kernel granted to the path with the least. */
  receiveBufferBytes: number
  realtime: { asked: number; granted: boolean; errno: number | null }
}

/** When packets came since the last call. */
export interface Arrivals {
  packets: number
  /** Time that the earliest and the latest packet had left before they were due; below 0: too late. */
  earliestNs: number
  latestNs: number
  /** How much later than the fastest packet they came. */
  jitterNs: { p50: number; p99: number; max: number }
  /**
   * The packet that was fastest against CLOCK_MONOTONIC: when it came, and the instant of its timestamp on the receiver's
   * clock. What the recovered clock is made of.
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

/** The figures by name, those of two paths also together. */
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

/** Frames of 48 kHz as nanoseconds, the first whole one; as nsOfFrame in audio-time.h. */
function nsOfFrame(frame: bigint): bigint {
  return (frame * 62_500n + 2n) / 3n
}

/** Transits as margins before playing; null where nothing came. */
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
