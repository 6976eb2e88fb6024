/** Routes of site plans: the plans, which cameras are on them and where, and cameras that look and turn by them. */
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { nameText } from '#kit/http/people-routes.ts'
import {
  type Ask,
  count,
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
import { HARMLESS, pictureTypeOf } from '#kit/pure/picture.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { PictureFolder } from '#kit/store/picture-folder.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { PlanAiming } from '../core/plans/aiming.ts'
import {
  type Placement,
  placementFields,
  pointList,
  ptzPosition,
  readPoints,
  readSamples,
  sampleList,
} from '../core/plans/placement.ts'
import type { SitePlan, SitePlans } from '../core/plans/site-plans.ts'
import type { Callers } from './callers.ts'
import { cameraParams } from './camera-routes.ts'
import { operatorsOnly } from './ptz-routes.ts'

interface PlanRouteParts {
  cameras: CameraBook
  callers: Callers
  plans: SitePlans
  aiming: PlanAiming
  pictures: Pick<PictureFolder, 'open'>
  recorder: Recorder
  /** Settings `plans.image_bytes` and `plans.upload_ms`. */
  limits: { imageBytes: number; uploadMs: number }
}

export function planRoutes(parts: PlanRouteParts): Route[] {
  return [
    listRoute(parts),
    ...imageRoutes(parts),
    ...changeRoutes(parts),
    placeRoute(parts),
    ...calibrationRoutes(parts),
    ...aimRoutes(parts),
  ]
}

const strict = { additionalProperties: false }
const number = Type.Number()
const planParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64, description: 'id of a plan' }) })
const planAnswer = object({ id: text, name: text, width: count, height: count })
const span = object({ least: number, most: number })
const degrees = Type.Number({ description: 'degrees clockwise from up' })
const calibrationAnswer = orNull(
  Type.Union([
    object({
      ...{ kind: Type.Literal('homography'), points: pointList },
      residualPx: Type.Number({ description: 'root of the mean square of how far points are off, in pixels' }),
    }),
    object({
      ...{ kind: Type.Literal('ptz'), samples: sampleList },
      headingDeg: Type.Number({ description: 'where it looks at pan 0, degrees clockwise from up' }),
      height: orNull(Type.Number({ description: 'in pixels of the plan; null: no sample looks down' })),
      residualDeg: Type.Number({ description: 'root of the mean square of how far samples are off' }),
    }),
  ]),
)
const placementAnswer = object({ ...placementFields, calibration: calibrationAnswer })

const plansAnswer = object({
  plans: Type.Array(planAnswer),
  placements: Type.Record(Type.String(), placementAnswer, { description: 'by id of the camera' }),
  limits: object({
    bytes: Type.Integer({ description: 'of an image' }),
    pixels: Type.Integer({ description: 'of a side of it' }),
    plans: count,
    points: span,
    samples: span,
    placement: object({ headingDeg: span, hfovDeg: span, rangePx: span }),
  }),
})

function planAnswerOf({ height, id, name, width }: SitePlan) {
  return { id, name, width, height }
}

function placementAnswerOf({ calibration, headingDeg, hfovDeg, planId, rangePx, x, y }: Placement) {
  return { planId, x, y, headingDeg, hfovDeg, rangePx, calibration }
}

function listRoute({ callers, cameras, plans }: PlanRouteParts): Route {
  return route({
    method: 'GET',
    path: '/api/site-plans',
    who: 'user',
    summary: 'Plans of the site, where the cameras that you may see are on them, and what may be set',
    reply: plansAnswer,
    handle({ caller }) {
      const account = callers.accountOf(caller)
      const placements = cameras.seenBy(account).flatMap(({ record: { id } }) => {
        const placement = plans.placementOf(id)
        return placement ? [[id, placementAnswerOf(placement)] as const] : []
      })
      return {
        plans: plans.seenBy(account).map(planAnswerOf),
        placements: Object.fromEntries(placements),
        limits: plans.limits,
      }
    },
  })
}

