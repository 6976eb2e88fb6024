/** The life of a shared device, row by row. */
import t from 'tap'
import { nextShareState, type ShareEvent, type ShareState, shareStateTable } from '../../core/share.ts'

const rows: Record<ShareState, Partial<Record<ShareEvent, ShareState>>> = {
  local: { wanted: 'binding', bound: 'exported', foundUsed: 'freeing', letGo: 'releasing', unplugged: 'gone' },
  binding: { bound: 'exported', refused: 'failed', unplugged: 'gone' },
  exported: { asked: 'handing', foundUsed: 'freeing', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  handing: { taken: 'attached', notTaken: 'exported', unplugged: 'gone' },
  attached: { ended: 'freeing', freed: 'exported', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  freeing: { freed: 'exported', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  releasing: { released: 'local', refused: 'failed', unplugged: 'gone' },
  failed: { wanted: 'binding', bound: 'exported', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  gone: {},
}

t.test('every state reacts to the events of its row, and ignores all others', (t) => {
  const events = new Set(Object.values(rows).flatMap((row) => Object.keys(row))) as Set<ShareEvent>
  for (const state of Object.keys(rows) as ShareState[])
    for (const event of events)
      t.equal(nextShareState(state, event), rows[state][event] ?? state, `${state} at ${event}`)
  t.same(Object.keys(shareStateTable), Object.keys(rows))
  t.end()
})

t.test('every state but the last can be left, and every one can be reached', (t) => {
  for (const [state, row] of Object.entries(shareStateTable)) t.equal(Object.keys(row).length === 0, state === 'gone')
  const reached = new Set(Object.values(shareStateTable).flatMap((row) => Object.values(row)))
  t.same([...reached].sort(), Object.keys(shareStateTable).sort())
  t.end()
})
