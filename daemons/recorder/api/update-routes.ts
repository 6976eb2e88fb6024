/** Routes of updates by a release file: what runs and what came of the last one, and taking a file. */
import { Type } from 'typebox'
import { count, instant, object, orNull, Reply, type Route, route, text, uploadRoute, yesNo } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { Uploads } from '../core/updating/uploads.ts'

const lineAnswer = object({ at: instant, text })
const updateAnswer = object({
  version: Type.String({ description: 'what runs' }),
  why: orNull(Type.String({ description: 'why no file is taken, and what to do; null where one is taken' })),
  isUploading: yesNo,
  isRunning: Type.Boolean({ description: 'whether an update, or a look for one, runs now' }),
  run: orNull(
    object({
      task: Type.String({ description: 'check, apply, handed (by a release file) or settle' }),
      ...{ begunAt: instant, lines: Type.Array(lineAnswer) },
      end: orNull(object({ at: instant, outcome: text, text, code: Type.Optional(text) })),
    }),
  ),
  last: orNull(object({ at: instant, outcome: text, text })),
  limits: object({ bytes: count }),
  anyRelease: Type.Boolean({ description: 'false: the licence limits which releases are taken' }),
  updatesUntil: orNull(
    Type.Integer({
      description: 'releases signed until then are taken, and security fixes; null: security fixes alone',
    }),
  ),
})

interface UpdateRouteParts {
  uploads: Uploads
  recorder: Recorder
  version: string
  /** Settings `updating.upload_bytes`, `updating.stall_ms` and `updating.upload_ms`. */
  limits: { bytes: number; stallMs: number; uploadMs: number }
}

export function updateRoutes({ limits, recorder, uploads, version }: UpdateRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/update',
      who: 'admin',
      summary: 'Which version runs, and what came of the last update',
      reply: updateAnswer,
      async handle() {
        const { told, until, ...view } = await uploads.view()
        const { last = null, run = null } = told ?? {}
        return {
          ...{ version, ...view, run, last, limits: { bytes: limits.bytes } },
          ...{ anyRelease: until === undefined, updatesUntil: until ?? null },
        }
      },
    }),
    uploadRoute({
      method: 'POST',
      path: '/api/update/upload',
      who: 'admin',
      status: 202,
      summary:
        'Upload a release by hand: the body is a release file. Answered once it is proven and its update has begun',
      upload: { maxBytes: limits.bytes, idleMs: limits.stallMs, wholeMs: limits.uploadMs },
      reply: object({ version: text, begunAt: instant }),
      replies: {
        400: object({
          error: Type.String({ description: 'starts `Rejected:`, and gives the reason' }),
          ...{ message: text, code: Type.Literal('update_rejected') },
        }),
      },
      async handle(ask) {
        try {
          const { at, version: next } = await uploads.take(ask.body.stream, ask.body.lengthBytes)
          await recorder.changed(ask, 'update uploaded', next)
          return new Reply(202, { version: next, begunAt: at })
        } catch (fault) {
          if (!(fault instanceof Fault) || fault.code !== 'update_rejected') throw fault
          const { code, message } = fault
          await recorder.changed(ask, 'update rejected', 'update', { why: message })
          // Here the contract has the sentence where others have the code.
          return new Reply(400, { error: message, message, code })
        }
      },
    }),
  ]
}
