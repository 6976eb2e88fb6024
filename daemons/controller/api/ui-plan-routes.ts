/** Routes for floor plans: their pictures for whom they are for, and for elevated sessions what plans are made of. */
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { createReader, fieldsFault } from '#kit/http/check.ts'
import { Reply, type Route, type Upload, wholeUpload } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import { HARMLESS, pictureTypeOf } from '#kit/pure/picture.ts'
import {
  type DraftRows,
  draftPlans,
  isSamePlan,
  MOST_ON_PLAN,
  PLACES,
  rowsOfPlan,
  rowsOfRemoval,
} from '../core/site/plans.ts'
import type { UiControl, UiRooms, UiTables } from '../core/surfaces.ts'
import { pictureAnswer, plansAnswer, stagedAnswer } from './answers.ts'
import { granted, type UiAnswer, type UiGate } from './ui-gate.ts'

/** What these routes depend on. */
interface UiPlanParts {
  control: Pick<UiControl, 'scope'>
  rooms: Pick<UiRooms, 'plans' | 'keepPicture' | 'openPicture' | 'hasPicture'>
  tables: UiTables
  limits: { planBytes: number; planUploadMs: number }
}

const rowId = () => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const place = () => Type.Integer({ minimum: 0, maximum: PLACES })
const pictureName = () =>
  Type.String({ minLength: 1, maxLength: 80, description: 'as `POST /ui/plan/picture` gave it' })

const readPictureQuery = createReader(
  Type.Object(
    {
      plan: Type.Optional(rowId()),
      name: Type.Optional(pictureName()),
      v: Type.Optional(Type.String({ maxLength: 64, description: 'any, to get past a cache' })),
    },
    { additionalProperties: false },
  ),
  '?',
  'text',
)

const planKeys = {
  name: Type.String({ minLength: 1, maxLength: 60 }),
  ui_id: rowId(),
  picture: Type.Object(
    {
      name: pictureName(),
      width: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
      height: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    },
    { additionalProperties: false },
  ),
  zones: Type.Array(Type.Object({ zone_id: rowId(), x: place(), y: place() }, { additionalProperties: false }), {
    maxItems: MOST_ON_PLAN,
    description: 'thousandths of the picture, from the left and from the top',
  }),
}

const readPlan = createReader(
  Type.Object(
    {
      id: Type.Optional(Type.Integer({ minimum: 1, description: 'absent: a new one' })),
      ...planKeys,
      seen: Type.Optional(
        Type.Object(planKeys, {
          additionalProperties: true,
          description: 'the plan as `GET /ui/plans` had it: if it is another by now, the change is refused',
        }),
      ),
    },
    { additionalProperties: false },
  ),
)

const readRemoval = createReader(Type.Object({ id: rowId() }, { additionalProperties: false }))

/** More rows than a site has plans, or a browser shows. */
const MOST_ROWS = 20_000

