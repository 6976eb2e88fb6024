/** What Prometheus is told of a decoder. */
import type { Metrics } from '#kit/http/metrics.ts'
import type { Decoder } from '../core/decoder.ts'
import { type TotalName, totalNames } from '../core/reception.ts'

/** @param metrics gains counts by kind, and gauges of what plays, how packets arrive, and how the output goes */
export function measureDecoder(metrics: Metrics, decoder: Decoder): void {
  const now = (value: number | null | undefined) =>
    value === null || value === undefined ? [] : [{ labels: {}, value }]
  const most = new Map<TotalName, number>()
  /** A packet that was counted as lost and came after all is taken back; to Prometheus a count that falls began anew. */
  const grown = (kind: TotalName) => {
    const value = Math.max(most.get(kind) ?? 0, decoder.tuner.reception.totals[kind])
    most.set(kind, value)
    return value
  }
  metrics.counts(
    { name: 'decoder_events_total', help: 'packets and what befell them, by kind', labels: ['kind'] },
    () => totalNames.filter((kind) => kind !== 'bytes').map((kind) => ({ labels: { kind }, value: grown(kind) })),
  )
  metrics.counts({ name: 'decoder_bytes_total', help: 'bytes of sound that came in' }, () =>
    now(decoder.tuner.reception.totals.bytes),
  )
  metrics.gauge({ name: 'decoder_check_ok', help: '1 where a link of the chain is sound', labels: ['check'] }, () =>
    decoder
      .checks()
      .flatMap(({ name, state }) =>
        state === 'not_judged' ? [] : [{ labels: { check: name }, value: state === 'ok' ? 1 : 0 }],
      ),
  )
  metrics.gauge({ name: 'decoder_loss_percent', help: 'packets missing in the last minute' }, () =>
    now(decoder.tuner.reception.lossPercent1Min),
  )
  metrics.gauge(
    { name: 'decoder_headroom_seconds', help: 'time left before it was to be played of the latest packet' },
    () => now(decoder.arrival && decoder.arrival.latestUs / 1e6),
  )
  metrics.gauge(
    { name: 'decoder_jitter_seconds', help: 'how far arrivals stray in a second', labels: ['quantile'] },
    () => {
      const { arrival } = decoder
      if (arrival === null) return []
      return [
        { labels: { quantile: '0.5' }, value: arrival.jitterP50Us / 1e6 },
        { labels: { quantile: '0.99' }, value: arrival.jitterP99Us / 1e6 },
        { labels: { quantile: '1' }, value: arrival.jitterMaxUs / 1e6 },
      ]
    },
  )
  metrics.gauge({ name: 'decoder_drift_ppm', help: 'rate of the sound card against the clock of the board' }, () =>
    now(decoder.outputFacts?.driftPpm),
  )
  metrics.counts({ name: 'decoder_output_restarts_total', help: 'times the output ended, or could not be made' }, () =>
    now(decoder.output.restarts),
  )
  metrics.gauge({ name: 'decoder_volume_db', help: 'volume' }, () => now(decoder.volume.view.volume_db))
  metrics.gauge({ name: 'decoder_muted', help: '1 while it is muted' }, () => now(decoder.volume.view.mute ? 1 : 0))
}
