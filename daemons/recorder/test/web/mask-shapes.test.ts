/** Tests of web/mask-shapes.ts. */
import fc from 'fast-check'
import t from 'tap'
import type { Mask } from '../../web/api.ts'
import { type Corner, middleOf, moved, rectangle, withCorner, withCornerBehind } from '../../web/mask-shapes.ts'

const corner = fc.tuple(fc.double({ min: -2, max: 2, noNaN: true }), fc.double({ min: -2, max: 2, noNaN: true }))
const isInside = (mask: Mask) => mask.flat().every((value) => value >= 0 && value <= 1)

t.test('a rectangle is drawn from any corner to any other', async (t) => {
  const wanted = [
    [0.1, 0.2],
    [0.5, 0.2],
    [0.5, 0.6],
    [0.1, 0.6],
  ]
  t.same(rectangle([0.1, 0.2], [0.5, 0.6]), wanted)
  t.same(rectangle([0.5, 0.2], [0.1, 0.6]), wanted)
})

t.test('nothing leaves the picture, and what is moved keeps its shape', async () => {
  fc.assert(
    fc.property(corner, corner, corner, (one, other, by) => {
      const mask = rectangle(one, other)
      const there = moved(mask, ...by)
      const size = (of: Mask) => [(of[2]?.[0] ?? 0) - (of[0]?.[0] ?? 0), (of[2]?.[1] ?? 0) - (of[0]?.[1] ?? 0)]
      const isSame = size(mask).every((length, at) => Math.abs(length - (size(there)[at] ?? 0)) < 0.0003)
      return isInside(mask) && isInside(there) && isSame && isInside(withCorner(mask, 1, by))
    }),
  )
})

t.test('a corner is added between two, also behind the last', async (t) => {
  const mask: Mask = [
    [0, 0],
    [1, 0],
    [1, 1],
  ]
  t.same(withCornerBehind(mask, 0), [[0, 0], [0.5, 0], ...mask.slice(1)])
  t.same(withCornerBehind(mask, 2), [...mask, [0.5, 0.5]])
  t.same(middleOf(mask), [0.5, 0.5] satisfies Corner)
})
