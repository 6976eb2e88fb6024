/** A drawing of a floor as a PNG, for tests of plans: walls, doors and a yard. */
import { deflateSync } from 'node:zlib'
import { chunk, png } from '#kit/test/pictures.ts'

const [WIDTH, HEIGHT] = [800, 500]

/** Walls, as [left, top, right, bottom]. */
const WALLS: readonly (readonly [number, number, number, number])[] = [
  ...([
    [20, 20, 780, 26],
    [20, 474, 780, 480],
    [20, 20, 26, 480],
    [774, 20, 780, 200],
    [774, 280, 780, 480],
  ] as const),
  ...([
    [300, 20, 305, 180],
    [300, 260, 305, 480],
    [560, 20, 565, 300],
    [560, 360, 565, 480],
    [20, 250, 200, 255],
  ] as const),
]

export function floorImage(): Buffer {
  const rows = Buffer.alloc(HEIGHT * (WIDTH + 1), 0xf4)
  for (let row = 0; row < HEIGHT; row++) rows[row * (WIDTH + 1)] = 0
  for (const [left, top, right, bottom] of WALLS)
    for (let row = top; row < bottom; row++)
      rows.fill(0x40, row * (WIDTH + 1) + 1 + left, row * (WIDTH + 1) + 1 + right)
  const blank = png(WIDTH, HEIGHT)
  const head = blank.subarray(0, blank.indexOf('IDAT') - 4)
  return Buffer.concat([head, chunk('IDAT', deflateSync(rows)), chunk('IEND')])
}
