import t from 'tap'
import { type BusEvent, type BusState, nextBusState } from '../../../core/bus/transactions.ts'

const rows: [BusState, BusEvent, BusState][] = [
  ['closed', 'attached', 'settling'],
  ['settling', 'settled', 'idle'],
  ['settling', 'detached', 'closed'],
  ['idle', 'wanted', 'gap'],
  ['idle', 'detached', 'closed'],
  ['gap', 'silent', 'sending'],
  ['gap', 'givenUp', 'idle'],
  ['gap', 'detached', 'closed'],
  ['sending', 'sent', 'waiting'],
  ['sending', 'sentToAll', 'turnaround'],
  ['sending', 'givenUp', 'idle'],
  ['sending', 'detached', 'closed'],
  ['waiting', 'heard', 'receiving'],
  ['waiting', 'answered', 'idle'],
  ['waiting', 'givenUp', 'idle'],
  ['waiting', 'detached', 'closed'],
  ['receiving', 'cleared', 'waiting'],
  ['receiving', 'answered', 'idle'],
  ['receiving', 'givenUp', 'idle'],
  ['receiving', 'detached', 'closed'],
  ['turnaround', 'turned', 'idle'],
  ['turnaround', 'detached', 'closed'],
]
const states = [...new Set(rows.map(([state]) => state))]
const events = [...new Set(rows.map(([, event]) => event))]

for (const [state, event, next] of rows)
  t.test(`a Modbus line that is ${state} becomes ${next} on ${event}`, async (t) => {
    t.equal(nextBusState(state, event), next)
  })

t.test('every other pair leaves the state as it is', async (t) => {
  t.equal(states.length, 8)
  t.equal(events.length, 12)
  const listed = new Set(rows.map(([state, event]) => `${state} ${event}`))
  for (const state of states)
    for (const event of events)
      if (!listed.has(`${state} ${event}`)) t.equal(nextBusState(state, event), state, `${state} on ${event}`)
})
