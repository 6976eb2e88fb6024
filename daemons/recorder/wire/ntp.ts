/**
 * Packets of NTP: the question of a client and the answer of a server.
 * @source RFC 5905, 6 (time formats), 7.3 (packet header), 7.4; RFC 4330, 3 (era), 5, 6
 */

/** What a client asked. */
export interface NtpQuestion {
  version: number
  /** As it was sent, log2 of seconds. */
  poll: number
  /** When it was sent, by the client's own clock: 8 bytes that go back as they came. */
  sent: Uint8Array
}

/** Where a server has its time from, as it tells clients. */
export interface TimeSource {
  /** Whether the last minute of this month has 61 (1) or 59 (2) seconds. */
  leap: 0 | 1 | 2
  /** Steps from a reference clock, 1 to 15. */
  stratum: number
  /** The way to the reference clock and back. */
  rootDelayS: number
  /** How wrong the time may be. */
  rootDispersionS: number
  /** Names the server that it comes from: 4 bytes, by which clients find loops. */
  reference: Uint8Array
  /** When the clock was last set by it, epoch ms. */
  setAtMs: number
}

/** What a server answered. */
export interface NtpAnswer {
  stratum: number
  /** Epoch ms with a fraction. */
  sentMs: number
}

/** The header alone: extension fields and authentication are behind it, and nobody here could check them. */
const NTP_BYTES = 48

const CLIENT = 3
const SERVER = 4
const OUR_VERSION = 4
const UNSYNCHRONIZED = 3
const MOST_STRATUM = 15

/** A clock that is read in whole milliseconds: 2^-10 s. */
const PRECISION = -10

/** From 1900, where NTP begins, to 1970. */
const EPOCH_S = 2_208_988_800
const ERA_S = 2 ** 32

/**
 * Reads the question of a client.
 * @returns undefined for anything else: answers, broadcasts, control (mode 6) and private messages (mode 7), questions that
 *   are longer or shorter, and versions before 1 and after 4
 */
export function readNtpQuestion(bytes: Uint8Array): NtpQuestion | undefined {
  const [head = 0, , poll = 0] = bytes
  const version = (head >> 3) & 7
  if (bytes.length !== NTP_BYTES || (head & 7) !== CLIENT || version < 1 || version > OUR_VERSION) return undefined
  return { version, poll, sent: bytes.slice(40, 48) }
}

/**
 * The answer of a server, as long as the question.
 * @param at when the question came and when the answer goes, epoch ms
 */
export function ntpAnswer(
  { poll, sent, version }: NtpQuestion,
  source: TimeSource,
  at: { receivedMs: number; sentMs: number },
): Uint8Array {
  const bytes = new Uint8Array(NTP_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, (source.leap << 6) | (version << 3) | SERVER)
  view.setUint8(1, source.stratum)
  view.setUint8(2, poll)
  view.setInt8(3, PRECISION)
  view.setUint32(4, shortOf(source.rootDelayS))
  view.setUint32(8, shortOf(source.rootDispersionS))
  bytes.set(source.reference.subarray(0, 4), 12)
  writeTime(view, 16, source.setAtMs)
  bytes.set(sent, 24)
  writeTime(view, 32, at.receivedMs)
  writeTime(view, 40, at.sentMs)
  return bytes
}

/** The question of a client. @param nonce 8 bytes by chance, which an answer has to bring back */
export function ntpQuestion(nonce: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(NTP_BYTES)
  bytes[0] = (OUR_VERSION << 3) | CLIENT
  bytes.set(nonce.subarray(0, 8), 40)
  return bytes
}

/**
 * Reads the answer of a server.
 * @param nonce of the question
 * @returns undefined for what answers another question, and for a server that says it has no time to give
 */
export function readNtpAnswer(bytes: Uint8Array, nonce: Uint8Array): NtpAnswer | undefined {
  const [head = 0, stratum = 0] = bytes
  if (bytes.length < NTP_BYTES || (head & 7) !== SERVER || head >> 6 === UNSYNCHRONIZED) return undefined
  if (stratum < 1 || stratum > MOST_STRATUM || nonce.some((byte, at) => bytes[24 + at] !== byte)) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const seconds = view.getUint32(40)
  const part = view.getUint32(44) / ERA_S
  if (seconds === 0 && part === 0) return undefined
  // Of the years from 1968 to 2104, since 32 bits of seconds turn over in 2036.
  const era = seconds >= ERA_S / 2 ? 0 : ERA_S
  return { stratum, sentMs: (seconds + era + part - EPOCH_S) * 1000 }
}

/** Seconds with 16 bits of a fraction, at most what these hold. */
function shortOf(seconds: number): number {
  return Math.min(0xffff_ffff, Math.max(0, Math.round(seconds * 65_536)))
}

function writeTime(view: DataView, at: number, epochMs: number): void {
  const seconds = Math.floor(epochMs / 1000)
  view.setUint32(at, seconds + EPOCH_S)
  view.setUint32(at + 4, Math.floor(((epochMs / 1000 - seconds) % 1) * ERA_S))
}
