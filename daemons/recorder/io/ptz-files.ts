/** What the disk knows of cameras that turn. */
import { type Static, Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store/store.ts'
import type { OpenMove } from '../core/ptz/moves.ts'
import { createPtzBook, type PtzRecord } from '../core/ptz/ptz-book.ts'
import type { PendingReturn } from '../core/rules/returns.ts'

const VERSION = 1 as const

const strict = { additionalProperties: false }
const textOrNull = Type.Union([Type.String(), Type.Null()])
const movesFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    moves: Type.Array(
      Type.Object(
        {
          ...{ camera: Type.String(), at: Type.Integer(), by: textOrNull },
          speed: Type.Object({ pan: Type.Number(), tilt: Type.Number(), zoom: Type.Number() }, strict),
        },
        strict,
      ),
    ),
  },
  strict,
)

/** The cameras that are moved by hand, so that a recorder that was killed stops them. @param folder the state folder */
export async function openOpenMoves(folder: string, log: Log) {
  const initial = (): Static<typeof movesFile> => ({ version: VERSION, moves: [] })
  const store = createStore({ folder, name: 'ptz-moves', log, check: createReader(movesFile), initial })
  const { moves: open } = await store.load()
  return { open, saveOpen: (moves: OpenMove[]) => store.save({ version: VERSION, moves }) }
}

const returnsFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    returns: Type.Array(
      Type.Object({ camera: Type.String(), preset: Type.String(), rule: Type.String(), dueAt: Type.Integer() }, strict),
    ),
  },
  strict,
)

/** Cameras that rules have moved and that are to go back. @param folder the state folder */
export async function openReturns(folder: string, log: Log) {
  const initial = (): Static<typeof returnsFile> => ({ version: VERSION, returns: [] })
  const store = createStore({ folder, name: 'ptz-returns', log, check: createReader(returnsFile), initial })
  const { returns: pending } = await store.load()
  return { pending, save: (returns: PendingReturn[]) => store.save({ version: VERSION, returns }) }
}

const numberOrNull = Type.Union([Type.Number(), Type.Null()])
const geometry = Type.Object(
  {
    kind: Type.Enum(['calibrated', 'trained']),
    widths: Type.Array(Type.Object({ zoom: Type.Number(), hfovDeg: Type.Number() }, strict), { minItems: 1 }),
    ...{ panPerUnit: numberOrNull, tiltPerUnit: numberOrNull, aspect: Type.Number(), at: Type.Integer() },
  },
  strict,
)
const patrol = Type.Object(
  {
    steps: Type.Array(
      Type.Object({ preset: Type.String(), presetName: Type.String(), dwellSeconds: Type.Integer() }, strict),
    ),
    enabled: Type.Boolean(),
    schedule: Type.Union([
      Type.Object({ days: Type.Array(Type.Integer()), from: Type.String(), to: Type.String() }, strict),
      Type.Null(),
    ]),
    ...{ resumeAfterSeconds: Type.Integer(), isHeld: Type.Boolean(), pausedUntil: numberOrNull },
  },
  strict,
)
const follow = Type.Object(
  {
    ...{ enabled: Type.Boolean(), groups: Type.Array(Type.String()), maxFollowSeconds: Type.Integer() },
    ...{ returnPreset: textOrNull, returnPresetName: textOrNull },
    ...{ returnAfterSeconds: Type.Integer(), resumeAfterSeconds: Type.Integer() },
  },
  strict,
)
const ptzFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    cameras: Type.Array(
      Type.Object(
        {
          camera: Type.String(),
          geometry: Type.Union([geometry, Type.Null()]),
          patrol: Type.Union([patrol, Type.Null()]),
          follow: Type.Union([follow, Type.Null()]),
        },
        strict,
      ),
    ),
  },
  strict,
)

/** What was said of cameras that turn. @param folder the state folder */
export async function openPtzBook(folder: string, log: Log) {
  const initial = (): Static<typeof ptzFile> => ({ version: VERSION, cameras: [] })
  const store = createStore({ folder, name: 'ptz', log, check: createReader(ptzFile), initial })
  const { cameras } = await store.load()
  // Lists that nobody changes in place.
  const save = (records: PtzRecord[]) => store.save({ version: VERSION, cameras: records as typeof cameras })
  return createPtzBook(cameras, save)
}
