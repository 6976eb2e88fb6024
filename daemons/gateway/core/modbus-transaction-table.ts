/** The life of a Modbus line as master sees it: state x event -> next state. */

/**
 * - `closed` no line
 * - `settling` just opened: who asked last is not known, so nothing is sent until an answer to that cannot come
 * - `idle` nothing to do
 * - `gap` a request waits for silence
 * - `sending` the driver has the request
 * - `waiting` the request is out, nothing of an answer is there
 * - `receiving` bytes are there that may become the answer
 * - `turnaround` a broadcast is out and units carry it out
 */
export type BusState = 'closed' | 'settling' | 'idle' | 'gap' | 'sending' | 'waiting' | 'receiving' | 'turnaround'

/**
 * - `attached`, `detached` the line was opened; closed or lost
 * - `settled` the time after opening is over
 * - `wanted` a request waits that may go
 * - `silent` the line was silent for 3.5 characters
 * - `sent`, `sentToAll` the last bit of the request is out; of a broadcast
 * - `heard`, `cleared` bytes wait that may be an answer; what waited was none
 * - `answered` the answer is proven
 * - `turned` the turnaround delay is over
 * - `givenUp` no silence, nothing left to send, not sent, or no answer in time
 */
export type BusEvent =
  | 'attached'
  | 'detached'
  | 'settled'
  | 'wanted'
  | 'silent'
  | 'sent'
  | 'sentToAll'
  | 'heard'
  | 'cleared'
  | 'answered'
  | 'turned'
  | 'givenUp'

/** A pair that is not listed does not change the state. */
export const busStateTable: Readonly<Record<BusState, Partial<Record<BusEvent, BusState>>>> = {
  closed: { attached: 'settling' },
  settling: { detached: 'closed', settled: 'idle' },
  idle: { detached: 'closed', wanted: 'gap' },
  gap: { detached: 'closed', silent: 'sending', givenUp: 'idle' },
  sending: { detached: 'closed', sent: 'waiting', sentToAll: 'turnaround', givenUp: 'idle' },
  waiting: { detached: 'closed', heard: 'receiving', answered: 'idle', givenUp: 'idle' },
  receiving: { detached: 'closed', cleared: 'waiting', answered: 'idle', givenUp: 'idle' },
  turnaround: { detached: 'closed', turned: 'idle' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextBusState(state: BusState, event: BusEvent): BusState {
  return busStateTable[state][event] ?? state
}
