/** Routes of the encoder: the description of its stream, an hour of its history, and a tone to try the way with. */
import { Type } from 'typebox'
import { Fault } from '#kit/fault.ts'
import { Reply, type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/recorder.ts'
import { toneAnswer } from '../../../api/answers.ts'
import { historyRoutes } from '../../../api/sound-routes.ts'
import type { Encoder } from '../core/encoder.ts'

export interface EncoderRouteParts {
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
