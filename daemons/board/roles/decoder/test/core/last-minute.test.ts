import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLastMinute } from '../../core/reception.ts'

t.test('counts from sixty seconds ago are gone, later ones are there', async (t) => {
  const clock = fakeClock()
  const minute = createLastMinute(clock, ['lost', 'late'])
  t.equal(minute.sum('lost'), 0)
  minute.add({ lost: 3 })
  clock.advance(500)
  minute.add({ lost: 1, late: 2 })
  clock.advance(59_000)
  minute.add({ lost: 10 })
  t.equal(minute.sum('lost'), 14)
  clock.advance(500)
  t.equal(minute.sum('lost'), 10)
  t.equal(minute.sum('late'), 0)
  clock.advance(3_600_000)
  t.equal(minute.sum('lost'), 0)
  minute.add({ lost: 5 })
  minute.clear()
  t.equal(minute.sum('lost'), 0)
})
