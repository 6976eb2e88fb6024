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

const FULL_TURN = 360
/** A range that lacks less than this is a full turn: 0..35999 lacks a hundredth. */
const TURN_GAP = 1.5

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
