/** How exact clocks of boards are, and how soon the next one is followed. */
import t from 'tap'
import { noClocks, threeClocks } from './three-clocks.ts'

t.test('three boards and a clock that dies, within 50 us', { skip: noClocks(), timeout: 170_000 }, async (t) => {
  await threeClocks(t, (t, what, figure, most) => t.ok(figure < most, `${figure} ${what}`))
})
