/** Tests of core/peers/peer.ts, row by row. */
import t from 'tap'
import { nextPeerState, type PeerEvent, type PeerState } from '../../../core/peers/peer.ts'

const ROWS: [PeerState, PeerEvent, PeerState][] = [
  ['new', 'answered', 'alive'],
  ['new', 'silent', 'new'],
  ['new', 'lost', 'gone'],
  ['new', 'dismissed', 'new'],
  ['awaited', 'answered', 'alive'],
  ['awaited', 'silent', 'awaited'],
  ['awaited', 'lost', 'absent'],
  ['awaited', 'dismissed', 'gone'],
  ['alive', 'answered', 'alive'],
  ['alive', 'silent', 'unreachable'],
  ['alive', 'lost', 'absent'],
  ['alive', 'dismissed', 'alive'],
  ['unreachable', 'answered', 'alive'],
  ['unreachable', 'silent', 'unreachable'],
  ['unreachable', 'lost', 'absent'],
  ['unreachable', 'dismissed', 'gone'],
  ['absent', 'answered', 'alive'],
  ['absent', 'silent', 'absent'],
  ['absent', 'lost', 'absent'],
  ['absent', 'dismissed', 'gone'],
  ['gone', 'answered', 'gone'],
  ['gone', 'silent', 'gone'],
  ['gone', 'lost', 'gone'],
  ['gone', 'dismissed', 'gone'],
]

for (const [state, event, next] of ROWS)
  t.test(`${state} and ${event} is ${next}`, async (t) => {
    t.equal(nextPeerState(state, event), next)
  })
