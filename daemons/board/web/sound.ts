/** What encoders and decoders say of themselves, as far as the pages read it. Instants are the board's epoch ms; unknown is null. */
import type { PtpView } from '../core/ptp/ptp.ts'
import type { Check, CheckState, HistoryView } from '../core/sound/sound.ts'
import type { HeardStream } from '../core/streams/book.ts'
import type { DecoderView, RouteView } from '../roles/decoder/core/decoder-view.ts'
import type { VolumeView } from '../roles/decoder/core/volume.ts'
import type { EncoderView } from '../roles/encoder/core/encoder-view.ts'
import type { RefClock } from '../wire/streams/description.ts'

export type { Check, CheckState, HeardStream, HistoryView, PtpView, RefClock }

/** Answers of `GET /api/route` and of `GET /api/volume`. */
export type RouteState = RouteView
export type VolumeState = VolumeView

/** What an encoder sends, and `encoder` of `GET /api/status`. */
export type SentStream = Omit<EncoderView['stream'], 'dup'>
export type EncoderState = Omit<EncoderView, 'state' | 'stream' | 'sent' | 'card' | 'restarts' | 'checks'> & {
  stream: SentStream
  sent: Omit<EncoderView['sent'], 'next_timestamp' | 'late_us'>
  checks: readonly Check[]
}

/** `decoder` of `GET /api/status`. */
export type DecoderState = Omit<DecoderView, 'checks'> & {
  checks: readonly Check[]
  arrival: Arrival | null
  output: { name: string; latency_ms: number | null; drift_ppm: number | null }
}

/** When packets come, as time left before they are played, and how far they stray, in microseconds. */
interface Arrival {
  earliest_us: number
  latest_us: number
  link_us: number
  jitter_p99_us: number
  jitter_max_us: number
}

/** What a route form may say; `mcast` empty stops. */
export interface RouteForm {
  mcast: string
  port?: number
  source?: string
  encoding?: string
  link_ms?: number
  mclk_offset?: number
}
