/** Routes of cameras that turn: what they can, moves by hand, presets. */
import { Type } from 'typebox'
import { nameText } from '#kit/http/people-routes.ts'
import { type Ask, object, orNull, Reply, type Route, route, text, yesNo } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { CameraBook, KnownCamera } from '../core/cameras/book.ts'
import type { Scale } from '../core/ptz/geometry.ts'
import type { By, CameraMoves } from '../core/ptz/moves.ts'
import type { Callers } from './callers.ts'
import { cameraParams } from './camera-routes.ts'

interface PtzRouteParts {
  cameras: Pick<CameraBook, 'require'>
  callers: Callers
  recorder: Recorder
  moves: CameraMoves
}

/** Finds the camera of a request of somebody who may turn it, and says who that is. */
export type Operated = (ask: Pick<Ask<unknown, { id: string }>, 'caller' | 'params'>) => KnownCamera & { by: By }

/** @returns looks cameras up for operators and administrators. It throws Fault `unknown_camera`, `forbidden` */
export function operatorsOnly({ callers, cameras }: Pick<PtzRouteParts, 'callers' | 'cameras'>): Operated {
  return ({ caller, params }) => {
    const account = callers.accountOf(caller)
    const known = cameras.require(params.id, account)
    if (account.role === 'viewer')
      throw new Fault(
        'forbidden',
        `Cameras are turned by operators and administrators, and ${account.username} is none.`,
      )
    return { ...known, by: { kind: 'person', name: caller?.name ?? null } }
  }
}

const share = (description: string) => Type.Number({ minimum: -1, maximum: 1, description })

export const presetToken = Type.String({ minLength: 1, maxLength: 64, description: 'token of a preset' })
const presetAnswer = object({ token: text, name: text })

export const positionAnswer = object(
  {
    pan: Type.Number({ description: 'degrees to the right' }),
    tilt: Type.Number({ description: 'degrees up' }),
    zoom: Type.Number({ description: '0..1' }),
  },
  { description: 'null: it does not say' },
)

const ends = orNull(Type.Array(Type.Number(), { minItems: 2, maxItems: 2, description: 'degrees; null: all around' }))

const ptzAnswer = object({
  supported: yesNo,
  reason: orNull(Type.String({ description: 'why it does not turn' })),
  absolute: orNull(
    Type.Enum(['spherical', 'generic'], { description: 'space in which it is sent to a position; null: it cannot be' }),
  ),
  fov: Type.Boolean({ description: 'whether it goes by a share of what it sees' }),
  continuous: Type.Boolean({ description: 'whether it turns for as long as it is told' }),
  zoom: Type.Boolean({ description: 'whether it zooms' }),
  pan: ends,
  tilt: ends,
  mostPresets: Type.Integer({ description: 'as it says; 0: it does not' }),
  position: orNull(positionAnswer),
  moving: orNull(Type.Boolean({ description: 'null: it does not say' })),
})

export function ptzRoutes(parts: PtzRouteParts): Route[] {
  return [readRoute(parts), ...moveRoutes(parts), ...presetRoutes(parts)]
}

const NO_PTZ = {
  ...{ supported: false, absolute: null, fov: false, continuous: false, zoom: false, pan: null, tilt: null },
  ...{ mostPresets: 0, position: null, moving: null },
}

/** That it does not turn is an answer; that it does not answer is none. */
const CANNOT: ReadonlySet<string> = new Set(['no_onvif', 'no_ptz'])

