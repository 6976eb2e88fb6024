/** What was decided, as a trace holds it and a simulation prints it. */
import { objectOf } from '../json-kind.ts'
import type { Json } from '../row.ts'
import type { Decided, Side, Test } from './decide.ts'

/** Plain JSON; in the words of a step's args where they have words for it. */
export function shownOf(decided: Decided): { [key: string]: Json } {
  switch (decided.type) {
    case 'command':
      return { ...decided.target.what, command: decided.verb, args: decided.args }
    case 'delay':
      return { wait_ms: decided.waitMs }
    case 'wait':
      return { ...shownTest(decided.test), timeout_ms: decided.timeoutMs }
    case 'condition':
      return { ...shownTest(decided.test), else: decided.skip === 'stop' ? 'stop' : { skip: decided.skip } }
    case 'set':
      return { ...decided.target.what, attribute: decided.name.what, value: decided.value }
    case 'macro': {
      const { what } = decided.macro
      const args = objectOf(decided.args.values)
      return 'id' in what ? { macro_id: what.id, args } : { macro: what.name, args }
    }
    case 'notify':
      return { text: decided.text }
    case 'stop':
      return { reason: decided.reason, failed: decided.isFailure }
  }
}

function shownTest(test: Test): { [key: string]: Json } {
  return { left: shownSide(test.left), op: test.op, right: shownSide(test.right) }
}

function shownSide(side: Side): Json {
  if (side.kind === 'value') return side.value
  return { ...side.target.what, [side.kind]: side.name.what }
}
