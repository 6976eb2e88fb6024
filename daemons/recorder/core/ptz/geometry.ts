/** Where a camera that turns looks: its own units as degrees, how wide it sees, and where a point of its picture lies. */
import { type PanTiltSpace, type Range, SPHERICAL, type ZoomSpace } from '../../wire/onvif-ptz.ts'

/** Where it looks: degrees to the right and up, and how far it is zoomed in, 0..1. */
export interface PtzPosition {
  readonly pan: number
  readonly tilt: number
  readonly zoom: number
}

/** How wide a camera sees at one zoom. */
export interface ZoomWidth {
  readonly zoom: number
  readonly hfovDeg: number
}

/** What is known of how a camera sees. Never changed in place. */
export interface PtzGeometry {
  /** By hand, or by turning the camera and comparing pictures. */
  readonly kind: 'calibrated' | 'trained'
  /** In order of zoom, at least one. */
  readonly widths: readonly ZoomWidth[]
  /** Degrees for each unit of the camera's space; null: as the space says. Below 0 it turns the other way. */
  readonly panPerUnit: number | null
  readonly tiltPerUnit: number | null
  /** Height of the picture by its width. */
  readonly aspect: number
  readonly at: number
}

/** A point of a picture from its middle: 1 is the right and the upper edge. */
export interface FramePoint {
  readonly x: number
  readonly y: number
}

/** How units of an absolute space become degrees. */
export interface Scale {
  uri: string
  pan: Range
  tilt: Range
  panPerUnit: number
  tiltPerUnit: number
  /** Whether it turns all around, so that what lies beyond one end is reached at the other. */
  isEndless: boolean
  isSpherical: boolean
  zoom: Range | undefined
  zoomUri: string | undefined
}

const DEGREES = Math.PI / 180
const FULL_TURN = 360
/** A range that lacks less than this is a full turn: 0..35999 lacks a hundredth. */
const TURN_GAP = 1.5
export const USUAL_ASPECT = 9 / 16
/** How wide a camera is taken to see that nobody has trained: as most do at their widest, and at 20 times that. */
const GUESSED: readonly ZoomWidth[] = [
  { zoom: 0, hfovDeg: 60 },
  { zoom: 1, hfovDeg: 3.3 },
]

/** Spherical degrees before generic ones. */
export function bestSpace(spaces: readonly PanTiltSpace[]): PanTiltSpace | undefined {
  return spaces.find(({ uri }) => uri === SPHERICAL) ?? spaces[0]
}

/**
 * Degrees for each unit of a range, as cameras use them: degrees, tenths or hundredths of them, or a share of all that they turn.
 * @param wholeDeg what is taken for all of it where it is a share
 */
export function degreesPerUnit({ max, min }: Range, wholeDeg: number): number {
  const width = max - min
  if (width > 3601) return 0.01
  if (width > 721) return 0.1
  return width > 10 ? 1 : wholeDeg / width
}

/** How units of a space become degrees. @param limits how far the camera turns, in the same units */
export function scaleOf(
  space: PanTiltSpace,
  limits: Pick<PanTiltSpace, 'pan' | 'tilt'>,
  zoom: ZoomSpace | undefined,
): Scale {
  const isSpherical = space.uri === SPHERICAL
  return withEnds({
    ...{ isSpherical, uri: space.uri, pan: limits.pan, tilt: limits.tilt, zoom: zoom?.zoom, zoomUri: zoom?.uri },
    panPerUnit: isSpherical ? 1 : degreesPerUnit(space.pan, FULL_TURN),
    // From the horizon down, or to both sides of it.
    tiltPerUnit: isSpherical ? 1 : degreesPerUnit(space.tilt, space.tilt.min >= 0 || space.tilt.max <= 0 ? 90 : 180),
  })
}

/** The same with what was learned by turning the camera. */
export function learnedScale(scale: Scale, geometry: PtzGeometry | undefined): Scale {
  const { panPerUnit = null, tiltPerUnit = null } = geometry ?? {}
  return withEnds({
    ...scale,
    panPerUnit: panPerUnit ?? scale.panPerUnit,
    tiltPerUnit: tiltPerUnit ?? scale.tiltPerUnit,
  })
}

function withEnds(scale: Omit<Scale, 'isEndless'>): Scale {
  const turnDeg = (scale.pan.max - scale.pan.min) * Math.abs(scale.panPerUnit)
  return { ...scale, isEndless: turnDeg >= FULL_TURN - TURN_GAP }
}

/** A position in units of the camera. */
export interface RawPosition {
  pan: number
  tilt: number
  /** Undefined: it cannot be zoomed to a place. */
  zoom: number | undefined
}

export function fromRaw({ pan, tilt, zoom }: RawPosition, scale: Scale): PtzPosition {
  const share =
    scale.zoom && zoom !== undefined ? clampTo((zoom - scale.zoom.min) / (scale.zoom.max - scale.zoom.min), UNIT) : 0
  return { pan: pan * scale.panPerUnit, tilt: tilt * scale.tiltPerUnit, zoom: share }
}