function imageRoutes({ callers, limits, pictures, plans, recorder }: PlanRouteParts): Route[] {
  const { imageBytes: maxBytes, uploadMs: wholeMs } = limits
  const upload = { maxBytes, idleMs: wholeMs, wholeMs }
  const one = createOneUpload()
  return [
    uploadRoute({
      method: 'POST',
      path: '/api/site-plans',
      who: 'admin',
      status: 201,
      summary: 'Add a plan; the body is its image, a JPEG or PNG',
      query: Type.Object({ name: nameText }, strict),
      upload,
      reply: planAnswer,
      async handle(ask) {
        const { name } = ask.query as { name: string }
        const plan = await one(ask, (bytes) => plans.add(name, bytes))
        await recorder.changed(ask, 'site plan added', name, planAnswerOf(plan))
        return new Reply(201, planAnswerOf(plan))
      },
    }),
    uploadRoute({
      method: 'PUT',
      path: '/api/site-plans/:id/image',
      who: 'admin',
      params: planParams,
      summary: 'Replace the image of a plan: cameras on it go along with its size, their calibrations are dropped',
      upload,
      reply: planAnswer,
      async handle(ask) {
        const { id } = ask.params as unknown as { id: string }
        plans.require(id, callers.accountOf(ask.caller))
        const plan = await one(ask, (bytes) => plans.replaceImage(id, bytes))
        await recorder.changed(ask, 'image of a site plan replaced', plan.name, planAnswerOf(plan))
        return planAnswerOf(plan)
      },
    }),
    route({
      method: 'GET',
      path: '/api/site-plans/:id/image',
      who: 'user',
      params: planParams,
      summary: 'The image of a plan',
      query: Type.Object(
        { v: Type.Optional(Type.String({ maxLength: 64, description: 'any, to get past a cache' })) },
        strict,
      ),
      replyType: 'image/*',
      handle({ caller, headers, params }) {
        const { picture } = plans.require(params.id, callers.accountOf(caller))
        const head = { ...HARMLESS, etag: `"${picture}"` }
        if (headers['if-none-match'] === head.etag) return new Reply(304, undefined, head)
        const opened = pictures.open(picture)
        if (!opened)
          throw new Fault('no_plan_image', 'The image of this plan is gone from the disk. Send it again, by PUT.')
        const more = { 'content-type': pictureTypeOf(picture), 'content-length': String(opened.sizeBytes) }
        return new Reply(200, Readable.from(opened.stream), { ...head, ...more })
      },
    }),
  ]
}

/** Takes one upload at a time, so that memory is bounded by one. */
function createOneUpload() {
  let isTaking = false
  return async <Taken>({ body }: Pick<Ask<Upload>, 'body'>, take: (bytes: Uint8Array) => Promise<Taken>) => {
    if (isTaking) throw new Fault('plan_upload_busy', 'Another image is being sent. Send yours when that has arrived.')
    isTaking = true
    try {
      return await take(await wholeUpload(body))
    } finally {
      isTaking = false
    }
  }
}

