/** A world of grey shades all around a camera, and what a camera sees of it: so that its picture moves as it turns. */
import { directionOf, pointOf, type View } from '../../core/ptz/geometry.ts'
import type { GreyPicture } from '../../core/ptz/picture-shift.ts'

/** Sizes of what there is to see, in degrees; each divides a full turn. */
const SIZES = [20, 10, 5, 2.5, 1.25, 0.625, 0.3125, 0.15625, 0.078125]

/** A shade of one lattice point, -1..1, always the same. */
function lot(column: number, row: number, layer: number): number {
  let mixed = Math.imul(column + 1, 374761393) ^ Math.imul(row + 1000, 668265263) ^ Math.imul(layer + 1, 2147483629)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 1274126177)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 31 - 1
}

/** @param finest of what is smaller than a pixel nothing is seen */
function shadeOf(pan: number, tilt: number, finest: number): number {
  let shade = 0
  for (const [layer, size] of SIZES.entries()) {
    if (size < finest) break
    const many = Math.round(360 / size)
    const [across, up] = [pan / size, tilt / size]
    const [column, row] = [Math.floor(across), Math.floor(up)]
    const [toRight, toTop] = [across - column, up - row]
    const at = (dx: number, dy: number) => lot((((column + dx) % many) + many) % many, row + dy, layer)
    const low = at(0, 0) * (1 - toRight) + at(1, 0) * toRight
    const high = at(0, 1) * (1 - toRight) + at(1, 1) * toRight
    shade += (low * (1 - toTop) + high * toTop) * 0.8 ** layer
  }
  return shade
}

/** What a camera sees. @param noise of each pixel, as sensors have it */
export function pictureOf(
  view: View,
  size: { width: number; height: number },
  noise = 0,
): Omit<GreyPicture, 'shownAt'> {
  const { height, width } = size
  const bytes = new Uint8Array(width * height)
  const finest = (2 * view.hfovDeg) / width
  for (let row = 0; row < height; row++)
    for (let column = 0; column < width; column++) {
      const point = { x: (2 * column + 1) / width - 1, y: 1 - (2 * row + 1) / height }
      const { pan, tilt } = directionOf(point, view)
      const shade =
        128 + 40 * shadeOf(pan, tilt, finest) + noise * lot(column, row, bytes.length + Math.round(pan * 100))
      bytes[row * width + column] = Math.max(0, Math.min(255, shade))
    }
  return { width, height, bytes }
}

/** Where somebody is seen: a box as fractions of the picture; undefined outside of it. */
export function boxOf(
  at: { pan: number; tilt: number },
  view: View,
  sizeDeg: { wide: number; high: number },
): [number, number, number, number] | undefined {
  const middle = pointOf(at, view)
  if (!middle || Math.abs(middle.x) > 1 || Math.abs(middle.y) > 1) return undefined
  const half = [sizeDeg.wide / view.hfovDeg / 2, sizeDeg.high / (view.hfovDeg * view.aspect) / 2] as const
  const [x, y] = [(middle.x + 1) / 2, (1 - middle.y) / 2]
  const inside = (value: number) => Math.max(0, Math.min(1, value))
  return [inside(x - half[0]), inside(y - half[1]), inside(x + half[0]), inside(y + half[1])]
}
