/** Tests of core/socket-bounds.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLoad, createPace } from '../../core/socket-bounds.ts'

t.test('a socket may send as much at once as in two seconds, and then as much as a second allows', async (t) => {
  const clock = fakeClock()
  const pace = createPace(clock, 10)
  const sent = () => {
    let count = 0
    try {
      for (; count < 1000; count++) pace.take()
    } catch (fault) {
      t.match(fault, { code: 'slow_down' })
    }
    return count
  }
  t.equal(sent(), 20)
  t.equal(sent(), 0)
  clock.advance(500)
  t.equal(sent(), 5)
  clock.advance(60_000)
  t.equal(sent(), 20)
})

t.test('requests under way are bounded by account, in all, and in bytes', async (t) => {
  const load = createLoad({ accountRequests: 2, allRequests: 3, requestBytes: 100 })
  const [one, two] = [load.begin(1, 10), load.begin(1, 10)]
  t.equal(load.begin(1, 10), undefined, 'of an account')
  const three = load.begin(2, 10)
  t.equal(load.begin(3, 10), undefined, 'in all')
  one?.()
  t.equal(load.begin(3, 81), undefined, 'in bytes')
  t.ok(load.begin(3, 80))
  two?.()
  three?.()
  t.ok(load.begin(1, 20), 'and what has ended makes room')
})