const UNIT: Range = { min: 0, max: 1 }

export function clampTo(value: number, { max, min }: Range): number {
  return Math.min(max, Math.max(min, value))
}

/** A position as the camera can take it. */
export interface Reachable {
  raw: RawPosition
  /** The same in degrees. */
  position: PtzPosition
  /** Whether its limits kept it from being what was wanted. */
  isClamped: boolean
}

/** Less than a camera is told at once. */
const NEARLY = 1e-6

/** The nearest that a camera can be sent to. */
export function toReachable(wanted: PtzPosition, scale: Scale): Reachable {
  const rawPan = intoRange(wanted.pan / scale.panPerUnit, scale)
  const pan = clampTo(rawPan, scale.pan)
  const rawTilt = wanted.tilt / scale.tiltPerUnit
  const tilt = clampTo(rawTilt, scale.tilt)
  const share = clampTo(wanted.zoom, UNIT)
  const raw = { pan, tilt, zoom: scale.zoom && scale.zoom.min + share * (scale.zoom.max - scale.zoom.min) }
  const isClamped = [pan - rawPan, tilt - rawTilt, share - wanted.zoom].some((gap) => Math.abs(gap) > NEARLY)
  return { raw, position: fromRaw(raw, scale), isClamped }
}

function intoRange(pan: number, scale: Scale): number {
  if (!scale.isEndless) return pan
  const turn = FULL_TURN / Math.abs(scale.panPerUnit)
  const { max, min } = scale.pan
  const turned = pan < min ? pan + turn * Math.ceil((min - pan) / turn) : pan
  return turned > max ? turned - turn * Math.ceil((turned - max) / turn) : turned
}

/** How wide it sees at a zoom: tangents grow in proportion, so that they are interpolated by their logarithm. */
export function hfovAt(zoom: number, geometry: Pick<PtzGeometry, 'widths'> | undefined): number {
  const widths = geometry?.widths ?? GUESSED
  const above = widths.findIndex((one) => one.zoom >= zoom)
  const [first, last] = [widths[0], widths.at(-1)]
  if (!first || !last) return hfovAt(zoom, undefined)
  if (above < 0) return last.hfovDeg
  const upper = widths[above] ?? last
  const lower = widths[above - 1]
  if (!lower || upper.zoom === lower.zoom) return upper.hfovDeg
  const share = (zoom - lower.zoom) / (upper.zoom - lower.zoom)
  const [from, to] = [lower, upper].map(({ hfovDeg }) => Math.log(halfTangent(hfovDeg))) as [number, number]
  return degreesOfHalf(Math.exp(from + share * (to - from)))
}

/** Half the width of the picture at distance 1. */
export function halfTangent(hfovDeg: number): number {
  return Math.tan((hfovDeg / 2) * DEGREES)
}

export function degreesOfHalf(tangent: number): number {
  return (2 * Math.atan(tangent)) / DEGREES
}

/** What a camera sees. */
export interface View {
  pan: number
  tilt: number
  hfovDeg: number
  aspect: number
}

/** Where a point of the picture lies: at the height of the horizon its pan is that of the camera and atan(x tan(hfov/2)). */
export function directionOf({ x, y }: FramePoint, { aspect, hfovDeg, pan, tilt }: View) {
  const half = halfTangent(hfovDeg)
  const [right, up] = [x * half, y * half * aspect]
  const [sin, cos] = [Math.sin(tilt * DEGREES), Math.cos(tilt * DEGREES)]
  const [ahead, above] = [cos - up * sin, sin + up * cos]
  return {
    pan: pan + Math.atan2(right, ahead) / DEGREES,
    tilt: Math.atan2(above, Math.hypot(right, ahead)) / DEGREES,
  }
}

/** Where in the picture a direction is seen; undefined: behind the camera. */
export function pointOf(
  direction: { pan: number; tilt: number },
  { aspect, hfovDeg, pan, tilt }: View,
): FramePoint | undefined {
  const turned = (direction.pan - pan) * DEGREES
  const height = direction.tilt * DEGREES
  const [right, flat, above] = [
    Math.cos(height) * Math.sin(turned),
    Math.cos(height) * Math.cos(turned),
    Math.sin(height),
  ]
  const [sin, cos] = [Math.sin(tilt * DEGREES), Math.cos(tilt * DEGREES)]
  const depth = flat * cos + above * sin
  if (depth <= NEARLY) return undefined
  const half = halfTangent(hfovDeg)
  return { x: right / depth / half, y: (above * cos - flat * sin) / depth / (half * aspect) }
}

/** How far a point is from the middle, in fractions of the frame. */
export function offCentre({ x, y }: FramePoint): number {
  return Math.hypot(x, y) / 2
}

/** The shorter way from one pan to another, -180..180. */
export function turnBetween(from: number, to: number): number {
  return ((((to - from) % FULL_TURN) + FULL_TURN * 1.5) % FULL_TURN) - FULL_TURN / 2
}
