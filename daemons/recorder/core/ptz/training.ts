/** Learns how a camera sees by turning it a little and comparing pictures: how wide at each zoom, and what its units of tilt are. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  degreesOfHalf,
  halfTangent,
  hfovAt,
  type PtzGeometry,
  type PtzPosition,
  pointOf,
  turnBetween,
  type View,
  type ZoomWidth,
} from './geometry.ts'
import { type By, type CameraMoves, rounded } from './moves.ts'
import { type GreyPicture, shiftOf } from './picture-shift.ts'
import type { Steering } from './steering.ts'

interface TrainingParts {
  clock: Clock
  moves: CameraMoves
  steering: Pick<Steering, 'rest' | 'see'>
  /** Resolves once it is on disk. */
  save(camera: string, geometry: PtzGeometry): Promise<void>
}

/** Takes a minute or two, and brings the camera back. @throws Fault `training_failed`, `no_absolute_position`, `ptz_taken_over`, and what the camera did */
export type Train = (camera: string, by: By) => Promise<PtzGeometry>

const ZOOMS = [0, 0.2, 0.4, 0.6, 0.8, 1]
/** Of the picture: far enough to be measured, and near enough that both pictures show the same. */
const STEP = 0.2
/** It may see much narrower than is expected: then it went too far, and goes half as far. */
const TRIES = 5
const ROUNDS = 8
const NEAR_ENOUGH = 0.002
/** Units of tilt, as parts of what they are taken for: down instead of up, and for less than a right angle. */
const TILTS = [1, -1, 0.5, -0.5, 0.25, -0.25]

/** A camera at rest, as it says and as it shows. */
interface Seen {
  position: PtzPosition
  picture: GreyPicture
}

export function createTraining(parts: TrainingParts): Train {
  const { clock, moves, save } = parts
  return async (camera, by) => {
    const scale = await moves.scale(camera)
    try {
      const geometry = await moves.within(camera, by, async (signal) => {
        const base = await look(parts, camera, signal)
        const zooms = scale.zoom ? ZOOMS : [base.position.zoom]
        try {
          return await learned(parts, {
            camera,
            base,
            zooms,
            signal,
            isSpherical: scale.isSpherical,
            tiltPerUnit: scale.tiltPerUnit,
          })
        } finally {
          if (!signal.aborted) await moves.send(camera, base.position)
        }
      })
      await save(camera, { ...geometry, at: clock.epochMs() })
      await moves.write(camera, 'ptz_train', by, {
        widths: geometry.widths.map(({ hfovDeg }) => `${hfovDeg}°`).join(', '),
      })
      return geometry
    } catch (error) {
      if (error instanceof Fault) await moves.write(camera, 'ptz_train', by, { error: error.message })
      throw error
    }
  }
}

interface Lesson {
  camera: string
  base: Seen
  zooms: readonly number[]
  isSpherical: boolean
  /** Degrees, as the space says. */
  tiltPerUnit: number
  signal: AbortSignal
}

async function learned(parts: TrainingParts, lesson: Lesson): Promise<PtzGeometry> {
  const { base, isSpherical, zooms } = lesson
  const aspect = base.picture.height / base.picture.width
  const widths: ZoomWidth[] = []
  let tilts = 1
  for (const zoom of zooms) {
    const last = widths.at(-1)
    const guess = last ? last.hfovDeg * 0.7 : hfovAt(zoom, undefined)
    const pair = await turned(parts, lesson, { zoom, guess, aspect, tilts })
    if (!last && !isSpherical) tilts = await tiltOf(parts, lesson, { zoom, hfovDeg: pair.hfovDeg, aspect })
    // How high it looks, which its turning depends on, is known by now.
    const hfovDeg = widthOf(pair, { guess: pair.hfovDeg, aspect, tilts }) ?? pair.hfovDeg
    widths.push({ zoom, hfovDeg: rounded(hfovDeg, 3) })
  }
  const tiltPerUnit = isSpherical ? null : lesson.tiltPerUnit * tilts
  return { kind: 'trained', widths, panPerUnit: null, tiltPerUnit, aspect, at: parts.clock.epochMs() }
}

async function look({ steering }: TrainingParts, camera: string, signal: AbortSignal): Promise<Seen> {
  const { at, position } = await steering.rest(camera, signal)
  if (!position) throw failed('It does not say where it looks.')
  const picture = await steering.see(camera, at, signal)
  if (!picture) throw failed('It shows no picture. See that it is recorded.')
  return { position, picture }
}

