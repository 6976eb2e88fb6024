/** What is told of an encoder: its part of the status, and one sentence for the top of the page. */
import type { Meters, Verdict } from '../../../core/role.ts'
import { brokenCheck, type Check } from '../../../core/sound/sound.ts'
import type { OwnRefClock, StreamEncoding } from '../../../wire/streams/description.ts'
import type { Encoder } from './encoder.ts'
import type { EncoderCheckName } from './encoder-checks.ts'
import type { Spread } from './ports.ts'

/** What is set of the stream, from settings and board.toml. */
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
  /** The second path; null where there is none. */
  dup: { mcast: string; port: number } | null
}

/** As `GET /api/status` has it. */
export interface EncoderView {
  state: string
  stream: StreamSettings & { refclk: OwnRefClock }
  source: { kind: string; name: string; found: boolean }
  meters: Meters | null
  /** null where nothing was measured yet. */
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
  /** From the source to the wire; null where it is not live. */
  capture_ms: number | null
  card: { drift_ppm: number | null; latency_ms: number | null; xruns: number; dropped_frames: number } | null
  realtime: { granted: boolean; text: string } | null
  /** Epoch ms. */
  tone_until: number | null
  /** Times that the source was opened anew. */
  restarts: number
  checks: readonly Check<EncoderCheckName>[]
}

/** How it stands, now. */
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

/** In one sentence: what keeps sound from going out, else the first trouble, else what is sent where. */
export function encoderVerdict(encoder: Encoder, { mcast, port, name }: StreamSettings): Verdict {
  const checks = encoder.checks()
  const broken = brokenCheck(checks)
  if (broken?.state === 'not_judged') return { state: 'busy', text: broken.text }
  if (broken) return { state: 'fault', text: broken.text }
  const sending = `Sends ${name} to ${mcast}:${port}.`
  const trouble = checks.find(({ state }) => state === 'warn')
  return trouble ? { state: 'warn', text: `${sending} ${trouble.text}` } : { state: 'ok', text: sending }
}
