import t from 'tap'
import { readTicks, stolenPercent } from '../stolen-time.ts'

t.test('tells how much of the time went to others', async (t) => {
  t.equal(stolenPercent({ all: 1000, stolen: 10 }, { all: 1200, stolen: 35 }), 12.5)
  t.equal(stolenPercent({ all: 1000, stolen: 10 }, { all: 1000, stolen: 10 }), 0)
})

t.test('reads what the kernel of this machine says', async (t) => {
  const { all, stolen } = readTicks()
  t.ok(all > 0 && stolen >= 0 && stolen < all, `${stolen} of ${all}`)
})
