/**
 * A stream as its sender describes it: its clock, its format, its paths, and whether a board can play it.
 * @source RFC 7273; AES67-2018, 7 and 8
 */
import { groupFault } from '../addresses.ts'

// The clock of a stream's timestamps, as named in SDP.

/**
 * The clock of a board as sender: a PTP grandmaster, or the machine's own, named by a network card.
 * @source RFC 7273, 4.2 and 4.3
 */
export type OwnRefClock =
  | {
      kind: 'ptp'
      /** Clock identity, upper case: `00-1D-C1-FF-FE-12-34-56`. */
      grandmaster: string
      /** 0..127 */
      domain: number
    }
  | {
      kind: 'localmac'
      /** Upper case: `00-1D-C1-12-34-56`. */
      mac: string
    }

/** The clock of any sender. `other` cannot be compared with a board's own: traceable, GPS, NTP, private. */
export type RefClock = OwnRefClock | { kind: 'other'; text: string }

const PTP = /^ptp=ieee1588-(?:2008|2019):([0-9a-f]{2}(?:[-:]?[0-9a-f]{2}){7})(?::(?:domain-nmbr=)?(\d{1,3}))?$/i
const LOCAL_MAC = /^localmac=([0-9a-f]{2}(?:[-:][0-9a-f]{2}){5})$/i
const LONGEST_OTHER = 128

/**
 * The value of `a=ts-refclk:`.
 * @source RFC 7273, 4.8; AES67-2018, 8.2
 */
export function refClockText(clock: RefClock): string {
  if (clock.kind === 'ptp') return `ptp=IEEE1588-2008:${clock.grandmaster}:${clock.domain}`
  return clock.kind === 'localmac' ? `localmac=${clock.mac}` : clock.text
}

/**
 * Parses the value of `a=ts-refclk:`. Senders omit the domain if it is 0, write it bare or as `domain-nmbr=`, and
 * identities in either case, some with colons or bare.
 * @returns `other` for anything but a PTP grandmaster by its identity, or a card
 * @source RFC 7273, 4.8
 */
export function readRefClock(text: string): RefClock {
  const [, identity, domain = '0'] = PTP.exec(text) ?? []
  if (identity !== undefined && Number(domain) <= 127)
    return { kind: 'ptp', grandmaster: withDashes(identity), domain: Number(domain) }
  const mac = LOCAL_MAC.exec(text)?.[1]
  if (mac !== undefined) return { kind: 'localmac', mac: withDashes(mac) }
  return { kind: 'other', text: text.slice(0, LONGEST_OTHER) }
}

/** Whether two streams, or a stream and a board, use the same clock. Unknown for `other`. */
export function isSameClock(one: RefClock, other: RefClock): boolean {
  if (one.kind === 'ptp' && other.kind === 'ptp')
    return one.grandmaster === other.grandmaster && one.domain === other.domain
  return one.kind === 'localmac' && other.kind === 'localmac' && one.mac === other.mac
}

function withDashes(digits: string): string {
  return (digits.toUpperCase().match(/[0-9A-F]{2}/g) ?? []).join('-')
}

// The stream itself.

/** Encodings a board sends and plays: 16 or 24 bits, linear, big-endian. @source AES67-2018, 7.1; RFC 3551, 4.5.11; RFC 3190 */
export type StreamEncoding = 'L16' | 'L24'

/** Destination of a stream's packets. */
export interface StreamPath {
  /** The multicast group; for a unicast stream, the receiver's address. */
  group: string
  /** UDP port, 1..65535. */
  port: number
  /** Routers that packets may cross and one more, 0..255; 255 if not given. */
  ttl: number
  /** The only sender to accept (source-specific multicast); null for any. */
  source: string | null
}

/** A stream. `Encoding` is any text for one that was received and may not be playable. */
export interface StreamDescription<Encoding extends string = StreamEncoding> {
  /** Digits; identifies the session together with `origin`. */
  sessionId: string
  /** Digits; increases with each change. */
  version: string
  /** Address of the author of the description. */
  origin: string
  name: string
  /** A line for people; may be empty. */
  info: string
  /** One, or two that carry the same packets (group:DUP). */
  paths: StreamPath[]
  /** 0..127 */
  payloadType: number
  encoding: Encoding
  channels: number
  /** Hz */
  sampleRate: number
  /** Milliseconds of sound in a packet. */
  packetMs: number
  /** null if not given. */
  refClock: RefClock | null
  /** RTP timestamp at the epoch of the clock, 0..2^32-1 (mediaclk:direct); null if not given. */
  mediaOffset: number | null
}

/** Every AES67 receiver accepts it, and a board's outputs run at no other rate. */
export const SAMPLE_RATE = 48_000
/** Bytes of one sample. */
export const SAMPLE_BYTES: Readonly<Record<StreamEncoding, number>> = { L16: 2, L24: 3 }
/** No sender has more; a packet cannot carry more. */
const MOST_CHANNELS = 80
/** Payload of the longest packet. @source AES67-2018, 7.1: 1440 bytes */
export const LONGEST_PAYLOAD = 1440

/** Sample frames in a packet; senders round the packet time (0.12 for 6 frames). @source AES67-2018, 8.1 */
export function framesOf({ packetMs, sampleRate }: { packetMs: number; sampleRate: number }): number {
  return Math.round((packetMs * sampleRate) / 1000)
}

/** Why a board cannot play a stream, in a sentence; undefined if it can. */
export function playFault(stream: StreamDescription<string>): string | undefined {
  const { channels, encoding, paths, sampleRate } = stream
  if (encoding === 'AM824') return 'It carries AES3 frames (AM824), not plain samples. Set its sender to L24 or L16.'
  const bytes = Object.hasOwn(SAMPLE_BYTES, encoding) ? SAMPLE_BYTES[encoding as StreamEncoding] : undefined
  if (bytes === undefined) return `It is encoded as ${encoding}. A board plays L24 and L16.`
  if (sampleRate !== SAMPLE_RATE) return `It runs at ${sampleRate} Hz. A board plays ${SAMPLE_RATE} Hz.`
  if (channels > MOST_CHANNELS) return `It has ${channels} channels. A board takes streams of at most ${MOST_CHANNELS}.`
  const frames = framesOf(stream)
  if (frames < 1 || frames * channels * bytes > LONGEST_PAYLOAD)
    return `Its packets would carry ${frames * channels * bytes} bytes of sound. AES67 allows ${LONGEST_PAYLOAD}.`
  if (paths.length > 2) return `It comes on ${paths.length} paths. A board takes two at most.`
  const fault = paths.map(({ group }) => groupFault(group)).find((sentence) => sentence !== undefined)
  return fault && `It is sent where no board listens: ${fault}`
}
