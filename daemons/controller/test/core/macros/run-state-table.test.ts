import t from 'tap'
import { isOver, nextRunState, type RunEvent, type RunState } from '../../../core/macros/run.ts'

const rows: [RunState, RunEvent, RunState][] = [
  ['starting', 'kept', 'queued'],
  ['starting', 'begun', 'running'],
  ['starting', 'failure', 'failed'],
  ['starting', 'cancel', 'cancelled'],
  ['starting', 'lost', 'interrupted'],
  ['queued', 'begun', 'running'],
  ['queued', 'cancel', 'cancelled'],
  ['queued', 'expired', 'timed_out'],
  ['queued', 'lost', 'interrupted'],
  ['running', 'finished', 'done'],
  ['running', 'failure', 'failed'],
  ['running', 'cancel', 'cancelled'],
  ['running', 'expired', 'timed_out'],
  ['running', 'lost', 'interrupted'],
]
const over: RunState[] = ['done', 'failed', 'cancelled', 'timed_out', 'interrupted']
const states: RunState[] = ['starting', 'queued', 'running', ...over]
const events = [...new Set(rows.map(([, event]) => event))]

for (const [state, event, next] of rows)
  t.test(`a run that is ${state} becomes ${next} on ${event}`, async (t) => {
    t.equal(nextRunState(state, event), next)
  })

t.test('every other pair leaves the state as it is', async (t) => {
  t.equal(events.length, 7)
  const listed = new Set(rows.map(([state, event]) => `${state} ${event}`))
  for (const state of states)
    for (const event of events)
      if (!listed.has(`${state} ${event}`)) t.equal(nextRunState(state, event), state, `${state} on ${event}`)
})

t.test('a run is over in the states that nothing follows', async (t) => {
  t.same(states.filter(isOver), over)
})
