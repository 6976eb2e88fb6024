/** Routes of cameras that turn by themselves: patrols and auto tracking; and what the feed tells of both. */
import { Type } from 'typebox'
import { instant, object, orNull, type Route, route, text } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { Follows } from '../core/ptz/follow.ts'
import type { CameraMoves } from '../core/ptz/moves.ts'
import type { Patrols } from '../core/ptz/patrol.ts'
import type { PtzBook } from '../core/ptz/ptz-book.ts'
import type { Callers } from './callers.ts'
import { cameraParams } from './camera-routes.ts'
import { operatorsOnly, presetToken } from './ptz-routes.ts'

interface PatrolRouteParts {
  cameras: Pick<CameraBook, 'require'>
  callers: Callers
  recorder: Recorder
  moves: CameraMoves
  book: PtzBook
  patrols: Patrols
  follows: Follows
}

const strict = { additionalProperties: false }
const MOST_STEPS = 64
export const timeOfDay = Type.String({
  pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
  description: 'HH:MM in the zone of the recorder',
})
const schedule = orNull(
  Type.Object(
    {
      days: Type.Array(Type.Integer({ minimum: 0, maximum: 6 }), {
        ...{ minItems: 1, maxItems: 7, uniqueItems: true, description: '0 is Sunday' },
      }),
      ...{ from: timeOfDay, to: timeOfDay },
    },
    { ...strict, description: 'over midnight it belongs to the day on which it begins; null: always' },
  ),
)
const dwellSeconds = Type.Integer({ minimum: 10, maximum: 3600 })
const patrolWish = {
  enabled: Type.Boolean(),
  schedule,
  resumeAfterSeconds: Type.Integer({ minimum: 30, maximum: 3600, description: 'after another command' }),
}
const patrolAnswer = object({
  patrol: orNull(
    object({ steps: Type.Array(object({ preset: text, presetName: text, dwellSeconds })), ...patrolWish }),
  ),
  status: object({
    state: Type.Enum(['off', 'waiting', 'running', 'paused', 'held']),
    until: orNull(instant),
    reason: orNull(Type.String({ description: 'why it waits' })),
    step: orNull(Type.Integer({ description: 'taken last, from 0' })),
  }),
})

function patrolView(camera: string, { book, patrols }: Pick<PatrolRouteParts, 'book' | 'patrols'>) {
  const { patrol } = book.of(camera)
  const told = patrol && {
    steps: [...patrol.steps],
    enabled: patrol.enabled,
    schedule: patrol.schedule && { ...patrol.schedule, days: [...patrol.schedule.days] },
    resumeAfterSeconds: patrol.resumeAfterSeconds,
  }
  return { patrol: told, status: patrols.status(camera) }
}

export function patrolMessage(camera: string, parts: Pick<PatrolRouteParts, 'book' | 'patrols'>) {
  return { type: 'ptz-patrol', ...patrolView(camera, parts) }
}

function followView(camera: string, { book, follows }: Pick<PatrolRouteParts, 'book' | 'follows'>) {
  const { follow } = book.of(camera)
  const told = follow && { ...follow, groups: [...follow.groups] }
  return { follow: told, unavailable: follows.knownUnavailable(camera), status: follows.status(camera) }
}

export function followMessage(camera: string, parts: Pick<PatrolRouteParts, 'book' | 'follows'>) {
  return { type: 'ptz-follow', ...followView(camera, parts) }
}

export function patrolRoutes(parts: PatrolRouteParts): Route[] {
  return [...patrolSettings(parts), ...patrolHolds(parts), ...followRoutes(parts)]
}

function patrolSettings(parts: PatrolRouteParts): Route[] {
  const { moves, patrols, recorder } = parts
  const operated = operatorsOnly(parts)
  const path = '/api/cameras/:id/ptz/patrol'
  return [
    route({
      ...{ method: 'GET', path, who: 'user', summary: 'The patrol of a camera, and what it does now' },
      params: cameraParams,
      reply: patrolAnswer,
      handle: (ask) => patrolView(operated(ask).record.id, parts),
    }),
    route({
      ...{ method: 'PUT', path, who: 'admin', summary: 'Have a camera go from preset to preset' },
      params: cameraParams,
      body: Type.Object(
        {
          steps: Type.Array(Type.Object({ preset: presetToken, dwellSeconds }, strict), {
            minItems: 1,
            maxItems: MOST_STEPS,
          }),
          ...patrolWish,
        },
        strict,
      ),
      reply: patrolAnswer,
      async handle(ask) {
        const { record } = operated(ask)
        const { steps, ...wish } = ask.body
        const names = new Map((await moves.presets(record.id)).map(({ name, token }) => [token, name]))
        const named = steps.map((step) => ({ ...step, presetName: names.get(step.preset) }))
        const missing = named.find(({ presetName }) => presetName === undefined)
        if (missing) await moves.requirePreset(record.id, missing.preset)
        await patrols.set(record.id, {
          ...wish,
          steps: named.map((step) => ({ ...step, presetName: step.presetName ?? '' })),
        })
        await recorder.changed(ask, 'patrol of a camera set', record.name, {
          id: record.id,
          steps: steps.length,
          enabled: wish.enabled,
        })
        return patrolView(record.id, parts)
      },
    }),
    route({
      ...{ method: 'DELETE', path, who: 'admin', status: 204, summary: 'Remove the patrol of a camera' },
      params: cameraParams,
      async handle(ask) {
        const { record } = operated(ask)
        await patrols.set(record.id, null)
        await recorder.changed(ask, 'patrol of a camera removed', record.name, { id: record.id })
      },
    }),
  ]
}

