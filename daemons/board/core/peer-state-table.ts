/** The life of another board as this one sees it: state x event -> next state. */

/** `new` and `gone` boards are not listed. `awaited` ones are known from before this board's own start. */
export type PeerState = 'new' | 'awaited' | 'alive' | 'unreachable' | 'absent' | 'gone'

/**
 * - `answered` it answered under its own name
 * - `silent` it has not answered for a while, though it is announced
 * - `lost` it neither answers nor is announced, or has not answered for far too long
 * - `dismissed` somebody said that it will not come back, or it makes room for others
 */
export type PeerEvent = 'answered' | 'silent' | 'lost' | 'dismissed'

/** A pair that is not listed does not change the state: a board that has answered once stays until it is dismissed. */
export const peerStateTable: Readonly<Record<PeerState, Partial<Record<PeerEvent, PeerState>>>> = {
  new: { answered: 'alive', lost: 'gone' },
  awaited: { answered: 'alive', lost: 'absent', dismissed: 'gone' },
  alive: { silent: 'unreachable', lost: 'absent' },
  unreachable: { answered: 'alive', lost: 'absent', dismissed: 'gone' },
  absent: { answered: 'alive', dismissed: 'gone' },
  gone: {},
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextPeerState(state: PeerState, event: PeerEvent): PeerState {
  return peerStateTable[state][event] ?? state
}
