/** Puts together what cameras say. */
import { setImmediate as breathe } from 'node:timers/promises'
import type { Route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { Callers } from '../api/callers.ts'
import { talkRoutes } from '../api/talk-routes.ts'
import type { RecorderConfig } from '../config.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { SitePlans } from '../core/plans/site-plans.ts'
import { createTalkMessages, type TalkMessages } from '../core/talk/messages.ts'
import { createTalk, type Talk } from '../core/talk/talk.ts'
import { newId } from '../io/state-files.ts'
import { createReadAloud, openTalkMessages } from '../io/talk-files.ts'
import { createTalker } from '../io/talk-session.ts'
import { userAgentOf } from './discovery.ts'

type Context = AssembleContext<RecorderConfig>

export interface Talking {
  talk: Talk
  messages: TalkMessages
  routes(parts: { callers: Callers; plans: Pick<SitePlans, 'placementOf'>; recorder: Recorder }): Route[]
}

export async function talkOf(context: Context, cameras: CameraBook): Promise<Talking> {
  const { clock, config, log, stateFolder, version } = context
  const { cameras: most, message_s: seconds, messages: mostMessages, speech_ms: limitMs } = config.talk
  const files = await openTalkMessages(stateFolder, log, seconds)
  const messages = createTalkMessages({
    ...{ clock, newId, breathe, ...files, limits: { messages: mostMessages, seconds } },
    readAloud: createReadAloud({ clock, limitMs, mostSeconds: seconds }),
  })
  const talker = createTalker({
    ...{ clock, answerMs: config.cameras.answer_ms, heardBytes: config.talk.heard_bytes },
    userAgent: userAgentOf(version),
  })
  const talk = createTalk({
    ...{ clock, log, talker, messages, most, endMs: config.talk.end_ms },
    keep: async (camera, talkback) => void (await cameras.change(camera, { talkback })),
  })
  const limits = { uploadBytes: config.talk.upload_bytes, idleMs: config.cameras.answer_ms }
  return { talk, messages, routes: (parts) => talkRoutes({ ...parts, cameras, messages, talk, limits }) }
}
