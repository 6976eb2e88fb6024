/** Routes of the decoder: the streams it hears, what it plays, and how loud. */
import { Type } from 'typebox'
import { type Route, route } from '#kit/http/route.ts'
import type { Recorder, SendRecorder } from '#kit/recorder.ts'
import { routeAnswer, streamsAnswer, volumeAnswer } from '../../../api/answers.ts'
import { historyRoutes } from '../../../api/sound-routes.ts'
import type { Decoder } from '../core/decoder.ts'
import { routeView } from '../core/decoder-view.ts'
import { routeFields } from '../core/route-form.ts'
import type { VolumePath } from '../core/volume-desk.ts'

export interface DecoderRouteParts {
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

/** Every text is let through, so that core can tell all faults at once, in the words of the trade. */
function texts(fields: readonly Field[]) {
  const properties = fields.map(({ name, meaning }) => [name, Type.Optional(Type.String({ description: meaning }))])
  return Type.Object(Object.fromEntries(properties), { additionalProperties: Type.String() })
}