async function sent(parts: TrainingParts, camera: string, to: PtzPosition, signal: AbortSignal): Promise<Seen> {
  await parts.moves.send(camera, to)
  return await look(parts, camera, signal)
}

interface Pair {
  from: Seen
  to: Seen
  hfovDeg: number
}

/** Turns it to the side until both pictures agree on how wide it sees. */
async function turned(
  parts: TrainingParts,
  { base, camera, signal }: Lesson,
  { aspect, guess, tilts, zoom }: { zoom: number; guess: number; aspect: number; tilts: number },
): Promise<Pair> {
  const from = await sent(parts, camera, { ...base.position, zoom }, signal)
  for (let turn = 0, step = guess * STEP; turn < TRIES; turn++, step /= 2)
    for (const side of [1, -1]) {
      const to = await sent(parts, camera, { ...from.position, pan: from.position.pan + side * step }, signal)
      // At an end it does not turn.
      if (Math.abs(turnBetween(from.position.pan, to.position.pan)) < step / 2) continue
      const hfovDeg = widthOf({ from, to }, { guess, aspect, tilts })
      if (hfovDeg !== undefined) return { from, to, hfovDeg }
      break
    }
  throw failed('Pictures of before and after a turn show nothing alike. Turn it to where there is more to see, by day.')
}

/** How wide it sees, from how far the picture moved; undefined where the pictures do not agree. */
function widthOf(
  { from, to }: Omit<Pair, 'hfovDeg'>,
  of: { guess: number; aspect: number; tilts: number },
): number | undefined {
  let half = halfTangent(of.guess)
  const viewOf = ({ position: { pan, tilt } }: Seen): View => ({
    pan,
    tilt: tilt * of.tilts,
    hfovDeg: degreesOfHalf(half),
    aspect: of.aspect,
  })
  for (let round = 0; round < ROUNDS; round++) {
    const shift = shiftOf(from.picture, viewOf(from), to.picture, viewOf(to))
    const expected = pointOf(viewOf(to), viewOf(from))?.x
    if (!shift || !expected) return undefined
    const ratio = expected / (expected - shift.x)
    if (!(ratio > 0.1 && ratio < 10)) return undefined
    half *= ratio
    if (Math.abs(shift.x) < NEAR_ENOUGH) return degreesOfHalf(half)
  }
  return undefined
}

/** How many degrees of tilt there are in what is taken for one. */
async function tiltOf(
  parts: TrainingParts,
  { base, camera, signal }: Lesson,
  { aspect, hfovDeg, zoom }: { zoom: number; hfovDeg: number; aspect: number },
): Promise<number> {
  const from = await sent(parts, camera, { ...base.position, zoom }, signal)
  const step = hfovDeg * aspect * STEP
  for (const side of [1, -1]) {
    const to = await sent(parts, camera, { ...from.position, tilt: from.position.tilt + side * step }, signal)
    if (Math.abs(to.position.tilt - from.position.tilt) < step / 2) continue
    for (const guess of TILTS) {
      const found = tiltBy({ from, to, hfovDeg }, guess, aspect)
      if (found !== undefined) return found
    }
  }
  throw failed('Pictures of before and after a tilt show nothing alike. Turn it to where there is more to see, by day.')
}

function tiltBy({ from, hfovDeg, to }: Pair, guess: number, aspect: number): number | undefined {
  let tilts = guess
  const viewOf = ({ position: { pan, tilt } }: Seen): View => ({ pan, tilt: tilt * tilts, hfovDeg, aspect })
  for (let round = 0; round < ROUNDS; round++) {
    const shift = shiftOf(from.picture, viewOf(from), to.picture, viewOf(to))
    const expected = pointOf(viewOf(to), viewOf(from))?.y
    if (!shift || !expected) return undefined
    const ratio = (expected - shift.y) / expected
    if (!(ratio > 0.2 && ratio < 5)) return undefined
    tilts *= ratio
    if (Math.abs(shift.y) < NEAR_ENOUGH) return tilts
  }
  return undefined
}

function failed(why: string): Fault {
  return new Fault('training_failed', `How this camera sees could not be learned. ${why}`)
}
