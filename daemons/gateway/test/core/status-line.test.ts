import t from 'tap'
import type { UnitState } from '../../core/bus/unit-health.ts'
import type { PortState } from '../../core/lines/port.ts'
import { statusLine } from '../../core/status.ts'

/** A line in a state, and its units in theirs, numbered from 1. */
function line(path: string, state: PortState, states: UnitState[] = []) {
  const list = () => states.map((of, index) => ({ unitId: index + 1, state: of }))
  return { path, life: () => ({ state }), adapter: states.length > 0 ? { faces: { units: { list } } } : {} }
}

t.test('says first that nobody can sign in', async (t) => {
  t.equal(
    statusLine({ isSetUp: false, ports: [line('/dev/a', 'failed')] }),
    'nobody can sign in yet: open the page and make the administrator',
  )
})

t.test('names silent or noisy units and missing lines first, then what is well', async (t) => {
  const said = (...ports: ReturnType<typeof line>[]) => statusLine({ isSetUp: true, ports })
  t.equal(said(), 'no lines are set up')
  t.equal(said(line('/dev/a', 'open', ['well', 'slow']), line('/dev/b', 'closed')), '1 of 2 lines are open')
  t.equal(
    said(
      line('/dev/a', 'open', ['well', 'silent', 'probing', 'noisy']),
      line('/dev/b', 'absent'),
      line('/dev/c', 'failed'),
    ),
    'not there or refused: /dev/b, /dev/c; silent: unit 2 on /dev/a, 3 on /dev/a; noisy: unit 4 on /dev/a; 1 of 3 lines are open',
  )
  t.match(said(line('/dev/a', 'open', Array(5).fill('silent'))), /3 on \/dev\/a and 2 more; 1 of 1 lines/)
})
