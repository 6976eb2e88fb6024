/** Routes of the decoder: streams heard, what it plays, volume; and its Prometheus metrics. */
import { Type } from 'typebox'
import type { Metrics } from '#kit/http/metrics.ts'
import { type Route, route } from '#kit/http/route.ts'
import type { Recorder, SendRecorder } from '#kit/records/records.ts'
import { routeAnswer, streamsAnswer, volumeAnswer } from '../../../api/answers.ts'
import { historyRoutes } from '../../../api/sound-routes.ts'
import type { Decoder } from '../core/decoder.ts'
import { routeView } from '../core/decoder-view.ts'
import { type TotalName, totalNames } from '../core/reception.ts'
import { routeFields } from '../core/route.ts'
import type { VolumePath } from '../core/volume.ts'

interface DecoderRouteParts {
  decoder: Decoder
  settings: { link_ms: number }
  recorder: Recorder & SendRecorder
}

/** @source Interface 2, B, Endpoints */
export function decoderRoutes({ decoder, settings, recorder }: DecoderRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/streams',
      who: 'admin',
      reply: streamsAnswer,
      summary: 'The streams that are announced on the network, over SAP, mDNS and RTSP',
      handle: () => decoder.streams(),
    }),
    route({
      method: 'GET',
      path: '/api/route',
      who: 'admin',
      reply: routeAnswer,
      summary: 'What is played: group, port, source, link offset, media clock offset, channels as packets have them',
      handle: () => routeView(decoder, settings),
    }),
    route({
      method: 'POST',
      path: '/api/route',
      who: 'admin',
      reply: routeAnswer,
      summary: 'Plays another stream, at once, and keeps that; an empty mcast stops',
      body: texts(routeFields),
      async handle(ask) {
        const { mcast, port, source } = await decoder.book.change(
          ask.body as unknown as Readonly<Record<string, string>>,
        )
        const what = mcast === '' ? 'stopped playing' : 'played another stream'
        await recorder.changed(
          ask,
          what,
          mcast === '' ? undefined : `${mcast}:${port}`,
          source === null ? {} : { source },
        )
        return routeView(decoder, settings)
      },
    }),
    ...volumeRoutes({ decoder, recorder }),
    ...historyRoutes({ history: { view: () => decoder.history() } }),
  ]
}

const VOLUME_FIELD = { name: 'volume', meaning: '0 to 100, as on a fader; 0 is silence' }
const VOLUME_DB_FIELD = { name: 'volume_db', meaning: '-80 to 12 dB; -80 is silence' }
const MUTE_FIELD = { name: 'mute', meaning: '1, 0 or toggle' }

function volumeRoutes({ decoder, recorder }: Pick<DecoderRouteParts, 'decoder' | 'recorder'>): Route[] {
  const get = (path: VolumePath, summary: string) =>
    route({
      method: 'GET',
      path: `/api/${path}`,
      who: 'admin',
      summary,
      reply: volumeAnswer,
      handle: () => decoder.volume.view,
    })
  const post = (path: VolumePath, summary: string, fields: readonly Field[]) =>
    route({
      method: 'POST',
      path: `/api/${path}`,
      who: 'admin',
      summary,
      body: texts(fields),
      reply: volumeAnswer,
      async handle(ask) {
        const before = decoder.volume.view
        const view = decoder.volume.change(path, ask.body as unknown as Readonly<Record<string, string>>)
        if (view.volume_db !== before.volume_db || view.mute !== before.mute)
          await recorder.sent(ask, 'set the volume', undefined, view)
        return view
      },
    })
  return [
    get('volume', 'Volume as on a fader and in dB, and whether it is muted'),
    post('volume', 'Sets volume or mute or both, at once; saved a little later', [VOLUME_FIELD, MUTE_FIELD]),
    get('volume_db', 'The same'),
    post('volume_db', 'Sets the volume in dB or mute or both, at once; saved a little later', [
      VOLUME_DB_FIELD,
      MUTE_FIELD,
    ]),
    get('mute', 'The same'),
    post('mute', 'Mutes, or lets be heard again', [MUTE_FIELD]),
  ]
}

interface Field {
  name: string
  meaning: string
}

/** Accepts any text, so that core can report all faults at once, in its own words. */
function texts(fields: readonly Field[]) {
  const properties = fields.map(({ name, meaning }) => [name, Type.Optional(Type.String({ description: meaning }))])
  return Type.Object(Object.fromEntries(properties), { additionalProperties: Type.String() })
}

// Metrics.

/** @param metrics gets counts by kind, and gauges of playing, arrivals and the output */
export function measureDecoder(metrics: Metrics, decoder: Decoder): void {
  const now = (value: number | null | undefined) =>
    value === null || value === undefined ? [] : [{ labels: {}, value }]
  const most = new Map<TotalName, number>()
  /**
   * A packet counted as lost that arrives after all is subtracted again; Prometheus would take a falling counter for a
   * restart.
   */
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
