/** Boxes in a picture, as fractions of it. */

/** Left, top, right, bottom; 0 to 1, left < right and top < bottom. */
export type Box = readonly [left: number, top: number, right: number, bottom: number]

/** What a detector says of one picture. */
export interface SeenBox {
  label: string
  /** 0 to 1. */
  score: number
  box: Box
}

export function areaOf([left, top, right, bottom]: Box): number {
  return Math.max(0, right - left) * Math.max(0, bottom - top)
}

function sharedArea(one: Box, other: Box): number {
  return areaOf([
    Math.max(one[0], other[0]),
    Math.max(one[1], other[1]),
    Math.min(one[2], other[2]),
    Math.min(one[3], other[3]),
  ])
}

/** Intersection over union: 1 for the same box, 0 for two without a common point. */
export function overlapOf(one: Box, other: Box): number {
  const shared = sharedArea(one, other)
  const all = areaOf(one) + areaOf(other) - shared
  return all > 0 ? shared / all : 0
}

/** How much of a box lies in another one, 0 to 1. */
export function partWithin(box: Box, other: Box): number {
  const area = areaOf(box)
  return area > 0 ? sharedArea(box, other) / area : 0
}
