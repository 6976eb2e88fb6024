import t from 'tap'
import { type LaneEvent, type LaneState, nextLaneState } from '../../../core/drivers/lane.ts'

const rows: [LaneState, LaneEvent, LaneState][] = [
  ['closed', 'openAsked', 'opening'],
  ['opening', 'opened', 'ready'],
  ['opening', 'failed', 'waiting'],
  ['opening', 'closeAsked', 'closing'],
  ['ready', 'sent', 'busy'],
  ['ready', 'lost', 'leaving'],
  ['ready', 'closeAsked', 'closing'],
  ['busy', 'settled', 'ready'],
  ['busy', 'late', 'stuck'],
  ['busy', 'lost', 'leaving'],
  ['busy', 'closeAsked', 'closing'],
  ['stuck', 'settled', 'ready'],
  ['stuck', 'lost', 'leaving'],
  ['stuck', 'closeAsked', 'closing'],
  ['leaving', 'left', 'waiting'],
  ['leaving', 'closeAsked', 'closing'],
  ['waiting', 'retryDue', 'opening'],
  ['waiting', 'closeAsked', 'closing'],
  ['closing', 'left', 'closed'],
]
const states: LaneState[] = ['closed', 'opening', 'ready', 'busy', 'stuck', 'leaving', 'waiting', 'closing']
const events: LaneEvent[] = [
  'openAsked',
  'opened',
  'failed',
  'sent',
  'settled',
  'late',
  'lost',
  'left',
  'retryDue',
  'closeAsked',
]

for (const [state, event, next] of rows)
  t.test(`a device that is ${state} becomes ${next} on ${event}`, async (t) => {
    t.equal(nextLaneState(state, event), next)
  })

t.test('every other pair leaves the state as it is', async (t) => {
  const listed = new Set(rows.map(([state, event]) => `${state} ${event}`))
  const others = states.flatMap((state) => events.map((event) => [state, event] as const))
  for (const [state, event] of others)
    if (!listed.has(`${state} ${event}`)) t.equal(nextLaneState(state, event), state, `${state} on ${event}`)
})