function readRoute(parts: PtzRouteParts): Route {
  const { moves } = parts
  const operated = operatorsOnly(parts)

  async function ptzOf(camera: string) {
    const { facts } = await moves.head(camera)
    const { isMoving = null, position } = await moves.look(camera)
    const scale = facts.absolute && (await moves.scale(camera))
    return {
      ...{ supported: true, reason: null, position, moving: isMoving, mostPresets: facts.mostPresets },
      absolute: facts.absolute ? (facts.absolute.isSpherical ? 'spherical' : 'generic') : null,
      ...{ fov: facts.byView !== undefined, continuous: facts.continuous !== undefined },
      zoom: facts.continuousZoom !== undefined || scale?.zoom !== undefined,
      ...endsOf(scale),
    }
  }
  return route({
    method: 'GET',
    path: '/api/cameras/:id/ptz',
    who: 'user',
    summary: 'How a camera turns, and where it looks; for operators and administrators',
    params: cameraParams,
    reply: ptzAnswer,
    async handle(ask) {
      const { record } = operated(ask)
      try {
        return await ptzOf(record.id)
      } catch (error) {
        if (!(error instanceof Fault) || !CANNOT.has(error.code)) throw error
        return { ...NO_PTZ, reason: error.message }
      }
    },
  })
}

function endsOf(scale: Scale | undefined) {
  if (!scale) return { pan: null, tilt: null }
  const of = ({ max, min }: Scale['pan'], perUnit: number) => [min * perUnit, max * perUnit].sort((a, b) => a - b)
  return { pan: scale.isEndless ? null : of(scale.pan, scale.panPerUnit), tilt: of(scale.tilt, scale.tiltPerUnit) }
}

function moveRoutes(parts: PtzRouteParts): Route[] {
  const { moves } = parts
  const operated = operatorsOnly(parts)
  return [
    route({
      method: 'POST',
      path: '/api/cameras/:id/ptz/move',
      who: 'user',
      summary: 'Turn a camera until it is stopped, for at most `ptz.move_ms`; said again it goes on',
      params: cameraParams,
      body: Type.Object(
        {
          ...{ pan: share('to the right'), tilt: share('up'), zoom: share('in') },
          durationMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 60_000 })),
        },
        { additionalProperties: false },
      ),
      reply: object({ durationMs: Type.Integer({ description: 'how long it goes on if nothing more is said' }) }),
      async handle(ask) {
        const { by, record } = operated(ask)
        const { durationMs, ...speed } = ask.body
        return { durationMs: await moves.move(record.id, { speed, durationMs }, by, ask.signal) }
      },
    }),
    route({
      method: 'POST',
      path: '/api/cameras/:id/ptz/stop',
      who: 'user',
      status: 204,
      summary: 'Stop a camera that turns',
      params: cameraParams,
      async handle(ask) {
        const { by, record } = operated(ask)
        await moves.stop(record.id, by)
      },
    }),
  ]
}

function presetRoutes(parts: PtzRouteParts): Route[] {
  const { moves, recorder } = parts
  const operated = operatorsOnly(parts)
  return [
    route({
      method: 'GET',
      path: '/api/cameras/:id/ptz/presets',
      who: 'user',
      summary: 'The presets of a camera, as it tells them now',
      params: cameraParams,
      reply: Type.Array(presetAnswer),
      handle: (ask) => moves.presets(operated(ask).record.id),
    }),
    route({
      method: 'POST',
      path: '/api/cameras/:id/ptz/preset',
      who: 'user',
      status: 204,
      summary: 'Turn a camera to one of its presets',
      params: cameraParams,
      body: Type.Object({ token: presetToken }, { additionalProperties: false }),
      async handle(ask) {
        const { by, record } = operated(ask)
        await moves.recall(record.id, ask.body.token, by)
      },
    }),
    route({
      method: 'POST',
      path: '/api/cameras/:id/ptz/presets',
      who: 'admin',
      status: 201,
      summary: 'Save where a camera looks as a preset of it',
      params: cameraParams,
      body: Type.Object({ name: nameText }, { additionalProperties: false }),
      reply: presetAnswer,
      async handle(ask) {
        const { by, record } = operated(ask)
        const saved = await moves.save(record.id, ask.body.name, by)
        await recorder.changed(ask, 'preset of a camera saved', record.name, { id: record.id, ...saved })
        return new Reply(201, saved)
      },
    }),
  ]
}
