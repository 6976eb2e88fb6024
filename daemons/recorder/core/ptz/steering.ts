/** Sends cameras to what is seen in their picture, and measures by the picture itself how near they came. */
import { type Clock, wait } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  directionOf,
  type FramePoint,
  hfovAt,
  offCentre,
  type PtzGeometry,
  type PtzPosition,
  pointOf,
  toReachable,
  USUAL_ASPECT,
  type View,
} from './geometry.ts'
import { type By, type CameraMoves, rounded } from './moves.ts'
import { type GreyPicture, shiftOf } from './picture-shift.ts'

/** What cameras show now. */
export interface Eyes {
  /** @throws Fault `no_picture`, and as the decoder does */
  look(camera: string, signal: AbortSignal): Promise<GreyPicture>
}

/** What came of sending a camera to a place. Errors are fractions of the frame. @source interface document 3, A, ptz/aim */
export interface AimResult {
  method: 'absolute' | 'fov'
  /** By what is known of the camera and its limits. */
  predictedError: number
  /** As its picture shows; null where it does not. */
  achievedError: number | null
  /** Further moves beside the first. */
  corrections: number
  /** Whether the camera cannot reach the point. */
  clamped: boolean
}

export interface SteeringParts {
  clock: Clock
  moves: CameraMoves
  eyes: Eyes
  geometry(camera: string): PtzGeometry | undefined
  limits: SteeringLimits
}

/** Bounds, by the names of their settings. */
interface SteeringLimits {
  /** How long a camera may take to get where it was sent. */
  arriveMs: number
  /** How much later a picture shows where a camera looks. */
  behindMs: number
}

/** Where a camera came to rest. */
export interface Rest {
  /** Null where it does not say. */
  position: PtzPosition | null
  /** Epoch ms. */
  at: number
}

export interface Steering {
  /** @param point in the fractions of a `FramePoint`; zoom by a share of all it zooms, -1..1 */
  aim(camera: string, point: FramePoint & { zoom: number }, by: By): Promise<AimResult>
  /** @throws Fault `no_absolute_position` */
  goTo(camera: string, to: PtzPosition, by: By): Promise<AimResult>
  /** Waits until it is still. */
  rest(camera: string, signal: AbortSignal): Promise<Rest>
  /** A picture of after it came to rest; undefined where none comes. */
  see(camera: string, at: number, signal: AbortSignal): Promise<GreyPicture | undefined>
}

const LOOK_MS = 200
/** A camera that says that it is still may not have begun. */
const BEGIN_MS = 300
const CORRECTIONS = 3
/** So near, the next correction is lost in what the camera's gear has of play. */
const NEAR_ENOUGH = 0.01
/** Beyond, a correction that brought nothing means that there is an end. */
const FAR = 0.05

export function createSteering(parts: SteeringParts): Steering {
  const { moves } = parts

  /** Writes it down however it ends. */
  async function noted(
    camera: string,
    by: By,
    wish: Record<string, number>,
    task: (signal: AbortSignal) => Promise<AimResult>,
  ) {
    try {
      const result = await moves.within(camera, by, task)
      await moves.write(camera, 'ptz_aim', by, { ...wish, ...result })
      return result
    } catch (error) {
      if (error instanceof Fault) await moves.write(camera, 'ptz_aim', by, { ...wish, error: error.message })
      throw error
    }
  }

  return {
    aim: (camera, point, by) => noted(camera, by, { ...point }, (signal) => aimNow(parts, camera, point, signal)),
    async goTo(camera, to, by) {
      await moves.scale(camera)
      const wish = { panDeg: rounded(to.pan, 2), tiltDeg: rounded(to.tilt, 2), zoomTo: rounded(to.zoom, 4) }
      return await noted(camera, by, wish, async (signal) => {
        const start = await begin(parts, camera, signal)
        return await byPosition(parts, camera, { start, to }, signal)
      })
    },
    rest: (camera, signal) => rest(parts, camera, signal),
    see: (camera, at, signal) => see(parts, camera, at, signal),
  }
}

/** Where an aim begins. */
interface Start {
  position: PtzPosition | null
  picture: GreyPicture | undefined
  view: View
}

async function begin(parts: SteeringParts, camera: string, signal: AbortSignal): Promise<Start> {
  const { isMoving, position: first } = await parts.moves.look(camera)
  const { at, position } = isMoving === true ? await rest(parts, camera, signal) : { at: -Infinity, position: first }
  const picture = await see(parts, camera, at, signal)
  return { position, picture, view: viewAt(parts, camera, position, picture) }
}

function viewAt(
  { geometry }: SteeringParts,
  camera: string,
  position: PtzPosition | null,
  picture: GreyPicture | undefined,
): View {
  const known = geometry(camera)
  const { pan, tilt, zoom } = position ?? { pan: 0, tilt: 0, zoom: 0 }
  return {
    pan,
    tilt,
    hfovDeg: hfovAt(zoom, known),
    aspect: picture ? picture.height / picture.width : (known?.aspect ?? USUAL_ASPECT),
  }
}

async function aimNow(
  parts: SteeringParts,
  camera: string,
  { zoom, ...point }: FramePoint & { zoom: number },
  signal: AbortSignal,
): Promise<AimResult> {
  const { facts } = await parts.moves.head(camera)
  const start = await begin(parts, camera, signal)
  // By angles it needs to be known how wide it sees; where that is a guess, the camera itself knows better.
  const isByView = facts.byView !== undefined && (!facts.absolute || !start.position || !parts.geometry(camera))
  if (isByView) return await byView(parts, camera, { start, zoom, ...point }, signal)
  const { position } = start
  if (!position)
    throw new Fault('no_absolute_position', 'The camera does not say where it looks, and does not go by what it sees.')
  const to = { ...directionOf(point, start.view), zoom: position.zoom + zoom }
  return await byPosition(parts, camera, { start, to }, signal)
}

