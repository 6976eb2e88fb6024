/** Routes of what cameras say: saved messages, and the loudspeakers of cameras. */
import { Type } from 'typebox'
import { nameText } from '#kit/http/people-routes.ts'
import {
  instant,
  object,
  orNull,
  Reply,
  type Route,
  route,
  text,
  type Upload,
  uploadRoute,
  wholeUpload,
  yesNo,
} from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { SitePlans } from '../core/plans/site-plans.ts'
import { messageSources, type TalkMessages } from '../core/talk/messages.ts'
import type { Talk } from '../core/talk/talk.ts'
import { writeWav } from '../wire/wav.ts'
import { type Callers, requireOperator, requirePermission } from './callers.ts'
import { cameraAnswer, cameraAnswerOf, cameraParams } from './camera-routes.ts'

const messageAnswer = object({
  id: text,
  name: text,
  source: Type.Enum([...messageSources], { description: 'a file that was uploaded, or a text that is read aloud' }),
  text: orNull(Type.String({ description: 'what is read aloud; null of a file' })),
  seconds: Type.Number(),
  createdAt: instant,
})

const messageParams = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 64, description: 'id of a message' }),
})

const nameQuery = Type.Object({ name: nameText }, { additionalProperties: false })

interface TalkRouteParts {
  callers: Callers
  cameras: CameraBook
  plans: Pick<SitePlans, 'placementOf'>
  recorder: Recorder
  messages: TalkMessages
  talk: Talk
  limits: { uploadBytes: number; idleMs: number }
}

/** A file of the largest size may come over a slow line for so many times the wait for its next byte. */
const WHOLE_TO_IDLE = 6

export function talkRoutes(parts: TalkRouteParts): Route[] {
  return [...messageRoutes(parts), ...addingRoutes(parts), ...cameraRoutes(parts)]
}

function messageRoutes({ messages, recorder }: TalkRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/talk/messages',
      who: 'user',
      summary: 'Saved messages that cameras can be told to say',
      reply: Type.Array(messageAnswer),
      handle: () => messages.list(),
    }),
    route({
      method: 'GET',
      path: '/api/talk/messages/:id/sound.wav',
      who: 'user',
      summary: 'A saved message, to be listened to',
      params: messageParams,
      async handle({ params }) {
        const sound = writeWav(await messages.soundOf(params.id))
        return new Reply(200, Buffer.from(sound), { 'content-type': 'audio/wav', 'cache-control': 'no-store' })
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/talk/messages/:id',
      who: 'admin',
      status: 204,
      summary: 'Delete a saved message',
      params: messageParams,
      async handle(ask) {
        const { id, name } = await messages.remove(ask.params.id)
        await recorder.changed(ask, 'message deleted', name, { id })
      },
    }),
  ]
}

function addingRoutes({ limits, messages, recorder }: TalkRouteParts): Route[] {
  let isTaking = false
  return [
    uploadRoute({
      method: 'POST',
      path: '/api/talk/messages',
      who: 'admin',
      status: 201,
      summary: 'Save a message: the body is a WAV file, the query has its name',
      query: nameQuery,
      upload: { maxBytes: limits.uploadBytes, idleMs: limits.idleMs, wholeMs: WHOLE_TO_IDLE * limits.idleMs },
      reply: messageAnswer,
      async handle(ask) {
        const { name } = ask.query as { name: string }
        if (isTaking) throw new Fault('talk_busy', 'Another file is being taken. Try again when it is done.')
        isTaking = true
        try {
          const added = await messages.addFile(name, await wholeUpload(ask.body as Upload))
          await recorder.changed(ask, 'message added', name, { id: added.id, source: added.source })
          return new Reply(201, added)
        } finally {
          isTaking = false
        }
      },
    }),
    route({
      method: 'POST',
      path: '/api/talk/speech',
      who: 'admin',
      status: 201,
      summary: 'Save a message that is read aloud, by espeak-ng of this machine',
      body: Type.Object(
        {
          name: nameText,
          text: Type.String({ minLength: 1, maxLength: 2000, pattern: '\\S' }),
          voice: Type.String({
            ...{ default: 'en', pattern: '^[a-zA-Z][a-zA-Z0-9+-]{0,31}$' },
            description: 'as espeak-ng --voices lists them: en, de, fr, en+f3',
          }),
        },
        { additionalProperties: false },
      ),
      reply: messageAnswer,
      async handle(ask) {
        const { name, text: said, voice } = ask.body
        const added = await messages.addSpeech(name, said, voice)
        await recorder.changed(ask, 'message added', name, { id: added.id, source: added.source, text: said, voice })
        return new Reply(201, added)
      },
    }),
  ]
}

function cameraRoutes({ callers, cameras, messages, plans, recorder, talk }: TalkRouteParts): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/cameras/:id/talk/probe',
      who: 'admin',
      summary: 'Ask a camera whether it has a loudspeaker (ONVIF backchannel)',
      params: cameraParams,
      reply: cameraAnswer,
      async handle(ask) {
        const account = callers.accountOf(ask.caller)
        const { record } = cameras.require(ask.params.id, account)
        const { codec, reason } = await talk.probe(record)
        await recorder.changed(ask, 'camera asked for its loudspeaker', record.name, { id: record.id, codec, reason })
        return cameraAnswerOf(cameras.require(ask.params.id, account), account, plans)
      },
    }),
    route({
      method: 'POST',
      path: '/api/cameras/:id/talk',
      who: 'user',
      status: 202,
      summary: 'Have a camera say a saved message; answered once it begins',
      params: cameraParams,
      body: Type.Object(
        {
          messageId: Type.String({ minLength: 1, maxLength: 64 }),
          repeat: Type.Integer({ default: 1, minimum: 1, maximum: 3 }),
        },
        { additionalProperties: false },
      ),
      reply: object({ seconds: Type.Number({ description: 'how long it speaks' }) }),
      async handle(ask) {
        const account = callers.accountOf(ask.caller)
        const { record } = cameras.require(ask.params.id, account)
        requireOperator(account, 'Speaking through a camera')
        requirePermission(account, 'talk', 'Speaking through a camera')
        const { messageId, repeat } = ask.body
        const { name } = messages.require(messageId)
        const { seconds } = await talk.say(record, messageId, repeat)
        await recorder.changed(ask, 'camera speaks', record.name, { id: record.id, message: name, repeat })
        return new Reply(202, { seconds })
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/cameras/:id/talk',
      who: 'user',
      summary: 'Have a camera say nothing more',
      params: cameraParams,
      reply: object({ spoke: yesNo }),
      async handle(ask) {
        const account = callers.accountOf(ask.caller)
        const { record } = cameras.require(ask.params.id, account)
        requireOperator(account, 'Speaking through a camera')
        requirePermission(account, 'talk', 'Speaking through a camera')
        const spoke = talk.stop(record.id)
        if (spoke) await recorder.changed(ask, 'camera was stopped from speaking', record.name, { id: record.id })
        return { spoke }
      },
    }),
  ]
}
