import t from 'tap'
import { nextPortState, type PortState, type PortStateEvent } from '../../../core/lines/port.ts'

const rows: [PortState, PortStateEvent, PortState][] = [
  ['closed', 'openAsked', 'opening'],
  ['opening', 'opened', 'open'],
  ['opening', 'notThere', 'absent'],
  ['opening', 'refused', 'failed'],
  ['opening', 'closeAsked', 'closed'],
  ['open', 'gone', 'absent'],
  ['open', 'closeAsked', 'closed'],
  ['absent', 'retryDue', 'opening'],
  ['absent', 'openAsked', 'opening'],
  ['absent', 'closeAsked', 'closed'],
  ['failed', 'retryDue', 'opening'],
  ['failed', 'openAsked', 'opening'],
  ['failed', 'closeAsked', 'closed'],
]
const states: PortState[] = ['closed', 'opening', 'open', 'absent', 'failed']
const events: PortStateEvent[] = ['openAsked', 'closeAsked', 'opened', 'notThere', 'refused', 'gone', 'retryDue']

for (const [state, event, next] of rows)
  t.test(`a port that is ${state} becomes ${next} on ${event}`, async (t) => {
    t.equal(nextPortState(state, event), next)
  })

t.test('every other pair leaves the state as it is', async (t) => {
  const listed = new Set(rows.map(([state, event]) => `${state} ${event}`))
  const others = states.flatMap((state) => events.map((event) => [state, event] as const))
  for (const [state, event] of others)
    if (!listed.has(`${state} ${event}`)) t.equal(nextPortState(state, event), state, `${state} on ${event}`)
})