/** Sends it to a position, and again as far as the picture shows that it missed. */
async function byPosition(
  parts: SteeringParts,
  camera: string,
  { start, to }: { start: Start; to: PtzPosition },
  signal: AbortSignal,
): Promise<AimResult> {
  const scale = await parts.moves.scale(camera)
  const viewOf = (position: PtzPosition) => viewAt(parts, camera, position, start.picture)
  const wanted = toReachable(to, scale)
  const predicted = pointOf(to, viewOf(wanted.position)) ?? { x: 2, y: 0 }
  const result: AimResult = {
    method: 'absolute',
    predictedError: rounded(offCentre(predicted), 4),
    achievedError: null,
    corrections: 0,
    clamped: wanted.isClamped,
  }
  for (let next = to; ; result.corrections++) {
    signal.throwIfAborted()
    await parts.moves.send(camera, next)
    const { at, position } = await rest(parts, camera, signal)
    const view = viewOf(position ?? toReachable(next, scale).position)
    const seen = await found(parts, camera, { start, to, view, at }, signal)
    if (!seen) return result
    result.achievedError = rounded(offCentre(seen), 4)
    if (result.clamped || offCentre(seen) <= NEAR_ENOUGH || result.corrections === CORRECTIONS) return result
    next = { ...directionOf(seen, view), zoom: to.zoom }
  }
}

/** Where in the picture of now that is seen which was to be in the middle. */
async function found(
  parts: SteeringParts,
  camera: string,
  { at, start, to, view }: { start: Start; to: { pan: number; tilt: number }; view: View; at: number },
  signal: AbortSignal,
): Promise<FramePoint | undefined> {
  const after = start.picture && (await see(parts, camera, at, signal))
  const shift = start.picture && after && shiftOf(start.picture, start.view, after, view)
  if (!shift) return undefined
  return pointOf(to, { ...view, ...directionOf({ x: -shift.x, y: -shift.y }, view) })
}

/** The same of a camera that goes by a share of what it sees: it knows by itself how wide that is. */
async function byView(
  parts: SteeringParts,
  camera: string,
  { start, x, y, zoom }: FramePoint & { start: Start; zoom: number },
  signal: AbortSignal,
): Promise<AimResult> {
  const to = directionOf({ x, y }, start.view)
  const result: AimResult = { method: 'fov', predictedError: 0, achievedError: null, corrections: 0, clamped: false }
  let share = { x, y, zoom }
  for (let last = Infinity; ; result.corrections++) {
    signal.throwIfAborted()
    await parts.moves.sendBy(camera, share)
    const { at, position } = await rest(parts, camera, signal)
    // How wide it sees after a zoom is known of a trained one alone.
    if (zoom !== 0 && (!position || !parts.geometry(camera))) return result
    const { hfovDeg } = position && parts.geometry(camera) ? viewAt(parts, camera, position, start.picture) : start.view
    const seen = await found(parts, camera, { start, to, view: { ...start.view, ...to, hfovDeg }, at }, signal)
    if (!seen) return result
    const error = offCentre(seen)
    result.achievedError = rounded(error, 4)
    result.clamped = error > FAR && error > 0.75 * last
    if (result.clamped || error <= NEAR_ENOUGH || result.corrections === CORRECTIONS) return result
    last = error
    share = { ...seen, zoom: 0 }
  }
}

async function rest({ clock, limits, moves }: SteeringParts, camera: string, signal: AbortSignal): Promise<Rest> {
  const endMs = clock.monotonicMs() + limits.arriveMs
  await wait(clock, BEGIN_MS)
  for (let before: PtzPosition | null | undefined; ; ) {
    signal.throwIfAborted()
    const { isMoving, position } = await moves.look(camera)
    const isSame = before !== undefined && isSamePlace(before, position)
    // One that says nothing at all is given its time.
    const isKnown = isMoving !== undefined || position !== null
    if ((isKnown && isSame && isMoving !== true) || clock.monotonicMs() >= endMs)
      return { position, at: clock.epochMs() }
    before = position
    await wait(clock, LOOK_MS)
  }
}

const STILL_DEG = 0.02

function isSamePlace(one: PtzPosition | null, other: PtzPosition | null): boolean {
  if (!one || !other) return one === other
  return (
    Math.max(Math.abs(one.pan - other.pan), Math.abs(one.tilt - other.tilt), Math.abs(one.zoom - other.zoom)) <
    STILL_DEG
  )
}

async function see(
  { clock, eyes, limits }: SteeringParts,
  camera: string,
  at: number,
  signal: AbortSignal,
): Promise<GreyPicture | undefined> {
  const endMs = clock.monotonicMs() + limits.arriveMs
  for (;;) {
    signal.throwIfAborted()
    // While it shows what was, it is not decoded for nothing.
    if (clock.epochMs() >= at + limits.behindMs) {
      const picture = await eyes.look(camera, signal).catch(unlessNone)
      if (picture && picture.shownAt >= at + limits.behindMs) return picture
      if (!picture && at === -Infinity) return undefined
    }
    if (clock.monotonicMs() >= endMs) return undefined
    await wait(clock, LOOK_MS)
  }
}

const NONE: ReadonlySet<string> = new Set([
  'no_picture',
  'decoder_missing',
  'decoder_busy',
  'decoder_failed',
  'picture_undecodable',
  'picture_too_large',
])

/** A camera turns without pictures too. */
function unlessNone(error: unknown): undefined {
  if (error instanceof Fault && NONE.has(error.code)) return undefined
  throw error
}
