/** Asks other boards over HTTP whether they are there. */
import { request } from 'node:http'
import type { PeerAsker } from '../core/ports.ts'

/** In every answer of a board: its full name on the network. Answers of anything else have none, or another. */
export const INSTANCE_HEADER = 'plantroom-instance'

/** What asks: no person, and no program of one. */
export const PEER_AGENT = 'plantroom-peer'

/** Larger heads are no board's. */
const MOST_HEAD_BYTES = 8192

/**
 * Asks for the status without credentials: any answer will do, a 401 as well, if it comes from the board that is meant.
 * Only the head is read.
 * @param answerMs from connecting to the head of the answer
 */
export function createPeerAsker({ answerMs }: { answerMs: number }): PeerAsker {
  return {
    ask: ({ address, port }, id) =>
      new Promise((resolve) => {
        const asked = request({
          host: address,
          port,
          path: '/api/status',
          // A connection of its own each time: one that was left open says little about the machine behind it.
          agent: false,
          headers: { 'user-agent': PEER_AGENT },
          maxHeaderSize: MOST_HEAD_BYTES,
          signal: AbortSignal.timeout(answerMs),
        })
        function settle(hasAnswered: boolean): void {
          resolve(hasAnswered)
          asked.destroy()
        }
        asked.on('response', ({ headers }) => settle(headers[INSTANCE_HEADER] === id))
        asked.on('upgrade', () => settle(false))
        asked.on('error', () => settle(false))
        asked.on('close', () => settle(false))
        asked.end()
      }),
  }
}