function patrolHolds(parts: PatrolRouteParts): Route[] {
  const { patrols, recorder } = parts
  const operated = operatorsOnly(parts)
  return (['pause', 'resume'] as const).map((what) =>
    route({
      method: 'POST',
      path: `/api/cameras/:id/ptz/patrol/${what}`,
      who: 'user',
      summary:
        what === 'pause' ? 'Hold the patrol of a camera until it is resumed' : 'Go on with the patrol of a camera',
      params: cameraParams,
      reply: patrolAnswer,
      async handle(ask) {
        const { record } = operated(ask)
        await patrols[what](record.id)
        await recorder.changed(ask, `patrol of a camera ${what}d`, record.name, { id: record.id })
        return patrolView(record.id, parts)
      },
    }),
  )
}

const followWish = {
  enabled: Type.Boolean(),
  groups: Type.Array(Type.Enum(['person', 'vehicle', 'animal', 'other']), {
    minItems: 1,
    maxItems: 4,
    uniqueItems: true,
  }),
  maxFollowSeconds: Type.Integer({ minimum: 10, maximum: 600 }),
  returnPreset: orNull(presetToken),
  returnAfterSeconds: Type.Integer({ minimum: 0, maximum: 600 }),
  resumeAfterSeconds: Type.Integer({ minimum: 10, maximum: 3600, description: 'after another command, or a stop' }),
}
const followAnswer = object({
  follow: orNull(object({ ...followWish, returnPresetName: orNull(text) })),
  unavailable: orNull(Type.String({ description: 'why this camera cannot follow' })),
  status: object({
    state: Type.Enum(['off', 'watching', 'following', 'paused']),
    label: orNull(Type.String({ description: 'who is followed; null while nobody is' })),
    since: orNull(instant),
    hops: orNull(Type.Integer({ description: 'positions that it was sent to' })),
    until: orNull(Type.Integer({ description: 'when a pause ends, epoch milliseconds' })),
    lastEnded: orNull(
      object({
        why: Type.Enum(['lost', 'time', 'operator', 'rule', 'moved', 'stopped', 'failed']),
        ...{ label: text, at: instant },
      }),
    ),
  }),
})

function followRoutes(parts: PatrolRouteParts): Route[] {
  const { follows, moves, recorder } = parts
  const operated = operatorsOnly(parts)
  const path = '/api/cameras/:id/ptz/follow'
  async function view(camera: string) {
    await follows.unavailable(camera).catch((error: unknown) => {
      // Why it does not answer is told.
      if (!(error instanceof Fault)) throw error
    })
    return followView(camera, parts)
  }
  return [
    route({
      ...{ method: 'GET', path, who: 'user', summary: 'Auto tracking of a camera, and what it does now' },
      params: cameraParams,
      reply: followAnswer,
      handle: (ask) => view(operated(ask).record.id),
    }),
    route({
      ...{ method: 'PUT', path, who: 'admin', summary: 'Have a camera follow whom it sees' },
      params: cameraParams,
      body: Type.Object(followWish, strict),
      reply: followAnswer,
      async handle(ask) {
        const { record } = operated(ask)
        const { returnPreset } = ask.body
        const why = ask.body.enabled ? await follows.unavailable(record.id) : null
        if (why !== null) throw new Fault('tracking_unavailable', why)
        const preset = returnPreset === null ? null : await moves.requirePreset(record.id, returnPreset)
        await follows.set(record.id, { ...ask.body, returnPresetName: preset?.name ?? null })
        await recorder.changed(ask, 'auto tracking of a camera set', record.name, {
          id: record.id,
          enabled: ask.body.enabled,
        })
        return await view(record.id)
      },
    }),
    route({
      ...{ method: 'DELETE', path, who: 'admin', status: 204, summary: 'Remove auto tracking from a camera' },
      params: cameraParams,
      async handle(ask) {
        const { record } = operated(ask)
        await follows.set(record.id, null)
        await recorder.changed(ask, 'auto tracking of a camera removed', record.name, { id: record.id })
      },
    }),
    route({
      ...{
        method: 'POST',
        path: `${path}/stop`,
        who: 'user',
        summary: 'Stop following, and leave the camera where it is',
      },
      params: cameraParams,
      reply: followAnswer,
      async handle(ask) {
        const { record } = operated(ask)
        await follows.stop(record.id)
        return await view(record.id)
      },
    }),
  ]
}
