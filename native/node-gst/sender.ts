/** Senders of sound as RTP: a sender has the sockets and counts frames; the element plantroomrtpsink feeds it. */
import { addon } from './addon.ts'
import type { AudioClock, NativeClock } from './clock.ts'

/** Native sender calls. */
interface SenderCalls {
  openSender(clock: NativeClock, options: NativeOptions): number
  closeSender(id: number): undefined
  senderStats(id: number): SenderStats
}

type NativeOptions = Omit<SenderOptions, 'clock' | 'encoding'> & { sampleBytes: number }

/** One destination path of packets. */
interface SendPath {
  /** IPv4, multicast or not. */
  group: string
  /** 1..65535 */
  port: number
  /** An address of the outgoing interface. */
  interfaceAddress: string
  /** Hops, 1..255 */
  ttl: number
  /** 0..63, RFC 2474 */
  dscp: number
}

/** What to send, and where to. */
export interface SenderOptions {
  clock: AudioClock
  /** One, or two that carry the same packets. */
  paths: readonly SendPath[]
  encoding: 'L16' | 'L24'
  channels: number
  /** 6, 12, 48 or 192 for 0.125, 0.25, 1 and 4 ms. */
  framesPerPacket: number
  /** 96..127 */
  payloadType: number
  /** 32 bits, unpredictable: RFC 3550 8. */
  ssrc: number
  /**
   * If packets are later than this because the source had nothing, or late for a whole second, the sender restarts at
   * the current time.
   */
  mostLateMs: number
}

/** Percentiles over the packets of the last two seconds: 50 %, 99 % and all were at most this. */
interface Spread {
  p50: number
  p99: number
  max: number
}

/** Counts of what was sent so far. */
interface SenderStats {
  packets: number
  /** Number of restarts: the clock stepped by more than half a packet, or the source was late. */
  resyncs: number
  /** null before the first packet, as are the next two. */
  nextTimestamp: number | null
  /** Time since the last packet. */
  idleMs: number | null
  /** From the source's own clock to the wire; meaningless for sources that are not live. */
  captureMs: number | null
  /** Delay of packets after the time of their timestamp. */
  lateUs: Spread | null
  /** Interval between packets. */
  spacingUs: Spread | null
  /** In the order of the paths. `error`: the system's error while packets fail. */
  paths: { packets: number; errors: number; error: string | null }[]
}

/** One stream. */
export interface Sender {
  /** For `plantroomrtpsink sender=<id>`, of one pipeline at a time. */
  readonly id: number
  /** Bytes of one packet, header included. */
  readonly packetBytes: number
  /** @throws Error with code `closed` */
  stats(): SenderStats
  /** Its sockets close once no pipeline feeds it any more. */
  close(): void
}

/** RFC 3550 5.1 */
const HEADER_BYTES = 12
/** Largest payload that fits everywhere. @source AES67-2018, 6.3 */
const MOST_PAYLOAD_BYTES = 1440

/**
 * Opens the sockets; packets are sent once a pipeline plays. A timestamp is the clock's count of frames since the
 * epoch, modulo 2^32 (`mediaclk:direct=0`), and each packet leaves when the clock reaches its timestamp.
 * @throws RangeError if a packet would have over 1440 bytes of payload; Error with code, errno and syscall of a socket
 * (EADDRNOTAVAIL if the interface has no such address)
 * @source RFC 3550 5.1, RFC 3551 4.5.11 (L16), RFC 3190 4 (L24), RFC 7273 5
 */
export function openSender({ clock, encoding, ...options }: SenderOptions): Sender {
  const calls = addon() as SenderCalls
  const sampleBytes = encoding === 'L16' ? 2 : 3
  const payloadBytes = options.framesPerPacket * options.channels * sampleBytes
  if (payloadBytes > MOST_PAYLOAD_BYTES)
    throw new RangeError(`${payloadBytes} bytes of sound a packet, at most ${MOST_PAYLOAD_BYTES} fit`)
  const id = calls.openSender(clock.native, { ...options, sampleBytes })
  return {
    id,
    packetBytes: HEADER_BYTES + payloadBytes,
    stats: () => calls.senderStats(id),
    close: () => void calls.closeSender(id),
  }
}
