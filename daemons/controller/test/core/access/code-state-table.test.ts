import t from 'tap'
import { type CodeEvent, type CodeState, nextCodeState } from '../../../core/access/second-factor.ts'

for (const [state, event, next] of [
  ['none', 'asked', 'issued'],
  ['none', 'matched', 'none'],
  ['none', 'missed', 'none'],
  ['none', 'voided', 'none'],
  ['issued', 'asked', 'issued'],
  ['issued', 'matched', 'none'],
  ['issued', 'missed', 'issued'],
  ['issued', 'voided', 'none'],
  ['lapsed', 'asked', 'issued'],
  ['lapsed', 'matched', 'none'],
  ['lapsed', 'missed', 'none'],
  ['lapsed', 'voided', 'none'],
] as [CodeState, CodeEvent, CodeState][])
  t.test(`1 Two-factor code: ${state}, ${event} -> ${next}`, (t) => {
    t.equal(nextCodeState(state, event), next)
    t.end()
  })
