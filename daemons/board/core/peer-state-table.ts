/** The life of another board as this one sees it: state x event -> next state. */

/** `new` and `gone` boards are not listed. */
export type PeerState = 'new' | 'alive' | 'unreachable' | 'gone'

/**
 * - `answered` it answered under its own name
 * - `silent` it has not answered for a while, though it is announced
 * - `lost` it neither answers nor is announced, or has not answered for far too long
 */
export type PeerEvent = 'answered' | 'silent' | 'lost'

/** A pair that is not listed does not change the state. */
export const peerStateTable: Readonly<Record<PeerState, Partial<Record<PeerEvent, PeerState>>>> = {
  new: { answered: 'alive', lost: 'gone' },
  alive: { silent: 'unreachable', lost: 'gone' },
  unreachable: { answered: 'alive', lost: 'gone' },
  gone: {},
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextPeerState(state: PeerState, event: PeerEvent): PeerState {
  return peerStateTable[state][event] ?? state
}
