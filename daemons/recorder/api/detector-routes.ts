/** Routes of the detector: which one looks, at which cameras, and how it does. */
import { Type } from 'typebox'
import { count, fault, number, object, orNull, type Route, route, text, yesNo } from '#kit/http/route.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { DetectorHealth } from '../core/sight/detector.ts'
import type { SightHealth } from '../core/sight/sight.ts'
import { detectorKinds, MOST_FPS, type SightBook } from '../core/sight/sight-book.ts'

interface DetectorRouteParts {
  cameras: CameraBook
  recorder: Recorder
  book: SightBook
  health(): SeeingHealth
}

interface SeeingHealth {
  detector: DetectorHealth
  sight: SightHealth
}

const fps = Type.Integer({
  ...{ minimum: 0, maximum: MOST_FPS },
  description: 'pictures a second while something moves; 0: key frames alone',
})
const offset = Type.Integer({
  ...{ minimum: -10_000, maximum: 10_000 },
  description: 'milliseconds by which boxes are moved against the footage; null: as measured',
})
const kind = Type.Enum([...detectorKinds], {
  description:
    'motion: that something moves, and never what; camera: what cameras claim whose own events are listened to; external: a program',
})

/** How the detector does; `GET /api/health` has the same. */
export const detectorHealthAnswer = object({
  state: Type.Enum(['idle', 'starting', 'ready', 'failed']),
  ...{ name: orNull(text), pictures: count, refusedBoxes: count, tookMs: orNull(number), crashes: count },
  fault: orNull(fault),
  looked: Type.Integer({ description: 'pictures in which movement was looked for' }),
  undecoded: Type.Integer({ description: 'pictures that could not be decoded for it' }),
  stale: Type.Integer({ description: 'pictures that waited too long for the detector' }),
  decoderFault: orNull(fault),
})

export function detectorHealthView({ detector, sight }: SeeingHealth) {
  const { failed: undecoded, fault: decoderFault, looked, stale } = sight
  return { ...detector, looked, undecoded, stale, decoderFault }
}

const detectorAnswer = object({
  ...{ kind, fps },
  kinds: Type.Array(object({ kind, available: yesNo, why: orNull(text) })),
  cameras: Type.Array(
    object({
      ...{ id: text, name: text, enabled: yesNo, fps: orNull(fps) },
      trackOffsetMs: orNull(offset),
    }),
  ),
  health: detectorHealthAnswer,
})

const aiAnswer = object({
  enabled: Type.Boolean({ description: 'whether a detector looks' }),
  kind,
  best: Type.Enum(['motion', 'external'], { description: 'what enabled switches on while none looks' }),
  cameras: Type.Array(object({ id: text, name: text, enabled: yesNo })),
})

const cameraId = Type.String({ pattern: '^[0-9a-f]{8}$' })
const MOST_NAMED = 128

/** The switch alone, of whatever detector is there. */
function aiRoutes({ book, cameras, recorder }: DetectorRouteParts): Route[] {
  const best = book.hasExternal ? ('external' as const) : ('motion' as const)

  function answer() {
    const { kind } = book.choice()
    return {
      ...{ enabled: kind !== 'off', kind, best },
      cameras: cameras.list().map(({ record: { id, name } }) => ({ id, name, enabled: book.of(id).enabled })),
    }
  }

  return [
    route({
      method: 'GET',
      path: '/api/ai',
      who: 'admin',
      summary: 'Whether a detector looks, and at which cameras',
      reply: aiAnswer,
      handle: answer,
    }),
    route({
      method: 'PUT',
      path: '/api/ai',
      who: 'admin',
      summary: 'Have a detector look, or none, and at which cameras; what is left out stays',
      body: Type.Object(
        {
          enabled: Type.Optional(
            Type.Boolean({ description: 'true: the best detector that is here, unless one looks already' }),
          ),
          cameras: Type.Optional(
            Type.Record(cameraId, Type.Boolean(), { maxProperties: MOST_NAMED, description: 'by id of the camera' }),
          ),
        },
        { additionalProperties: false },
      ),
      reply: aiAnswer,
      async handle(ask) {
        const { cameras: wished = {}, enabled = book.choice().kind !== 'off' } = ask.body
        const before = book.choice().kind
        const kind = enabled ? (before === 'off' ? best : before) : ('off' as const)
        const chosen = Object.entries(wished).map(([id, isOn]): [string, { enabled: boolean }] => [
          id,
          { enabled: isOn },
        ])
        await choose({ book, cameras }, { kind, cameras: Object.fromEntries(chosen) })
        await recorder.changed(ask, 'detector chosen', kind, { enabled, cameras: chosen.length })
        return answer()
      },
    }),
  ]
}

async function choose(
  { book, cameras }: Pick<DetectorRouteParts, 'book' | 'cameras'>,
  change: Parameters<SightBook['change']>[0],
): Promise<void> {
  // Each has to be there: a wrong id would seem to be saved.
  for (const id of Object.keys(change.cameras ?? {})) cameras.require(id, { cameras: 'all' })
  const known = cameras.list().map(({ record }) => record.id)
  await book.change(change, known)
}

export function detectorRoutes(parts: DetectorRouteParts): Route[] {
  return [...choiceRoutes(parts), ...aiRoutes(parts)]
}

function choiceRoutes({ book, cameras, health, recorder }: DetectorRouteParts): Route[] {
  function answer() {
    const { cameras: chosen, fps, kind } = book.choice()
    return {
      ...{ kind, fps },
      kinds: detectorKinds.map((one) => ({
        kind: one,
        available: one !== 'external' || book.hasExternal,
        why:
          one !== 'external' || book.hasExternal
            ? null
            : 'Install plantroom-detector, or name a program in detector.command of recorder.toml.',
      })),
      cameras: cameras.list().map(({ record: { id, name } }) => {
        const { enabled, trackOffsetMs } = book.of(id)
        return { id, name, enabled, fps: chosen[id]?.fps ?? null, trackOffsetMs }
      }),
      health: detectorHealthView(health()),
    }
  }

  return [
    route({
      method: 'GET',
      path: '/api/detector',
      who: 'admin',
      summary: 'Which detector looks at which cameras, and how it does',
      reply: detectorAnswer,
      handle: answer,
    }),
    route({
      method: 'PUT',
      path: '/api/detector',
      who: 'admin',
      summary: 'Choose the detector, and which cameras it looks at; what is left out stays',
      body: Type.Object(
        {
          ...{ kind: Type.Optional(kind), fps: Type.Optional(fps) },
          cameras: Type.Optional(
            Type.Record(
              cameraId,
              Type.Object(
                {
                  enabled: Type.Optional(Type.Boolean()),
                  fps: Type.Optional(orNull(fps)),
                  trackOffsetMs: Type.Optional(orNull(offset)),
                },
                { additionalProperties: false },
              ),
              { maxProperties: MOST_NAMED, description: 'by id of the camera' },
            ),
          ),
        },
        { additionalProperties: false },
      ),
      reply: detectorAnswer,
      async handle(ask) {
        const { cameras: wished = {}, ...facts } = ask.body
        await choose({ book, cameras }, ask.body)
        await recorder.changed(ask, 'detector chosen', book.choice().kind, {
          ...facts,
          cameras: Object.keys(wished).length,
        })
        return answer()
      },
    }),
  ]
}
