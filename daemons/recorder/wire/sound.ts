/**
 * Sound as cameras send it: frames taken out of packets, and what a file says of them.
 * @source RFC 3640, 3.2 and 3.3.6 (AAC); RFC 3551, 4.5.14 (G.711); ISO/IEC 14496-3, 1.6.2.1 (AudioSpecificConfig)
 */
import { isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { RtpPacket } from './rtp.ts'
import type { SdpMedia } from './sdp.ts'

/** What is known of a sound before its first frame. */
export interface SoundFormat {
  /** Sample entry of a file, and what a browser calls it: `mp4a` with `mp4a.40.2`, `alaw`, `ulaw`. */
  entry: 'mp4a' | 'alaw' | 'ulaw'
  codec: string
  /** Ticks of its stamps per second: samples, or for some AAC every second one. */
  rate: number
  channels: number
  /** Ticks of a frame; 0 where each byte is a sample. */
  frameTicks: number
  /** AudioSpecificConfig of AAC; empty for G.711. */
  config: Uint8Array
}

/** Whether a player can go from one to the other without being told. */
export function isSameSound(one: SoundFormat | undefined, other: SoundFormat | undefined): boolean {
  if (!one || !other) return one === other
  return one.codec === other.codec && one.rate === other.rate && isSameBytes(one.config, other.config)
}

/** One frame, or a stretch of G.711. */
export interface SoundFrame {
  timestamp: number
  /** How long it is heard, in ticks of its format. */
  ticks: number
  bytes: Uint8Array
}

/** RFC 3551, 6: payload types without an `rtpmap`. */
const FIXED: Readonly<Record<number, string>> = { 0: 'PCMU', 8: 'PCMA' }
const G711 = { PCMU: 'ulaw', PCMA: 'alaw' } as const
const G711_RATE = 8000
const MOST_RATE = 96_000
const NOTHING = new Uint8Array(0)

/** The sound that a medium brings; undefined if it is none that is recorded. */
export function soundOf({
  channels,
  clockRate,
  encoding,
  isBackchannel,
  kind,
  parameters,
  payloadType,
}: SdpMedia): SoundFormat | undefined {
  if (kind !== 'audio' || isBackchannel) return undefined
  const name = encoding === '' ? FIXED[payloadType] : encoding
  if (name === 'PCMA' || name === 'PCMU')
    return channels === 1 ? soundFormat(G711[name], clockRate || G711_RATE, NOTHING) : undefined
  const hex = parameters.get('config') ?? ''
  if (name !== 'MPEG4-GENERIC' || parameters.get('mode')?.toLowerCase() !== 'aac-hbr') return undefined
  // The only lengths that this mode allows.
  if (![undefined, '13'].includes(parameters.get('sizelength'))) return undefined
  if (![undefined, '3'].includes(parameters.get('indexlength'))) return undefined
  if (!/^([0-9a-f]{2}){2,64}$/i.test(hex)) return undefined
  return soundFormat(
    'mp4a',
    clockRate,
    Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)),
  )
}

/** @returns undefined for what players do not take */
export function soundFormat(entry: SoundFormat['entry'], rate: number, config: Uint8Array): SoundFormat | undefined {
  if (rate < G711_RATE || rate > MOST_RATE) return undefined
  if (entry !== 'mp4a') return { entry, codec: entry, rate, channels: 1, frameTicks: 0, config: NOTHING }
  const said = readConfig(config)
  if (!said) return undefined
  const { channels, kind, samples } = said
  return {
    entry,
    codec: `mp4a.40.${kind}`,
    rate,
    channels,
    frameTicks: Math.round((samples * rate) / said.rate),
    config,
  }
}

const RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350]
/** Audio object types: plain, and with the two ways in which higher tones are told apart. */
const LOW_COMPLEXITY = 2
const SPECTRAL = 5
const PARAMETRIC = 29

/** Kind, channels, and samples of a frame at its base rate; undefined for what players do not take. */
function readConfig(config: Uint8Array): { kind: number; rate: number; channels: number; samples: number } | undefined {
  let at = 0
  const bits = (count: number) => {
    let value = 0
    for (let left = count; left > 0; left--, at++) value = value * 2 + (((config[at >> 3] ?? 0) >> (7 - (at & 7))) & 1)
    return value
  }
  const readRate = () => {
    const index = bits(4)
    return index === 15 ? bits(24) : RATES[index]
  }
  const kind = bits(5)
  const rate = readRate()
  const channels = bits(4)
  if (kind === SPECTRAL || kind === PARAMETRIC) {
    readRate()
    if (bits(5) !== LOW_COMPLEXITY) return undefined
  } else if (kind !== LOW_COMPLEXITY) return undefined
  if (!rate || channels < 1 || channels > 7) return undefined
  return { kind, rate, channels: channels === 7 ? 8 : channels, samples: bits(1) === 1 ? 960 : 1024 }
}

/** A packet of more is none of sound, of which a second has hardly as many bytes. */
export const MOST_SOUND_PACKET_BYTES = 16_384

/** What takes frames out of packets. */
export interface SoundReader {
  /**
   * @param packet in order; frames are copies
   * @throws Fault `rtp_broken`
   */
  add(packet: RtpPacket, onFrame: (frame: SoundFrame) => void): void
  /** Packets before the next one are lost. */
  gap(): void
}

export function createSoundReader(format: SoundFormat): SoundReader {
  return format.entry === 'mp4a' ? createAacReader(format.frameTicks) : plainReader
}

const plainReader: SoundReader = {
  add({ payload, timestamp }, onFrame) {
    if (payload.length > 0) onFrame({ timestamp, ticks: payload.length, bytes: payload.slice() })
  },
  gap() {},
}

function createAacReader(frameTicks: number): SoundReader {
  /** A frame that comes in several packets. */
  let begun: { timestamp: number; bytes: Uint8Array; length: number } | undefined

  function more({ payload, timestamp }: RtpPacket, from: number): SoundFrame | undefined {
    if (!begun || begun.timestamp !== timestamp || begun.length + payload.length - from > begun.bytes.length) {
      begun = undefined
      throw broken('brings a piece of a frame that did not begin')
    }
    begun.bytes.set(payload.subarray(from), begun.length)
    begun.length += payload.length - from
    if (begun.length < begun.bytes.length) return undefined
    const { bytes } = begun
    begun = undefined
    return { timestamp, ticks: frameTicks, bytes }
  }

  return {
    add(packet, onFrame) {
      const { payload, timestamp } = packet
      const headBits = u16(payload, 0)
      const count = headBits / 16
      let at = 2 + headBits / 8
      if (!Number.isInteger(count) || count < 1 || at > payload.length) throw broken(`has ${headBits} bits of headers`)
      const size = u16(payload, 2) >> 3
      if (count === 1 && size > payload.length - at) {
        if (begun?.timestamp !== timestamp) begun = { timestamp, bytes: new Uint8Array(size), length: 0 }
        const whole = more(packet, at)
        if (whole) onFrame(whole)
        return
      }
      begun = undefined
      for (let frame = 0; frame < count; frame++) {
        const length = u16(payload, 2 + 2 * frame) >> 3
        if (length === 0 || at + length > payload.length)
          throw broken(`says ${length} bytes of a frame and has ${payload.length - at} left`)
        const bytes = payload.slice(at, at + length)
        at += length
        onFrame({ timestamp: (timestamp + frame * frameTicks) >>> 0, ticks: frameTicks, bytes })
      }
    },
    gap() {
      begun = undefined
    },
  }
}

function u16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

function broken(seen: string): Fault {
  return new Fault('rtp_broken', `a packet of sound ${seen}`)
}
