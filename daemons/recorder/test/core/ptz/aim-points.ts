/** Aims a played camera at points of its picture, and tells how far they are from the middle afterwards in truth. */

import { directionOf, offCentre, pointOf } from '../../../core/ptz/geometry.ts'
import { FIELD_OF_VIEW } from '../../../wire/onvif-ptz.ts'
import { UNITS } from '../../peer/ptz-simulator.ts'
import { ann, CAMERA, steeringStage } from './ptz-stage.ts'

/** The three kinds of spaces, of cameras that come to rest a little beside. */
export const SPACES = {
  spherical: { units: UNITS.spherical, wideDeg: 66, missDeg: { pan: 1.2, tilt: -0.7 } },
  generic: { units: UNITS.hundredths, missDeg: { pan: -0.8, tilt: 0.9 } },
  [FIELD_OF_VIEW]: { units: undefined, byView: { min: -100, max: 100 }, viewGain: 0.85 },
} as const

export async function aimAt(space: keyof typeof SPACES, many: number) {
  const errors: number[] = []
  const apart: number[] = []
  let unseen = 0
  let corrections = 0
  let clamped = 0
  for (let at = 0; at < many; at++) {
    // Spread over the picture without a pattern.
    const [x, y] = [1.8 * ((at * 0.618034) % 1) - 0.9, 1.8 * ((at * 0.754878) % 1) - 0.9]
    const turned = (at * 37) % 240
    const pose = { pan: space === 'generic' ? 60 + turned : turned - 120, tilt: -5 + ((at * 7) % 12), zoom: 0 }
    const { camera, during, steering } = steeringStage({ ...SPACES[space], pose })
    const truth = directionOf({ x, y }, camera.view())
    const result = await during(steering.aim(CAMERA, { x, y, zoom: 0 }, ann), 100)
    const seen = pointOf(truth, camera.view())
    const error = seen ? offCentre(seen) : 1
    corrections += result.corrections
    if (result.clamped) clamped++
    else if (result.achievedError === null) unseen++
    else {
      errors.push(error)
      apart.push(Math.abs(error - result.achievedError))
    }
  }
  errors.sort((a, b) => a - b)
  apart.sort((a, b) => a - b)
  return { errors, apart, unseen, clamped, corrections }
}
