/** The behaviour of fifty encoders by fifty decoders; the time it takes is measured by page-routing-large.measure.test.ts. */
import t from 'tap'
import { fiftyByFifty } from './large-routing.ts'

t.test('fifty by fifty', async (t) => {
  await fiftyByFifty(t, { moves: 12, arrows: 9, idleS: 1 }, (t, step, { layouts }) =>
    t.ok(layouts < 3, `${layouts} layouts for ${step}`),
  )
})