function changeRoutes({ plans, recorder }: PlanRouteParts): Route[] {
  return [
    route({
      method: 'PATCH',
      path: '/api/site-plans/:id',
      who: 'admin',
      params: planParams,
      summary: 'Rename a plan',
      body: Type.Object({ name: nameText }, strict),
      reply: planAnswer,
      async handle(ask) {
        const plan = await plans.rename(ask.params.id, ask.body.name)
        await recorder.changed(ask, 'site plan renamed', plan.name, { id: plan.id })
        return planAnswerOf(plan)
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/site-plans/:id',
      who: 'admin',
      status: 204,
      params: planParams,
      summary: 'Remove a plan; its cameras are on none then',
      async handle(ask) {
        const { id, name } = await plans.remove(ask.params.id)
        await recorder.changed(ask, 'site plan removed', name, { id })
      },
    }),
  ]
}

const placedAnswer = { placement: orNull(placementAnswer) }

function placeRoute({ callers, cameras, plans, recorder }: PlanRouteParts): Route {
  return route({
    method: 'PUT',
    path: '/api/cameras/:id/plan',
    who: 'admin',
    params: cameraParams,
    summary: 'Put a camera on a plan, move it there, or take it off',
    body: Type.Object({ placement: orNull(Type.Object(placementFields, strict)) }, strict),
    reply: object(placedAnswer),
    async handle(ask) {
      const { record } = cameras.require(ask.params.id, callers.accountOf(ask.caller))
      const { placement: wish } = ask.body
      const placement = await plans.place(record.id, wish)
      const what = wish ? 'camera put on a site plan' : 'camera taken off its site plan'
      await recorder.changed(ask, what, record.name, { id: record.id, ...wish })
      return { placement: placement ? placementAnswerOf(placement) : null }
    },
  })
}

function calibrationRoutes({ aiming, callers, cameras, plans, recorder }: PlanRouteParts): Route[] {
  const placed = (camera: string) => placementAnswerOf(plans.requirePlacement(camera))
  return [
    route({
      method: 'PUT',
      path: '/api/cameras/:id/plan/points',
      who: 'admin',
      params: cameraParams,
      summary: 'Calibrate a camera by points that are in its picture and on its plan',
      body: Type.Object({ points: pointList }, strict),
      reply: object({
        ...placedAnswer,
        fit: orNull(
          object({
            residualPx: number,
            errorsPx: Type.Array(number, { description: 'how far each point is off, in pixels of the plan' }),
          }),
        ),
      }),
      async handle(ask) {
        const { record } = cameras.require(ask.params.id, callers.accountOf(ask.caller))
        const fit = await plans.fitPoints(record.id, readPoints(ask.body.points))
        const told = fit && { residualPx: fit.residualPx, errorsPx: fit.errorsPx }
        await recorder.changed(ask, 'camera calibrated by points', record.name, { id: record.id, ...told })
        return { placement: placed(record.id), fit: told }
      },
    }),
    route({
      method: 'PUT',
      path: '/api/cameras/:id/plan/samples',
      who: 'admin',
      params: cameraParams,
      summary: 'Calibrate a camera that turns by places that it was aimed at',
      body: Type.Object({ samples: sampleList }, strict),
      reply: object({
        ...placedAnswer,
        fit: orNull(
          object({
            ...{ headingDeg: degrees, height: orNull(number), residualDeg: number },
            errorsDeg: Type.Array(number, { description: 'how far each sample is off' }),
            leftOut: Type.Array(yesNo, { description: 'whether each contradicts most others, and does not count' }),
          }),
        ),
      }),
      async handle(ask) {
        const { record } = cameras.require(ask.params.id, callers.accountOf(ask.caller))
        const fit = await aiming.calibrate(record, readSamples(ask.body.samples))
        await recorder.changed(ask, 'camera calibrated by samples', record.name, { id: record.id, ...fit })
        return { placement: placed(record.id), fit }
      },
    }),
  ]
}

function aimRoutes({ aiming, ...parts }: PlanRouteParts): Route[] {
  const operated = operatorsOnly(parts)
  return [
    route({
      method: 'GET',
      path: '/api/cameras/:id/plan/looking',
      who: 'user',
      params: cameraParams,
      summary: 'The point of the plan under the middle of the picture of a calibrated PTZ camera; for operators',
      reply: object({
        point: orNull(object({ x: number, y: number }, { description: 'null at the horizon and above it' })),
        ...{ bearingDeg: degrees, hfovDeg: number, position: ptzPosition },
      }),
      handle: (ask) => aiming.look(operated(ask).record),
    }),
    route({
      method: 'POST',
      path: '/api/cameras/:id/plan/aim',
      who: 'user',
      params: cameraParams,
      summary: 'Aim a calibrated PTZ camera at a point of its plan; for operators',
      body: Type.Object(
        {
          x: placementFields.x,
          y: placementFields.y,
          zoom: Type.Optional(
            orNull(Type.Number({ minimum: 0, maximum: 1, description: 'left out or null: as it is' })),
          ),
        },
        strict,
      ),
      reply: object({
        method: Type.Enum(['absolute', 'fov']),
        predictedError: number,
        achievedError: orNull(number),
        corrections: count,
        clamped: Type.Boolean({ description: 'whether it could not reach the point' }),
        bearingDeg: degrees,
        levelOnly: Type.Boolean({ description: 'whether only its pan was set, since its height is not known' }),
      }),
      handle(ask) {
        const { by, record } = operated(ask)
        const { x, y, zoom = null } = ask.body
        return aiming.aim(record, { point: [x, y], zoom }, by)
      },
    }),
  ]
}
