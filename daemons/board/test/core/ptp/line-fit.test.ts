/** Tests of core/ptp/clock-fit.ts. */
import fc from 'fast-check'
import t from 'tap'
import { fitLine, median } from '../../../core/ptp/clock-fit.ts'
import { noise } from './noise.ts'

const points = (count: number, x: (index: number) => number) =>
  Array.from({ length: count }, (_, index) => ({ t: index, x: x(index) }))

t.test('the median of an even count is between the two in the middle', async (t) => {
  t.equal(median([3, 1, 2]), 2)
  t.equal(median([4, 1, 3, 2]), 2.5)
})

t.test('finds any line exactly if there is no noise', async (t) => {
  const number = fc.double({ min: -1000, max: 1000, noNaN: true })
  fc.assert(
    fc.property(number, number, fc.integer({ min: 2, max: 60 }), (x, slope, count) => {
      const line = fitLine(
        points(count, (index) => x + slope * index),
        1e-3,
      )
      t.ok(Math.abs(line.x - x) < 1e-6 && Math.abs(line.slope - slope) < 1e-6, `${x} + ${slope} t`)
    }),
    { numRuns: 50 },
  )
})

t.test('a quarter of the points can be anything', async (t) => {
  const random = noise(1)
  const clean = (index: number) => 5 + 3 * index + random.normal()
  const line = fitLine(
    points(100, (index) => (index % 4 === 0 ? random.normal() * 1e6 : clean(index))),
    0.1,
  )
  t.ok(Math.abs(line.slope - 3) < 0.02, `slope ${line.slope}`)
  t.ok(Math.abs(line.x - 5) < 1.5, `level ${line.x}`)
})

t.test('gives the deviation of points from the line', async (t) => {
  const random = noise(2)
  const { spread } = fitLine(
    points(400, () => 20 * random.normal()),
    0.1,
  )
  t.ok(spread > 16 && spread < 24, `${spread}`)
})
