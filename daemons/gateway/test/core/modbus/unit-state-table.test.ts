import t from 'tap'
import { nextUnitState, type UnitEvent, type UnitState } from '../../../core/bus/unit-health.ts'

const rows: [UnitState, UnitEvent, UnitState][] = [
  ['unknown', 'answered', 'well'],
  ['unknown', 'late', 'slow'],
  ['unknown', 'missed', 'failing'],
  ['unknown', 'gaveUp', 'silent'],
  ['well', 'late', 'slow'],
  ['well', 'noise', 'noisy'],
  ['well', 'gaveUp', 'silent'],
  ['well', 'lineClosed', 'unknown'],
  ['slow', 'calmed', 'well'],
  ['slow', 'gaveUp', 'silent'],
  ['slow', 'lineClosed', 'unknown'],
  ['noisy', 'quiet', 'well'],
  ['noisy', 'late', 'slow'],
  ['noisy', 'gaveUp', 'silent'],
  ['noisy', 'lineClosed', 'unknown'],
  ['failing', 'answered', 'well'],
  ['failing', 'late', 'slow'],
  ['failing', 'gaveUp', 'silent'],
  ['failing', 'lineClosed', 'unknown'],
  ['silent', 'probed', 'probing'],
  ['silent', 'late', 'slow'],
  ['silent', 'lineClosed', 'unknown'],
  ['probing', 'answered', 'well'],
  ['probing', 'late', 'slow'],
  ['probing', 'missed', 'silent'],
  ['probing', 'undecided', 'silent'],
  ['probing', 'lineClosed', 'unknown'],
]
const states = [...new Set(rows.map(([state]) => state))]
const events = [...new Set(rows.map(([, event]) => event))]

for (const [state, event, next] of rows)
  t.test(`a unit that is ${state} becomes ${next} on ${event}`, async (t) => {
    t.equal(nextUnitState(state, event), next)
  })

t.test('every other pair leaves the state as it is', async (t) => {
  t.equal(states.length, 7)
  t.equal(events.length, 10)
  const listed = new Set(rows.map(([state, event]) => `${state} ${event}`))
  for (const state of states)
    for (const event of events)
      if (!listed.has(`${state} ${event}`)) t.equal(nextUnitState(state, event), state, `${state} on ${event}`)
})
