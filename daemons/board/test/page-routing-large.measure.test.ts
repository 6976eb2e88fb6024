/** Fifty encoders by fifty decoders: no step is noticeable. */
import t from 'tap'
import { fiftyByFifty } from './large-routing.ts'

/** Script, styles and layout: a third of the delay that a person notices. */
const MOST_MS: Readonly<Record<string, number>> = {
  'a move of the mouse': 33,
  'a step of the arrows': 33,
  'a second in which 100 boards are asked': 250,
  'a swipe of the list': 500,
  'two swipes of the grid': 1000,
}

t.test('fifty by fifty, without a stutter', { timeout: 120_000 }, async (t) => {
  const judged: string[] = []
  await fiftyByFifty(t, { moves: 40, arrows: 49, idleS: 3 }, (t, step, { ms }) => {
    judged.push(step)
    t.ok(ms < (MOST_MS[step] ?? 0), `${ms.toFixed(1)} ms for ${step}`)
  })
  t.same(judged, Object.keys(MOST_MS))
})
