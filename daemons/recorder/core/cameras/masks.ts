/** Privacy masks of a camera: what is painted black in everything that leaves the recorder. Footage stays as it came. */
import { type Static, Type } from 'typebox'
import type { Mask } from '../../wire/mask.ts'
import type { CameraRecord } from './book.ts'

const MOST_MASKS = 16
const MOST_POINTS = 32

const fraction = Type.Number({ minimum: 0, maximum: 1 })

/** Polygons in fractions of the frame, as they are saved and sent. */
export const maskList = Type.Array(
  Type.Array(Type.Array(fraction, { minItems: 2, maxItems: 2, description: '[x, y]: 0 is left or top' }), {
    minItems: 3,
    maxItems: MOST_POINTS,
    description: 'corners of a polygon in order',
  }),
  {
    maxItems: MOST_MASKS,
    description:
      'polygons that are black in every picture and film that leaves the recorder; told to administrators alone',
  },
)

/** What nobody may see of a camera. Everything that lets pictures out asks this anew, so that a mask counts at once. */
export function masksOf({ masks }: Pick<CameraRecord, 'masks'>): readonly Mask[] {
  return masks
}

/** Whether coded pictures of a camera may not leave as they are. */
export function isMasked(record: Pick<CameraRecord, 'masks'>): boolean {
  return masksOf(record).length > 0
}

/** @param list as `maskList` has checked it */
export function readMasks(list: Static<typeof maskList>): Mask[] {
  return list.map((mask) => mask.map(([x = 0, y = 0]) => [x, y]))
}
