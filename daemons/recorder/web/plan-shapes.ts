/** Shapes of cameras on a plan as they are drawn: cones, what turns them, and where a camera is put first. */
import type { Placement, SitePlan } from './plan-api.ts'

/** In pixels of the plan. */
export type Spot = readonly [x: number, y: number]

const RADIANS = Math.PI / 180
/** What is shown of a plan has no finer parts. */
const FINE = 10
/** Of a camera of which nothing is known. */
const USUAL_HFOV_DEG = 70
/** Part of the shorter side of a plan. */
const USUAL_RANGE = 0.3

function held(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, Math.round(value * FINE) / FINE))
}

/** So far in a direction, degrees clockwise from up. */
export function spotAt([x, y]: Spot, degrees: number, distance: number): Spot {
  return [x + distance * Math.sin(degrees * RADIANS), y - distance * Math.cos(degrees * RADIANS)]
}

/** What a camera sees, as a path of SVG. */
export function conePath({ headingDeg, hfovDeg, rangePx, x, y }: Omit<Placement, 'planId' | 'calibration'>): string {
  const at: Spot = [x, y]
  const arc = (degrees: number) => `A${rangePx} ${rangePx} 0 0 1 ${spotAt(at, degrees, rangePx).join(' ')}`
  if (hfovDeg >= 360) return `M${spotAt(at, 0, rangePx).join(' ')}${arc(180)}${arc(360)}Z`
  const [left, right] = [headingDeg - hfovDeg / 2, headingDeg + hfovDeg / 2]
  // In two halves: an arc of more than half a circle could go either way round.
  return `M${at.join(' ')}L${spotAt(at, left, rangePx).join(' ')}${arc(headingDeg)}${arc(right)}Z`
}

/** Where a cone is held to be turned: at its end, or where that leaves the plan. */
export function turnSpot({ headingDeg, rangePx, x, y }: Placement, { height, width }: SitePlan): Spot {
  const [dx, dy] = spotAt([0, 0], headingDeg, 1)
  const room = (at: number, by: number, size: number) =>
    by > 1e-9 ? (size - at) / by : by < -1e-9 ? at / -by : Number.POSITIVE_INFINITY
  const far = Math.min(rangePx, Math.max(room(x, dx, width) * 0.97, 0), Math.max(room(y, dy, height) * 0.97, 0))
  return spotAt([x, y], headingDeg, far)
}

/** Turned and stretched, so that its end is there. */
export function turnedTo(placement: Placement, [x, y]: Spot, range: { least: number; most: number }): Placement {
  const [dx, dy] = [x - placement.x, y - placement.y]
  const rangePx = held(Math.hypot(dx, dy), range.least, range.most)
  const headingDeg = Math.hypot(dx, dy) < 1 ? placement.headingDeg : wholeTurn(Math.atan2(dx, -dy) / RADIANS)
  return { ...placement, headingDeg, rangePx }
}

export function turnedBy(placement: Placement, degrees: number): Placement {
  return { ...placement, headingDeg: wholeTurn(placement.headingDeg + degrees) }
}

function wholeTurn(degrees: number): number {
  return held((degrees + 720) % 360, 0, 360)
}

/** As far as the plan reaches. */
export function movedTo(placement: Placement, [x, y]: Spot, { height, width }: SitePlan): Placement {
  return { ...placement, x: held(x, 0, width), y: held(y, 0, height) }
}

/** In the middle, from where it is moved. */
export function firstPlacement({ height, id, width }: SitePlan): Placement {
  const rangePx = Math.max(1, Math.round(Math.min(width, height) * USUAL_RANGE))
  const at = { x: Math.round(width / 2), y: Math.round(height / 2) }
  return { planId: id, ...at, headingDeg: 0, hfovDeg: USUAL_HFOV_DEG, rangePx, calibration: null }
}

export type Fitting = 'well' | 'roughly' | 'badly'

/** How well a fit is, as a part of the plan: a click is off by half a hundredth. */
export function fittingOf(residualPx: number, { height, width }: SitePlan): Fitting {
  const part = residualPx / Math.hypot(width, height)
  return part <= 0.005 ? 'well' : part <= 0.02 ? 'roughly' : 'badly'
}
