import t from 'tap'
import { idlePercent, readTicks, stolenPercent } from '../stolen-time.ts'

t.test('tells how much of the time went to others', async (t) => {
  const before = { all: 1000, stolen: 10, idle: 400 }
  t.equal(stolenPercent(before, { all: 1200, stolen: 35, idle: 400 }), 12.5)
  t.equal(stolenPercent(before, before), 0)
})

t.test('tells how much of the time nothing wanted', async (t) => {
  const before = { all: 1000, stolen: 10, idle: 400 }
  t.equal(idlePercent(before, { all: 1200, stolen: 10, idle: 500 }), 50)
  t.equal(idlePercent(before, before), 0)
})

t.test('reads what the kernel of this machine says', async (t) => {
  const { all, idle, stolen } = readTicks()
  t.ok(all > 0 && stolen >= 0 && idle > 0 && stolen + idle < all, `${stolen} and ${idle} of ${all}`)
})
