/** Every picture that came is in the files. every-frame.measure.test.ts does it with eight cameras for minutes. */
import t from 'tap'
import { recordsEveryFrame } from './every-frame.ts'
import { FPS } from './numbered-camera.ts'

t.test('through reordering, loss, a restart and other parameter sets each picture is kept once', async (t) => {
  await recordsEveryFrame(t, {
    cameras: 3,
    seconds: 12,
    mishap(camera, number) {
      if (number % 7 === 3) return 'packets change places'
      if (camera === 1 && number === 2 * FPS + 5) return 'a packet is lost'
      return camera === 2 && number === 4 * FPS + 3 ? 'the camera restarts' : undefined
    },
  })
})
