/** Routes of cameras: what they are and how they do, adding and removing them. */
import { Type } from 'typebox'
import { nameText } from '#kit/http/people-routes.ts'
import { count, fault, instant, object, orNull, Reply, type Route, route, text, yesNo } from '#kit/http/route.ts'
import { counted } from '#kit/pure/text.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import { cameraEventKinds } from '../core/camera-events/meaning.ts'
import { type CameraBook, cameraModes, type KnownCamera, outputDrivers, outputKinds } from '../core/cameras/book.ts'
import { isMasked, maskList, readMasks } from '../core/cameras/masks.ts'
import { placementFields } from '../core/plans/placement.ts'
import type { SitePlans } from '../core/plans/site-plans.ts'
import type { Callers } from './callers.ts'

/** Names a camera in a path. */
export const cameraParams = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 64, description: 'id of a camera' }),
})

const { rangePx: _, ...placed } = placementFields
const planPlacement = object(
  {
    ...placed,
    calibrated: orNull(
      Type.Enum(['homography', 'ptz'], { description: 'how it is known which places of its picture are where' }),
    ),
  },
  { description: 'null: it is on no plan' },
)

/** A camera as answers have it. */
const MODE_MEANS = 'intelligence_only: it is watched and looked at, and no footage of it is kept'

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
  mode: Type.Enum([...cameraModes], { description: MODE_MEANS }),
  cameraEvents: Type.Boolean({ description: 'whether its own events are listened to' }),
  cameraEventsStatus: orNull(
    object(
      {
        state: Type.Enum(['starting', 'ok', 'failing']),
        reason: orNull(Type.String({ description: 'why they are not heard' })),
        lastEventAt: orNull(instant),
        active: Type.Array(Type.Enum([...cameraEventKinds]), { description: 'kinds of what lasts now' }),
      },
      { description: 'null: they are not listened to' },
    ),
  ),
  outputs: Type.Array(
    object({ id: text, kind: Type.Enum([...outputKinds]), name: text, driver: Type.Enum([...outputDrivers]) }),
  ),
  outputsProbedAt: orNull(instant),
  outputsNotes: orNull(Type.String({ description: 'what could not be done' })),
  vendorAccount: Type.Boolean({ description: "whether a password of its vendor's app is saved" }),
  talkback: object({
    supported: yesNo,
    codec: orNull(Type.Enum(['PCMU', 'PCMA'])),
    probedAt: orNull(instant),
    reason: orNull(Type.String({ description: 'why it cannot be spoken through; null if it can' })),
  }),
  planPlacement: orNull(planPlacement),
})

/** What the recorder asks no camera for. */
const NOT_ASKED = { vendorAccount: false }

const NEVER_ASKED = { codec: null, probedAt: null, reason: 'Nobody has asked the camera yet.' }

/** @param account who asks: some cameras want their password in the address, which is not for everybody */
export function cameraAnswerOf(
  { camera, record }: KnownCamera,
  { role }: AccountRecord,
  plans: Pick<SitePlans, 'placementOf'>,
) {
  const { audio, cameraEvents, enabled, id, masks, mode, name, onvif, outputs, subUrl, talkback, transport } = record
  const facts = camera.stream.facts()
  const recordProfile = facts
    ? {
        ...{ width: facts.width, height: facts.height, codec: facts.codec, fps: facts.fps ?? onvif?.fps ?? null },
        audioCodec: camera.stream.sound()?.codec ?? null,
      }
    : null
  const sub = role === 'administrator' ? { sub_url: subUrl, masks } : {}
  return {
    ...{ id, name, enabled, mode, onvif: onvif !== null, recordProfile, health: camera.health(), audio, transport },
    ...{ masked: isMasked(record), cameraEvents, cameraEventsStatus: camera.eventsStatus() },
    outputs: outputs?.list.map((one) => ({ ...one })) ?? [],
    ...{ outputsProbedAt: outputs?.probedAt ?? null, outputsNotes: outputs?.notes ?? null },
    ...{ ...sub, ...NOT_ASKED, planPlacement: planPlacementOf(plans, id) },
    talkback: { supported: talkback !== null && talkback.codec !== null, ...(talkback ?? NEVER_ASKED) },
  }
}

function planPlacementOf(plans: Pick<SitePlans, 'placementOf'>, camera: string) {
  const placement = plans.placementOf(camera)
  if (!placement) return null
  const { calibration, headingDeg, hfovDeg, planId, x, y } = placement
  return { planId, x, y, headingDeg, hfovDeg, calibrated: calibration?.kind ?? null }
}

const url = Type.String({ minLength: 1, maxLength: 1024, description: 'rtsp://HOST[:PORT]/PATH' })
const sub_url = Type.String({
  ...{ minLength: 1, maxLength: 1024 },
  description: 'of a smaller stream for watching, on the same host and with the same login',
})
/** How a camera is recorded. */
const recording = {
  mode: Type.Optional(Type.Enum([...cameraModes], { description: `${MODE_MEANS}; record unless said` })),
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
  plans: Pick<SitePlans, 'placementOf'>
  recorder: Recorder
  /** Ends what shows a camera without masks. */
  hide(camera: string): void
}

/** Without them it is all of them, in the order in which they were added. */
const pageQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 128, description: 'so many of them, by their ids upwards' }),
  ),
  after: Type.Optional(
    Type.String({ maxLength: 64, description: 'only those with a higher id: the last one of the page before' }),
  ),
})

function pageOf<One extends { record: { id: string } }>(
  seen: readonly One[],
  { after = '', limit }: { after?: string | undefined; limit?: number | undefined },
): readonly One[] {
  if (limit === undefined && after === '') return seen
  const byId = seen.toSorted((one, other) => (one.record.id < other.record.id ? -1 : 1))
  return byId.filter(({ record }) => record.id > after).slice(0, limit)
}

export function cameraRoutes({ callers, cameras, hide, plans, recorder }: CameraRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/cameras',
      who: 'user',
      summary: 'Every camera that you may see, and how it is',
      query: pageQuery,
      reply: Type.Array(cameraAnswer),
      handle({ caller, query: { after, limit } }) {
        const account = callers.accountOf(caller)
        const seen = cameras.seenBy(account)
        return pageOf(seen, { after, limit }).map((one) => cameraAnswerOf(one, account, plans))
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
        return new Reply(201, cameraAnswerOf(added, callers.accountOf(ask.caller), plans))
      },
    }),
    changeRoute({ callers, cameras, hide, plans, recorder }),
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

function changeRoute({ callers, cameras, hide, plans, recorder }: CameraRouteParts): Route {
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
        cameraEvents: Type.Optional(
          Type.Boolean({ description: 'whether its own events are listened to, over ONVIF' }),
        ),
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
      return cameraAnswerOf(changed, account, plans)
    },
  })
}
