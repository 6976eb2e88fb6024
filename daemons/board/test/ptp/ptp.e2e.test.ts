/** What clocks do when one dies; how exact they are is checked by ptp.measure.test.ts. */
import t from 'tap'
import { noClocks, threeClocks } from './three-clocks.ts'

t.test('three boards and a clock that dies', { skip: noClocks() }, async (t) => {
  await threeClocks(t, (t, what, figure) => t.comment(`${Math.round(figure)} ${what}`))
})
