/** Frames at random moments of a recording with holes. random-frames.measure.test.ts asks for more of them. */
import t from 'tap'
import { givesRightFrames } from './random-frames.ts'

t.test('A.rules.1 frame.jpg is the picture of its moment, over a hole and over other parameter sets', async (t) => {
  await givesRightFrames(t, { seconds: 8, times: 16 })
})
