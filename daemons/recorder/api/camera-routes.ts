/** Routes of the recorder itself and of its cameras. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { rootCertificateRoute } from '#kit/http/certificate-route.ts'
import { nameText } from '#kit/http/people-routes.ts'
import { count, fault, instant, object, orNull, Reply, type Route, route, text, yesNo } from '#kit/http/route.ts'
import type { LateAuthority } from '#kit/net/own-authority.ts'
import type { Users } from '#kit/pure/users.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { CameraBook, KnownCamera } from '../core/cameras/book.ts'

/** The product name in replies. */
export const PRODUCT = 'Plantroom video recorder'

/** Names a camera in a path. */
export const cameraParams = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 64, description: 'id of a camera' }),
})

const cameraAnswer = object({
  id: text,
  name: text,
  enabled: yesNo,
  onvif: Type.Boolean({ description: 'whether it can be moved; false for one that was added by its address' }),
  recordProfile: orNull(
    object(
      { width: count, height: count, codec: text, fps: orNull(Type.Number()) },
      { description: 'null until its stream has begun once' },
    ),
  ),
  health: object({
    state: Type.Enum(['off', 'connecting', 'starting', 'recording', 'lost', 'refused', 'unsupported']),
    stateSince: instant,
    fault: orNull(fault),
    nextTryAt: orNull(instant),
    lastPictureAt: orNull(instant),
  }),
})

function answerOf({ camera, record: { enabled, id, name } }: KnownCamera) {
  const facts = camera.stream.facts()
  const recordProfile = facts
    ? { width: facts.width, height: facts.height, codec: facts.codec, fps: facts.fps ?? null }
    : null
  return { id, name, enabled, onvif: false, recordProfile, health: camera.health() }
}

interface CameraRouteParts {
  cameras: CameraBook
  recorder: Recorder
}

export function cameraRoutes({ cameras, recorder }: CameraRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/cameras',
      who: 'user',
      summary: 'Every camera, and how it is',
      reply: Type.Array(cameraAnswer),
      handle: () => cameras.list().map(answerOf),
    }),
    route({
      method: 'POST',
      path: '/api/discovery/rtsp',
      who: 'admin',
      status: 201,
      summary: 'Add a camera by its address',
      body: Type.Object(
        {
          name: nameText,
          url: Type.String({ minLength: 1, maxLength: 1024, description: 'rtsp://HOST[:PORT]/PATH' }),
          username: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
          password: Type.Optional(Type.String({ maxLength: 256, writeOnly: true })),
        },
        { additionalProperties: false },
      ),
      reply: cameraAnswer,
      async handle(ask) {
        const added = await cameras.add(ask.body)
        await recorder.changed(ask, 'camera added', added.record.name, { id: added.record.id, url: added.record.url })
        return new Reply(201, answerOf(added))
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/cameras/:id',
      who: 'admin',
      summary: 'Rename a camera, or switch it on or off',
      params: cameraParams,
      body: Type.Object(
        { name: Type.Optional(nameText), enabled: Type.Optional(Type.Boolean()) },
        { additionalProperties: false },
      ),
      reply: cameraAnswer,
      async handle(ask) {
        const changed = await cameras.change(ask.params.id, ask.body)
        await recorder.changed(ask, 'camera changed', changed.record.name, ask.body)
        return answerOf(changed)
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/cameras/:id',
      who: 'admin',
      status: 204,
      summary: 'Remove a camera; its footage stays as long as any other',
      params: cameraParams,
      async handle(ask) {
        const { id, name } = await cameras.remove(ask.params.id)
        await recorder.changed(ask, 'camera removed', name, { id })
      },
    }),
  ]
}

interface SystemRouteParts {
  clock: Clock
  version: string
  users: Pick<Users, 'isSetUp'>
  cameras: CameraBook
  footage: { bytes(): number }
  authority: Pick<LateAuthority, 'open'>
  /** By how much the wall clock is ahead of what is recorded. */
  clockAheadMs(): number
}

export function systemRoutes({
  authority,
  cameras,
  clock,
  clockAheadMs,
  footage,
  users,
  version,
}: SystemRouteParts): Route[] {
  const startedMs = clock.monotonicMs()
  return [
    rootCertificateRoute(authority, 'recorder'),
    route({
      method: 'GET',
      path: '/api/status',
      who: 'anyone',
      summary: 'Version, and whether somebody can sign in',
      reply: object({ product: text, version: text, uptimeMs: count, adminConfigured: yesNo }),
      handle: () => ({
        ...{ product: PRODUCT, version, adminConfigured: users.isSetUp() },
        uptimeMs: Math.round(clock.monotonicMs() - startedMs),
      }),
    }),
    route({
      method: 'GET',
      path: '/api/health',
      who: 'admin',
      summary: 'What is recorded and what is lost, by camera; how much is kept',
      reply: object({
        clockAheadMs: Type.Integer({
          description: 'how far the wall clock is ahead of what is recorded; negative if it was set back',
        }),
        footageBytes: count,
        cameras: Type.Array(
          object({
            ...{ id: text, name: text, state: text, bytes: count, pictures: count, lostPackets: count },
            ...{ brokenPackets: count, droppedPictures: count, lostGroups: count },
          }),
        ),
      }),
      handle: () => ({
        clockAheadMs: Math.round(clockAheadMs()),
        footageBytes: footage.bytes(),
        cameras: cameras.list().map(({ camera, record: { id, name } }) => ({
          ...{ id, name, state: camera.health().state },
          ...camera.stream.counts(),
        })),
      }),
    }),
  ]
}
