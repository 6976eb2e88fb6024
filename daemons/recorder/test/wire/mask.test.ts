import fc from 'fast-check'
import t from 'tap'
import { layoutOf, type Mask, paintMasks } from '../../wire/mask.ts'

/** A white picture with masks, and how bright each of its pixels is. */
function painted(width: number, height: number, masks: readonly Mask[]) {
  const { bytes: length, lumaStride } = layoutOf(width, height)
  const bytes = new Uint8Array(length).fill(235)
  paintMasks({ bytes, width, height }, masks)
  return { bytes, at: (x: number, y: number) => bytes[y * lumaStride + x] ?? -1 }
}

const box = (left: number, top: number, right: number, bottom: number): Mask => [
  [left, top],
  [right, top],
  [right, bottom],
  [left, bottom],
]

t.test('every pixel that a mask touches is black, and no other', async (t) => {
  const { at } = painted(20, 10, [box(0.26, 0.31, 0.5, 0.61)])
  const black = Array.from({ length: 200 }, (_, place) => place).filter(
    (place) => at(place % 20, Math.floor(place / 20)) === 16,
  )
  const wanted = [3, 4, 5, 6].flatMap((y) => [5, 6, 7, 8, 9, 10].map((x) => y * 20 + x))
  t.same(black, wanted)
})

t.test('colours go as well, also where they are shared with a pixel beside', async (t) => {
  const { bytes } = painted(8, 8, [box(0.4, 0.4, 0.6, 0.6)])
  const blue = bytes.subarray(64, 80)
  t.same(
    [...blue.entries()].filter(([, value]) => value === 128).map(([at]) => at),
    [5, 6, 9, 10],
  )
  t.same([...bytes.subarray(80, 96)], [...blue])
})

t.test(
  'a polygon that crosses itself covers what it goes round twice, and one out of the frame what is in it',
  async (t) => {
    const star: Mask = [0, 2, 4, 1, 3].map((at) => [
      0.5 + 0.5 * Math.sin((at * 2 * Math.PI) / 5),
      0.5 - 0.5 * Math.cos((at * 2 * Math.PI) / 5),
    ])
    t.equal(painted(40, 40, [star]).at(20, 20), 16)
    const { at } = painted(10, 10, [box(0, 0, 1, 1)])
    t.equal(
      Array.from({ length: 100 }, (_, place) => at(place % 10, Math.floor(place / 10))).every((one) => one === 16),
      true,
    )
  },
)

t.test(
  'whatever the polygon, its points and what lies between two of them are covered, and nothing is written outside',
  async (t) => {
    const point = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))
    const size = fc.integer({ min: 1, max: 33 })
    fc.assert(
      fc.property(size, size, fc.array(point, { minLength: 3, maxLength: 8 }), (width, height, mask) => {
        const { at, bytes } = painted(width, height, [mask])
        t.equal(bytes.length, layoutOf(width, height).bytes)
        const pixel = (x: number, y: number) =>
          at(Math.min(width - 1, Math.floor(x * width)), Math.min(height - 1, Math.floor(y * height)))
        for (const [index, [x, y]] of mask.entries()) {
          const [x2, y2] = mask[(index + 1) % mask.length] ?? [x, y]
          if (pixel(x, y) !== 16 || pixel((x + x2) / 2, (y + y2) / 2) !== 16) return false
        }
        return true
      }),
    )
  },
)
