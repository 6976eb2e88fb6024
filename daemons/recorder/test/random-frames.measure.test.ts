/** Frames at 200 random moments of a minute with holes: the number in each is that of its moment. */
import t from 'tap'
import { givesRightFrames } from './random-frames.ts'

t.test('A.rules.1 each of 200 frames is the picture of its moment', { timeout: 600_000 }, async (t) => {
  await givesRightFrames(t, { seconds: 60, times: 200 })
})
