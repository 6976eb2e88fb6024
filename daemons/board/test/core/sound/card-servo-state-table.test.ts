/** Tests of how a sound card is kept on the audio clock. */
import t from 'tap'
import {
  type CardServoEvent,
  type CardServoState,
  cardServoStateTable,
  nextCardServoState,
} from '../../../core/sound/card.ts'

const rows: [CardServoState, CardServoEvent, CardServoState][] = [
  ['settling', 'settled', 'resting'],
  ['settling', 'known', 'holding'],
  ['resting', 'started', 'settling'],
  ['resting', 'strayed', 'catching'],
  ['catching', 'started', 'settling'],
  ['catching', 'caught', 'holding'],
  ['holding', 'started', 'settling'],
  ['holding', 'strayed', 'catching'],
  ['holding', 'even', 'resting'],
]

for (const [state, event, next] of rows) {
  t.test(`${state}: ${event} -> ${next}`, async (t) => {
    t.equal(nextCardServoState(state, event), next)
  })
}

t.test('these are all the rows there are; any other pair changes nothing', async (t) => {
  t.equal(Object.values(cardServoStateTable).flatMap((row) => Object.keys(row)).length, rows.length)
  t.equal(nextCardServoState('resting', 'even'), 'resting')
  t.equal(nextCardServoState('settling', 'strayed'), 'settling')
})
