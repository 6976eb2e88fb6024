/** Routes of cameras that turn: what they can, moves by hand, presets. */
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { nameText } from '#kit/http/people-routes.ts'
import { type Ask, instant, object, orNull, Reply, type Route, route, text, yesNo } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { CameraBook, KnownCamera } from '../core/cameras/book.ts'
import { type PtzGeometry, type Scale, USUAL_ASPECT, type ZoomWidth } from '../core/ptz/geometry.ts'
import { type By, CANNOT_TURN, type CameraMoves } from '../core/ptz/moves.ts'
import type { PtzBook } from '../core/ptz/ptz-book.ts'
import type { Steering } from '../core/ptz/steering.ts'
import type { Train } from '../core/ptz/training.ts'
import { type Callers, requireOperator } from './callers.ts'
import { cameraParams } from './camera-routes.ts'

interface PtzRouteParts {
  cameras: Pick<CameraBook, 'require'>
  callers: Callers
  recorder: Recorder
  clock: Clock
  moves: CameraMoves
  book: PtzBook
  steering: Steering
  train: Train
}

/** Finds the camera of a request of somebody who may turn it, and says who that is. */
export type Operated = (ask: Pick<Ask<unknown, { id: string }>, 'caller' | 'params'>) => KnownCamera & { by: By }

/** @returns looks cameras up for operators and administrators. It throws Fault `unknown_camera`, `forbidden` */
export function operatorsOnly({ callers, cameras }: Pick<PtzRouteParts, 'callers' | 'cameras'>): Operated {
  return ({ caller, params }) => {
    const account = callers.accountOf(caller)
    const known = cameras.require(params.id, account)
    requireOperator(account, 'Turning cameras')
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

const widths = (least: number) =>
  Type.Array(
    object({
      zoom: Type.Number({ minimum: 0, maximum: 1 }),
      hfovDeg: Type.Number({ minimum: 0.1, maximum: 170, description: 'how wide it sees, in degrees' }),
    }),
    { minItems: least, maxItems: 32 },
  )

const geometryAnswer = orNull(
  object(
    {
      kind: Type.Enum(['calibrated', 'trained'], { description: 'by hand, or by turning it' }),
      widths: widths(1),
      at: instant,
    },
    { description: 'how wide it sees; null: nobody has trained it' },
  ),
)

const geometryView = (geometry: PtzGeometry | null) =>
  geometry && { kind: geometry.kind, widths: [...geometry.widths], at: geometry.at }

const ptzAnswer = object({
  geometry: geometryAnswer,
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
  return [readRoute(parts), ...moveRoutes(parts), aimRoute(parts), ...presetRoutes(parts), ...geometryRoutes(parts)]
}

const NO_PTZ = {
  ...{ supported: false, absolute: null, fov: false, continuous: false, zoom: false, pan: null, tilt: null },
  ...{ mostPresets: 0, position: null, moving: null },
}

function readRoute(parts: PtzRouteParts): Route {
  const { book, moves } = parts
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
      geometry: geometryView(book.of(camera).geometry),
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
        // That it does not turn is an answer; that it does not answer is none.
        if (!(error instanceof Fault) || !CANNOT_TURN.has(error.code)) throw error
        return { ...NO_PTZ, geometry: null, reason: error.message }
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

const fraction = (description: string) => Type.Number({ description: `${description}, in fractions of the frame` })

/** What came of an aim. */
export const aimAnswer = object({
  method: Type.Enum(['absolute', 'fov'], { description: 'by a position, or by a share of what it sees' }),
  predictedError: fraction('how far from the middle the point was to be'),
  achievedError: orNull(fraction('how far it is, as the picture shows; null: it does not')),
  corrections: Type.Integer({ description: 'further moves' }),
  clamped: Type.Boolean({ description: 'whether the camera cannot reach the point' }),
})

function aimRoute(parts: PtzRouteParts): Route {
  const operated = operatorsOnly(parts)
  return route({
    method: 'POST',
    path: '/api/cameras/:id/ptz/aim',
    who: 'user',
    summary: 'Bring a point of the picture into its middle, and measure by the picture how near it came',
    params: cameraParams,
    body: Type.Object(
      {
        ...{ x: share('from the middle to the right edge'), y: share('from the middle to the upper edge') },
        zoom: share('in, by a share of all it zooms'),
      },
      { additionalProperties: false },
    ),
    reply: aimAnswer,
    handle(ask) {
      const { by, record } = operated(ask)
      return parts.steering.aim(record.id, ask.body, by)
    },
  })
}

function geometryRoutes(parts: PtzRouteParts): Route[] {
  const { book, clock, recorder, train } = parts
  const operated = operatorsOnly(parts)
  return [
    route({
      method: 'POST',
      path: '/api/cameras/:id/ptz/train',
      who: 'admin',
      summary: 'Learn how wide a camera sees by turning it and comparing pictures; takes minutes, and brings it back',
      params: cameraParams,
      reply: object({ geometry: geometryAnswer }),
      async handle(ask) {
        const { by, record } = operated(ask)
        const geometry = geometryView(await train(record.id, by))
        await recorder.changed(ask, 'geometry of a camera trained', record.name, { id: record.id })
        return { geometry }
      },
    }),
    route({
      method: 'PUT',
      path: '/api/cameras/:id/ptz/geometry',
      who: 'admin',
      summary: 'Say how wide a camera sees at one zoom or several; an empty list forgets it',
      params: cameraParams,
      body: Type.Object({ widths: widths(0) }, { additionalProperties: false }),
      reply: object({ geometry: geometryAnswer }),
      async handle(ask) {
        const { record } = operated(ask)
        const geometry = calibrated(ask.body.widths, book.of(record.id).geometry, clock.epochMs())
        await book.put(record.id, { geometry })
        await recorder.changed(ask, 'geometry of a camera set', record.name, {
          id: record.id,
          widths: ask.body.widths.length,
        })
        return { geometry: geometryView(geometry) }
      },
    }),
  ]
}

/** What was learned of its units stays. */
function calibrated(said: readonly ZoomWidth[], before: PtzGeometry | null, at: number): PtzGeometry | null {
  if (said.length === 0) return null
  const { aspect = USUAL_ASPECT, panPerUnit = null, tiltPerUnit = null } = before ?? {}
  const inOrder = said.toSorted((one, other) => one.zoom - other.zoom)
  return { kind: 'calibrated', widths: inOrder, panPerUnit, tiltPerUnit, aspect, at }
}
