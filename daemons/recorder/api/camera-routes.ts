/** Routes of cameras: what they are and how they do, adding and removing them. */
import { Type } from 'typebox'
import { nameText } from '#kit/http/people-routes.ts'
import { count, fault, instant, object, orNull, Reply, type Route, route, text, yesNo } from '#kit/http/route.ts'
import { counted } from '#kit/pure/text.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import type { CameraBook, KnownCamera } from '../core/cameras/book.ts'
import { isMasked, maskList, readMasks } from '../core/cameras/masks.ts'
import type { Callers } from './callers.ts'

/** Names a camera in a path. */
export const cameraParams = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 64, description: 'id of a camera' }),
})

/** A camera as answers have it. */
export const cameraAnswer = object({
  id: text,
  name: text,
  enabled: yesNo,
  onvif: Type.Boolean({
    description: 'whether it is spoken to over ONVIF; false for one that was added by its address',
  }),
  recordProfile: orNull(
    object(
      { width: count, height: count, codec: text, fps: orNull(Type.Number()), audioCodec: orNull(text) },
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
  sub_url: Type.Optional(
    orNull(Type.String({ description: 'address of the stream for watching; told to administrators alone' })),
  ),
  audio: Type.Boolean({ description: 'whether its sound is recorded, where it sends some' }),
  transport: Type.Enum(['tcp', 'udp'], { description: 'how its packets come' }),
  masks: Type.Optional(maskList),
  masked: Type.Boolean({
    description: 'whether it has privacy masks: then stream.mjpg shows it live, and /ws/video does not',
  }),
  mode: Type.Enum(['record'], { description: 'footage of it is kept' }),
  cameraEvents: Type.Boolean({ description: 'whether its own events are listened to' }),
  cameraEventsStatus: Type.Null({ description: 'null: they are not listened to' }),
  outputs: Type.Array(Type.Never(), { maxItems: 0, description: 'none is known' }),
  outputsProbedAt: Type.Null({ description: 'null: nobody has looked' }),
  outputsNotes: Type.Null(),
  vendorAccount: Type.Boolean({ description: "whether a password of its vendor's app is saved" }),
  talkback: object({
    supported: yesNo,
    codec: orNull(Type.Enum(['PCMU', 'PCMA'])),
    probedAt: orNull(instant),
    reason: orNull(Type.String({ description: 'why it cannot be spoken through; null if it can' })),
  }),
  planPlacement: Type.Null({ description: 'null: it is on no plan' }),
})

/** What the recorder asks no camera for. */
const NOT_ASKED = {
  ...{ mode: 'record', cameraEvents: false, cameraEventsStatus: null, vendorAccount: false },
  ...{ outputs: [], outputsProbedAt: null, outputsNotes: null, planPlacement: null },
}

const NEVER_ASKED = { codec: null, probedAt: null, reason: 'Nobody has asked the camera yet.' }

/** @param account who asks: some cameras want their password in the address, which is not for everybody */
export function cameraAnswerOf({ camera, record }: KnownCamera, { role }: AccountRecord) {
  const { audio, enabled, id, masks, name, onvif, subUrl, talkback, transport } = record
  const facts = camera.stream.facts()
  const recordProfile = facts
    ? {
        ...{ width: facts.width, height: facts.height, codec: facts.codec, fps: facts.fps ?? onvif?.fps ?? null },
        audioCodec: camera.stream.sound()?.codec ?? null,
      }
    : null
  const sub = role === 'administrator' ? { sub_url: subUrl, masks } : {}
  return {
    ...{ id, name, enabled, onvif: onvif !== null, recordProfile, health: camera.health(), audio, transport },
    masked: isMasked(record),
    ...{ ...sub, ...NOT_ASKED },
    talkback: { supported: talkback !== null && talkback.codec !== null, ...(talkback ?? NEVER_ASKED) },
  }
}

const url = Type.String({ minLength: 1, maxLength: 1024, description: 'rtsp://HOST[:PORT]/PATH' })
const sub_url = Type.String({
  ...{ minLength: 1, maxLength: 1024 },
  description: 'of a smaller stream for watching, on the same host and with the same login',
})
/** How a camera is recorded. */
const recording = {
  audio: Type.Optional(
    Type.Boolean({ description: 'whether its sound is recorded, where it sends some; true unless said' }),
  ),
  transport: Type.Optional(
    Type.Enum(['tcp', 'udp'], { description: 'how its packets come: over the connection unless said' }),
  ),
}
const login = {
  username: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  password: Type.Optional(Type.String({ maxLength: 256, writeOnly: true })),
}

interface CameraRouteParts {
  cameras: CameraBook
  callers: Callers
  recorder: Recorder
  /** Ends what shows a camera without masks. */
  hide(camera: string): void
}

export function cameraRoutes({ callers, cameras, hide, recorder }: CameraRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/cameras',
      who: 'user',
      summary: 'Every camera that you may see, and how it is',
      reply: Type.Array(cameraAnswer),
      handle({ caller }) {
        const account = callers.accountOf(caller)
        return cameras.seenBy(account).map((one) => cameraAnswerOf(one, account))
      },
    }),
    route({
      method: 'POST',
      path: '/api/discovery/rtsp',
      who: 'admin',
      status: 201,
      summary: 'Add a camera by its address',
      body: Type.Object(
        { name: nameText, url, sub_url: Type.Optional(sub_url), ...login, ...recording },
        { additionalProperties: false },
      ),
      reply: cameraAnswer,
      async handle(ask) {
        const { sub_url: subUrl, ...wish } = ask.body
        const added = await cameras.add({ ...wish, subUrl })
        const { id, name, url } = added.record
        await recorder.changed(ask, 'camera added', name, { id, url, ...(subUrl && { sub_url: added.record.subUrl }) })
        return new Reply(201, cameraAnswerOf(added, callers.accountOf(ask.caller)))
      },
    }),
    changeRoute({ callers, cameras, hide, recorder }),
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

function changeRoute({ callers, cameras, hide, recorder }: CameraRouteParts): Route {
  return route({
    method: 'PATCH',
    path: '/api/cameras/:id',
    who: 'admin',
    summary: 'Change a camera: its name, its address and login, its privacy masks, or switch it on or off',
    params: cameraParams,
    body: Type.Object(
      {
        ...{ name: Type.Optional(nameText), enabled: Type.Optional(Type.Boolean()), url: Type.Optional(url) },
        sub_url: Type.Optional(orNull(sub_url)),
        masks: Type.Optional(maskList),
        ...login,
        ...recording,
      },
      { additionalProperties: false },
    ),
    reply: cameraAnswer,
    async handle(ask) {
      const account = callers.accountOf(ask.caller)
      cameras.require(ask.params.id, account)
      const { masks, sub_url: subUrl, ...wish } = ask.body
      const changed = await cameras.change(ask.params.id, {
        ...wish,
        subUrl,
        ...(masks && { masks: readMasks(masks) }),
      })
      if (isMasked(changed.record)) hide(changed.record.id)
      const { password, url, ...facts } = wish
      const { record } = changed
      const said = {
        ...(url !== undefined && { url: record.url }),
        ...(subUrl !== undefined && { sub_url: record.subUrl }),
        ...(password && { password: 'changed' }),
        ...(masks && { masks: counted(masks.length, 'mask') }),
      }
      await recorder.changed(ask, 'camera changed', record.name, { ...facts, ...said })
      return cameraAnswerOf(changed, account)
    },
  })
}
