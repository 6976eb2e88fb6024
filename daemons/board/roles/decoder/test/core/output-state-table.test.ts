import t from 'tap'
import { nextOutputState, type OutputEvent, type OutputState } from '../../core/output.ts'

const ROWS: Record<OutputState, Partial<Record<OutputEvent, OutputState>>> = {
  starting: { started: 'playing', failed: 'waiting', closing: 'closed' },
  playing: { failed: 'waiting', closing: 'closed' },
  waiting: { retry: 'starting', closing: 'closed' },
  closed: {},
}
const EVENTS: OutputEvent[] = ['started', 'failed', 'retry', 'closing']

for (const [state, row] of Object.entries(ROWS) as [OutputState, (typeof ROWS)[OutputState]][])
  t.test(`from ${state} each event leads where it says, and nowhere else`, async (t) => {
    for (const event of EVENTS) t.equal(nextOutputState(state, event), row[event] ?? state, event)
  })
