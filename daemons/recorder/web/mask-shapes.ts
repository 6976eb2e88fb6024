/** Shapes of privacy masks as they are drawn: nothing leaves the picture. */
import type { Mask } from './api.ts'

export type Corner = Mask[number]

export const MOST_MASKS = 16
export const MOST_CORNERS = 32
export const LEAST_CORNERS = 3

/** Within the picture, and no finer than it can be seen. */
function held(value: number): number {
  return Math.min(1, Math.max(0, Math.round(value * 10_000) / 10_000))
}

/** @param from one corner @param to the one across */
export function rectangle([x1, y1]: Corner, [x2, y2]: Corner): Mask {
  const [left, right] = [held(Math.min(x1, x2)), held(Math.max(x1, x2))]
  const [top, bottom] = [held(Math.min(y1, y2)), held(Math.max(y1, y2))]
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ]
}

/** As far as the picture reaches. */
export function moved(mask: Mask, byX: number, byY: number): Mask {
  const by = (place: 0 | 1, wish: number) => {
    const values = mask.map((corner) => corner[place])
    return Math.min(1 - Math.max(...values), Math.max(-Math.min(...values), wish))
  }
  const [dx, dy] = [by(0, byX), by(1, byY)]
  return mask.map(([x, y]) => [held(x + dx), held(y + dy)])
}

export function withCorner(mask: Mask, at: number, [x, y]: Corner): Mask {
  return mask.map((corner, index) => (index === at ? [held(x), held(y)] : corner))
}

/** One more, in the middle between a corner and the next. */
export function withCornerBehind(mask: Mask, at: number): Mask {
  const [x1, y1] = mask[at] ?? [0, 0]
  const [x2, y2] = mask[(at + 1) % mask.length] ?? [0, 0]
  return mask.toSpliced(at + 1, 0, [held((x1 + x2) / 2), held((y1 + y2) / 2)])
}

/** The middle of what it covers. */
export function middleOf(mask: Mask): Corner {
  const between = (values: number[]) => (Math.min(...values) + Math.max(...values)) / 2
  return [between(mask.map(([x]) => x)), between(mask.map(([, y]) => y))]
}