/** The same 404 for a plan that is not there and for one that this person may not see. */
export function uiPlanRoutes(gate: UiGate, parts: UiPlanParts): Route[] {
  const { tables } = parts
  const rows: DraftRows = (table) => tables.rows({ table, limit: MOST_ROWS })?.rows ?? []
  return [
    pictureRoute(gate, parts),
    uploadPictureRoute(gate, parts),
    gate.elevated({
      method: 'GET',
      path: '/ui/plans',
      reply: plansAnswer,
      summary: 'Floor plans as they will be after Apply All, with the UIs and zones that they may have',
      handle: () => granted({ plans: draftPlans(rows), uis: named(rows, 'ui'), zones: zonesToPlace(rows) }),
    }),
    gate.elevated({
      method: 'PUT',
      path: '/ui/plans',
      body: readPlan,
      reply: stagedAnswer,
      isRecordedFirst: true,
      summary: 'Adds or changes a floor plan, for Apply All',
      async handle({ body, session }) {
        const { seen, ...wish } = readPlan(body)
        if (!parts.rooms.hasPicture(wish.picture.name)) throw fieldsFault([{ field: 'picture', message: GONE }])
        const now = draftPlans(rows).find(({ id }) => id === wish.id)
        if (wish.id !== undefined && now === undefined) throw unknownPlan()
        if (now !== undefined && seen !== undefined && !isSamePlan(now, seen)) throw overtaken()
        return { outcome: await tables.write(session, rowsOfPlan(wish, rows, tables.freeId)) }
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/plans/remove',
      body: readRemoval,
      reply: stagedAnswer,
      isRecordedFirst: true,
      summary: 'Removes a floor plan, for Apply All; its picture stays until others need the room',
      async handle({ body, session }) {
        const { id } = readRemoval(body)
        if (!draftPlans(rows).some((plan) => plan.id === id)) throw unknownPlan()
        return { outcome: await tables.write(session, rowsOfRemoval(id, rows)) }
      },
    }),
  ]
}

const GONE = 'is not there any more: others were kept meanwhile; send the picture again'

function overtaken(): Fault {
  return new Fault('plan_overtaken', 'Somebody else has changed this plan meanwhile. Open it again to see it.')
}

function unknownPlan(): Fault {
  return new Fault('plan_unknown', 'There is no such floor plan, or it is not for you.')
}

function named(rows: DraftRows, table: string): { id: number; name: string }[] {
  return rows(table).flatMap(({ id, name, pending }) => (pending === 'remove' ? [] : [{ id, name: name ?? `${id}` }]))
}

function zonesToPlace(rows: DraftRows) {
  return rows('zone').flatMap(({ id, name, names, pending }) =>
    pending === 'remove' ? [] : [{ id, name: name ?? `${id}`, room: names.zone_group_id ?? null }],
  )
}

function pictureRoute(gate: UiGate, { control, rooms }: UiPlanParts): Route {
  return gate.signed({
    method: 'GET',
    path: '/ui/plan/picture',
    query: readPictureQuery,
    reply: Type.String(),
    replyType: 'image/*',
    summary: 'The picture of a floor plan, by `plan` for whom the plan is for, by `name` for elevated sessions',
    handle({ session, query, headers }): UiAnswer {
      const { plan = 0, name } = readPictureQuery({ ...(query as object) })
      const picture =
        name === undefined
          ? rooms.plans.picture(session, control.scope(session), plan)
          : session.isElevated
            ? name
            : undefined
      if (picture === undefined) throw unknownPlan()
      const head = { ...HARMLESS, etag: `"${picture}"` }
      const isKnown = headers['if-none-match'] === head.etag && rooms.hasPicture(picture)
      if (isKnown) return { ...granted({}), file: new Reply(304, undefined, head) }
      const opened = rooms.openPicture(picture)
      if (opened === undefined) throw unknownPlan()
      const length = { 'content-type': pictureTypeOf(picture), 'content-length': String(opened.sizeBytes) }
      return { ...granted({}), file: new Reply(200, Readable.from(opened.stream), { ...head, ...length }) }
    },
  })
}

function uploadPictureRoute(gate: UiGate, { rooms, limits }: UiPlanParts): Route {
  const { planBytes: maxBytes, planUploadMs: wholeMs } = limits
  let isTaking = false
  return gate.elevated({
    method: 'POST',
    path: '/ui/plan/picture',
    upload: { maxBytes, idleMs: wholeMs, wholeMs },
    reply: pictureAnswer,
    isRecordedFirst: true,
    summary: 'Keeps the picture of a floor plan, the body as it is: PNG, JPEG or WebP; a plan shows it after Apply All',
    async handle({ body }) {
      // One at a time, so that memory is bounded by one.
      if (isTaking) throw new Fault('busy', 'Another picture is being sent. Send yours when that has arrived.')
      isTaking = true
      try {
        return granted(await rooms.keepPicture(await wholeUpload(body as Upload)))
      } finally {
        isTaking = false
      }
    },
  })
}
