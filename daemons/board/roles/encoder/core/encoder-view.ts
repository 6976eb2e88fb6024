/** An encoder's stream, its part of the status, and one sentence for the top of the page. */
import type { Meters, Verdict } from '../../../core/role.ts'
import { brokenCheck, type Check, type PathAddresses } from '../../../core/sound/sound.ts'
import type { OwnStream } from '../../../core/streams/announcing.ts'
import { type OwnRefClock, SAMPLE_RATE, type StreamEncoding } from '../../../wire/streams/description.ts'
import type { Encoder, EncoderCheckName } from './encoder.ts'
import type { Spread } from './ports.ts'

// The stream as the board knows it: its description except for the session, which announcing adds.

/** Facts of a stream that stay while the board runs. */
interface StreamFacts {
  name: string
  /** One, or two that carry the same. */
  paths: readonly { group: string; port: number; ttl: number }[]
  payloadType: number
  encoding: StreamEncoding
  channels: number
  packetMs: number
}

/** @param addresses of the paths; a path that never had one is left out */
export function ownStream(facts: StreamFacts, addresses: PathAddresses, refClock: OwnRefClock): OwnStream {
  const { paths, ...rest } = facts
  const known = paths
    .map((path, at) => ({ ...path, source: addresses[at] ?? null }))
    .filter(({ source }) => source !== null)
  const isDoubled = known.length > 1
  return {
    ...rest,
    info: '',
    origin: known[0]?.source ?? '',
    // Receivers tell the two paths of a doubled stream apart by their sender.
    paths: isDoubled ? known : known.map((path) => ({ ...path, source: null })),
    sampleRate: SAMPLE_RATE,
    refClock,
    // Timestamps count from the epoch of the clock. RFC 7273 5.3
    mediaOffset: 0,
  }
}

// Status and verdict.

/** The stream's configuration, from settings and board.toml. */
export interface StreamSettings {
  mcast: string
  port: number
  name: string
  encoding: StreamEncoding
  channels: number
  packet_ms: number
  payload_type: number
  dscp: number
  ttl: number
  /** The second path; null if there is none. */
  dup: { mcast: string; port: number } | null
}

/** As in `GET /api/status`. */
export interface EncoderView {
  state: string
  stream: StreamSettings & { refclk: OwnRefClock }
  source: { kind: string; name: string; found: boolean }
  meters: Meters | null
  /** null if nothing was measured yet. */
  silence_s: number | null
  sent: {
    packets: number
    bytes: number
    errors: number
    resyncs: number
    next_timestamp: number | null
    late_us: Spread | null
    spacing_us: Spread | null
  }
  /** `sdp` is empty while the stream cannot be sent. */
  announced: { sap: boolean; last_at: number | null; rtsp: boolean; sdp: string }
  /** From the source to the wire; null if it is not live. */
  capture_ms: number | null
  card: { drift_ppm: number | null; latency_ms: number | null; xruns: number; dropped_frames: number } | null
  realtime: { granted: boolean; text: string } | null
  /** Epoch ms. */
  tone_until: number | null
  /** Times that the source was reopened. */
  restarts: number
  checks: readonly Check<EncoderCheckName>[]
}

/** The present state. */
export function encoderView(encoder: Encoder, stream: StreamSettings): EncoderView {
  const { care, loudness, parts } = encoder
  const { last_at, rtsp, sap } = parts.announcing.view()
  const sent = encoder.sent()
  const card = care.feed?.card() ?? null
  return {
    state: care.state,
    stream: { ...stream, refclk: parts.ptp.refClock() },
    source: { kind: care.source.kind, name: care.name, found: care.fault === null },
    meters: loudness.meters,
    silence_s: loudness.silenceS,
    sent: {
      packets: sent?.packets ?? 0,
      bytes: sent?.bytes ?? 0,
      errors: sent?.errors ?? 0,
      resyncs: sent?.resyncs ?? 0,
      next_timestamp: sent?.nextTimestamp ?? null,
      late_us: sent?.lateUs ?? null,
      spacing_us: sent?.spacingUs ?? null,
    },
    announced: { sap, last_at, rtsp, sdp: parts.announcing.sdp() ?? '' },
    capture_ms: care.feed?.captureMs() ?? null,
    card: card && {
      drift_ppm: card.drift_ppm,
      latency_ms: card.latency_ms,
      xruns: card.xruns,
      dropped_frames: card.dropped_frames,
    },
    realtime: care.feed?.realtime() ?? null,
    tone_until: encoder.toneUntil,
    restarts: care.restarts,
    checks: encoder.checks(),
  }
}

/** In one sentence: what keeps sound from being sent, else the first warning, else what is sent where. */
export function encoderVerdict(encoder: Encoder, { mcast, port, name }: StreamSettings): Verdict {
  const checks = encoder.checks()
  const broken = brokenCheck(checks)
  if (broken?.state === 'not_judged') return { state: 'busy', text: broken.text }
  if (broken) return { state: 'fault', text: broken.text }
  const sending = `Sends ${name} to ${mcast}:${port}.`
  const trouble = checks.find(({ state }) => state === 'warn')
  return trouble ? { state: 'warn', text: `${sending} ${trouble.text}` } : { state: 'ok', text: sending }
}
