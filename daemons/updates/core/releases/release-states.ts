/** States of a release. */
import { Fault } from '#kit/pure/fault.ts'
import type { ReleaseRecord } from '../ports.ts'

type State = ReleaseRecord['state']
type Event = 'publish' | 'halt' | 'resume' | 'withdraw' | 'restore' | 'remove'

/** `halted`: too many installations reported a failure. A deleted one is remembered, so that nobody asks for it for ever. */
export const releaseTable: Readonly<Record<State, Readonly<Partial<Record<Event, State>>>>> = {
  offered: { publish: 'offered', halt: 'halted', withdraw: 'withdrawn', remove: 'deleted' },
  halted: { publish: 'halted', resume: 'offered', withdraw: 'withdrawn', remove: 'deleted' },
  withdrawn: { publish: 'withdrawn', restore: 'offered', remove: 'deleted' },
  deleted: { publish: 'offered' },
}

/** @throws Fault `release_state` */
export function nextState(state: State, event: Event): State {
  const next = releaseTable[state][event]
  if (next === undefined)
    throw new Fault('release_state', `The release is ${state}: ${EVENTS[event]} is not possible now.`)
  return next
}

const EVENTS: Readonly<Record<Event, string>> = {
  publish: 'publishing it',
  halt: 'halting it',
  resume: 'offering it again after failures',
  withdraw: 'withdrawing it',
  restore: 'offering it again',
  remove: 'deleting it',
}
