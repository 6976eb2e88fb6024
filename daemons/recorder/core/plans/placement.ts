/** Where a camera is on a plan, and how it is calibrated: as it is checked, saved and sent. */
import { type Static, Type } from 'typebox'
import { LEAST_PAIRS, MOST_PAIRS, type Point, type PointPair } from '../../wire/homography.ts'
import { MOST_SAMPLES, type PoseSample } from '../../wire/pose.ts'

/** Of a side of a plan. @source interface document 3, A, Limits */
export const MOST_PIXELS = 8000

export interface Span {
  least: number
  most: number
}

/** What a placement may hold: a full circle, and the distance across the longest plan. */
export const PLACEMENT_SPANS = {
  headingDeg: { least: 0, most: 360 },
  hfovDeg: { least: 1, most: 360 },
  rangePx: { least: 1, most: 16_000 },
} as const satisfies Record<string, Span>

export const POINT_SPAN: Span = { least: LEAST_PAIRS, most: MOST_PAIRS }
export const SAMPLE_SPAN: Span = { least: 1, most: MOST_SAMPLES }

const strict = { additionalProperties: false }

function numberWithin({ least, most }: Span, description: string) {
  return Type.Number({ minimum: least, maximum: most, description })
}

export const placementFields = {
  planId: Type.String({ minLength: 1, maxLength: 64, description: 'id of a plan' }),
  x: Type.Number({ minimum: 0, maximum: MOST_PIXELS, description: 'pixels of the plan from its left' }),
  y: Type.Number({ minimum: 0, maximum: MOST_PIXELS, description: 'pixels of the plan from its top' }),
  headingDeg: numberWithin(PLACEMENT_SPANS.headingDeg, 'degrees clockwise from up'),
  hfovDeg: numberWithin(PLACEMENT_SPANS.hfovDeg, 'how wide its picture is'),
  rangePx: numberWithin(PLACEMENT_SPANS.rangePx, 'how far it sees, in pixels of the plan'),
}

function pairOf(most: number, description: string) {
  return Type.Array(Type.Number({ minimum: 0, maximum: most }), { minItems: 2, maxItems: 2, description })
}

const planPoint = pairOf(MOST_PIXELS, '[x, y] in pixels of the plan')

export const pointList = Type.Array(
  Type.Object(
    { picture: pairOf(1, '[u, v] in fractions of the picture from its left and top'), plan: planPoint },
    strict,
  ),
  { maxItems: MOST_PAIRS, description: `at least ${LEAST_PAIRS}; an empty list clears them` },
)

export const ptzPosition = Type.Object(
  {
    pan: Type.Number({ minimum: -360, maximum: 360, description: 'degrees clockwise, as seen from above' }),
    tilt: Type.Number({ minimum: -90, maximum: 90, description: 'degrees above the horizon: down is negative' }),
    zoom: Type.Number({ minimum: 0, maximum: 1 }),
  },
  strict,
)

export const sampleList = Type.Array(Type.Object({ position: ptzPosition, plan: planPoint }, strict), {
  maxItems: MOST_SAMPLES,
  description: 'where the camera stood, and what was then in the middle of its picture; an empty list clears them',
})

/** @param list as `pointList` has checked it */
export function readPoints(list: Static<typeof pointList>): PointPair[] {
  return list.map(({ picture, plan }) => ({ picture: pointOf(picture), plan: pointOf(plan) }))
}

/** @param list as `sampleList` has checked it */
export function readSamples(list: Static<typeof sampleList>): PoseSample[] {
  return list.map(({ plan, position }) => ({ position, plan: pointOf(plan) }))
}

function pointOf([x = 0, y = 0]: readonly number[]): Point {
  return [x, y]
}

/** How places in the picture of a camera and on the plan belong together. */
export type Calibration =
  | { readonly kind: 'homography'; readonly points: readonly PointPair[]; readonly residualPx: number }
  | {
      readonly kind: 'ptz'
      readonly samples: readonly PoseSample[]
      /** The bearing at pan 0; the height in pixels of the plan, null where it is not known. */
      readonly headingDeg: number
      readonly height: number | null
      readonly residualDeg: number
    }

/** Where a camera is to be. */
export type PlacementWish = {
  readonly [Name in keyof typeof placementFields]: Static<(typeof placementFields)[Name]>
}

/** Where it is. Never changed in place. */
export interface Placement extends PlacementWish {
  readonly calibration: Calibration | null
}

interface Size {
  width: number
  height: number
}

/** @returns the same on a plan of another size; a range goes by the mean of both sides */
export function scaledPlacement(placement: Placement, from: Size, to: Size): Placement {
  const { least, most } = PLACEMENT_SPANS.rangePx
  const by = Math.sqrt((to.width * to.height) / (from.width * from.height))
  const rangePx = Math.min(most, Math.max(least, placement.rangePx * by))
  // In this order what is at an edge stays there: times a quotient it could be beside the plan by rounding.
  const [x, y] = [(placement.x * to.width) / from.width, (placement.y * to.height) / from.height]
  return { ...placement, x, y, rangePx, calibration: null }
}
