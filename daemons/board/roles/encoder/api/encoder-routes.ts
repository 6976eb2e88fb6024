/** Routes of the encoder: its stream, an hour of history, a test tone; and its Prometheus metrics. */
import { Type } from 'typebox'
import type { Metrics } from '#kit/http/metrics.ts'
import { Reply, type Route, route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import { toneAnswer } from '../../../api/answers.ts'
import { historyRoutes } from '../../../api/sound-routes.ts'
import type { Encoder } from '../core/encoder.ts'

interface EncoderRouteParts {
  encoder: Encoder
  recorder: Recorder
}

const toneForm = Type.Object(
  { on: Type.Boolean({ description: 'a tone goes out in place of the source, for a while; 0: the source again' }) },
  { additionalProperties: false },
)

/** @source Interface 2, B, Endpoints */
export function encoderRoutes({ encoder, recorder }: EncoderRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/stream.sdp',
      who: 'anyone',
      summary: 'The description of the stream, for receivers',
      replyType: 'application/sdp',
      handle() {
        const text = encoder.parts.announcing.sdp()
        if (text === undefined)
          throw new Fault('no_stream', 'There is no stream to describe: its network interface has no IPv4 address.')
        return new Reply(200, Buffer.from(text), { 'content-type': 'application/sdp', 'cache-control': 'no-store' })
      },
    }),
    ...historyRoutes({ history: { view: () => encoder.history.view() } }),
    route({
      method: 'POST',
      path: '/api/tone',
      who: 'admin',
      reply: toneAnswer,
      summary: 'Sends a tone of 997 Hz in place of the source, for a while, or the source again',
      body: toneForm,
      async handle({ body: { on }, ...asker }) {
        await encoder.tone(on)
        await recorder.changed(asker, on ? 'sent a tone' : 'ended the tone')
        return { tone_until: encoder.toneUntil }
      },
    }),
  ]
}

// Metrics.

/** @param metrics gets counts of packets, and gauges of timing, loudness and the clock; unknown values are left out */
export function measureEncoder(metrics: Metrics, encoder: Encoder): void {
  const one = (value: number | null | undefined) =>
    value === null || value === undefined ? [] : [{ labels: {}, value }]
  const sent = () => encoder.sent()
  metrics.counts({ name: 'encoder_packets_total', help: 'packets of sound that were sent, by all paths' }, () =>
    one(sent()?.packets),
  )
  metrics.counts({ name: 'encoder_bytes_total', help: 'bytes of those packets, with their RTP headers' }, () =>
    one(sent()?.bytes),
  )
  metrics.counts({ name: 'encoder_errors_total', help: 'packets that the system did not take' }, () =>
    one(sent()?.errors),
  )
  metrics.counts({ name: 'encoder_resyncs_total', help: 'times that packets began anew at the time it is' }, () =>
    one(sent()?.resyncs),
  )
  metrics.counts({ name: 'encoder_input_restarts_total', help: 'times that the source was opened anew' }, () =>
    one(encoder.care.restarts),
  )
  metrics.gauge({ name: 'encoder_sending', help: '1 while a source plays into the stream' }, () =>
    one(encoder.care.state === 'sending' ? 1 : 0),
  )
  metrics.gauge(
    { name: 'encoder_late_us', help: 'microseconds after their time that packets left', labels: ['quantile'] },
    () => spread(sent()?.lateUs),
  )
  metrics.gauge({ name: 'encoder_spacing_us', help: 'microseconds from packet to packet', labels: ['quantile'] }, () =>
    spread(sent()?.spacingUs),
  )
  metrics.gauge({ name: 'encoder_silence_seconds', help: 'how long the source has been silent' }, () =>
    one(encoder.loudness.silenceS),
  )
  metrics.gauge({ name: 'encoder_peak_db', help: 'peak of each channel below full scale', labels: ['channel'] }, () =>
    (encoder.loudness.meters?.peak_db ?? []).flatMap((db, index) =>
      db === null ? [] : [{ labels: { channel: String(index + 1) }, value: db }],
    ),
  )
}

function spread(of: { p50: number; p99: number; max: number } | null | undefined) {
  if (!of) return []
  const { p50, p99, max } = of
  return [
    { labels: { quantile: '0.5' }, value: p50 },
    { labels: { quantile: '0.99' }, value: p99 },
    { labels: { quantile: '1' }, value: max },
  ]
}
