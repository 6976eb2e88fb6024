/** What cameras say of themselves over ONVIF. */
import { Type } from 'typebox'
import { instant, object, type Route, route, text } from '#kit/http/route.ts'
import type { CameraEvent } from '../core/camera-events/camera-events.ts'
import { cameraEventKinds, cameraEventPhases } from '../core/camera-events/meaning.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { Callers } from './callers.ts'

interface CameraEventRouteParts {
  callers: Callers
  cameras: CameraBook
  /** Newest first. */
  events(query: { cameras: readonly string[]; before: number; limit: number }): Promise<CameraEvent[]>
}

export const cameraEventAnswer = object({
  ...{ camera_id: text, camera_name: text },
  kind: Type.Enum([...cameraEventKinds]),
  phase: Type.Enum([...cameraEventPhases], { description: 'pulse: it happened once' }),
  topic: Type.String({ description: 'as the camera calls it, without prefixes' }),
  at: Type.Integer({ description: "when it was told, by the recorder's clock, epoch milliseconds" }),
  summary: text,
})

const query = Type.Object(
  {
    cameraId: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'of this camera alone' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 })),
    before: Type.Optional({ ...instant, minimum: 0, description: 'epoch ms: only what was told earlier' }),
  },
  { additionalProperties: false },
)

export function cameraEventRoutes({ callers, cameras, events }: CameraEventRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/camera-events',
      who: 'user',
      summary: 'Events that cameras claim themselves, of those whose events are listened to; newest first',
      query,
      reply: object({ events: Type.Array(cameraEventAnswer) }),
      async handle({ caller, query: { before = Number.MAX_SAFE_INTEGER, cameraId, limit = 100 } }) {
        const account = callers.accountOf(caller)
        const seen = cameraId === undefined ? cameras.seenBy(account) : [cameras.require(cameraId, account)]
        const names = new Map(seen.map(({ record }) => [record.id, record.name]))
        const found = await events({ cameras: [...names.keys()], before, limit })
        return { events: found.map((event) => cameraEventAnswerOf(event, names.get(event.camera) ?? '')) }
      },
    }),
  ]
}

export function cameraEventAnswerOf({ at, camera, kind, phase, summary, topic }: CameraEvent, name: string) {
  return { camera_id: camera, camera_name: name, kind, phase, topic, at, summary }
}
