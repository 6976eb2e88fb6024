import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createLogGate } from '../../pure/pace.ts'

function gate() {
  const clock = fakeClock()
  const said: [number, unknown][] = []
  return { clock, said, gate: createLogGate(clock, 1000, (count, facts) => said.push([count, facts.n])) }
}

t.test('logs the first at once and the rest of the period in one line', async (t) => {
  const { clock, said, gate: logGate } = gate()
  for (let n = 1; n <= 5; n += 1) logGate.note({ n })
  t.same(said, [[1, 1]])
  clock.advance(1000)
  t.same(said, [
    [1, 1],
    [4, 5],
  ])
})

t.test('logs the next at once after a quiet period', async (t) => {
  const { clock, said, gate: logGate } = gate()
  logGate.note({ n: 1 })
  clock.advance(1000)
  logGate.note({ n: 2 }, 3)
  t.same(said, [
    [1, 1],
    [3, 2],
  ])
})

t.test('logs the rest when closed, and leaves no timer', async (t) => {
  const { clock, said, gate: logGate } = gate()
  logGate.note({ n: 1 })
  logGate.note({ n: 2 })
  logGate.close()
  t.same(said, [
    [1, 1],
    [1, 2],
  ])
  t.equal(clock.pending(), 0)
})
