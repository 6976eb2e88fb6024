import t from 'tap'
import { type FeedEvent, type FeedState, feedStateTable, nextFeedState } from '../../core/feed.ts'

/** Every pair that changes the state; all others change nothing. */
const CHANGES: readonly [FeedState, FeedEvent, FeedState][] = [
  ['opening', 'opened', 'sending'],
  ['opening', 'failed', 'waiting'],
  ['opening', 'closing', 'closed'],
  ['sending', 'failed', 'waiting'],
  ['sending', 'changed', 'opening'],
  ['sending', 'closing', 'closed'],
  ['waiting', 'retry', 'opening'],
  ['waiting', 'changed', 'opening'],
  ['waiting', 'closing', 'closed'],
]
const EVENTS: readonly FeedEvent[] = ['opened', 'failed', 'retry', 'changed', 'closing']

t.test('a feed changes its state as its table says, and otherwise stays', async (t) => {
  for (const state of Object.keys(feedStateTable) as FeedState[]) {
    for (const event of EVENTS) {
      const expected = CHANGES.find(([from, by]) => from === state && by === event)?.[2] ?? state
      t.equal(nextFeedState(state, event), expected, `${state}, ${event}`)
    }
  }
})
