/** A simulated camera for the recorder's unit, run inside the container; writes the address of its stream to a file. */
import { writeFileSync } from 'node:fs'
import { startCameras } from '../sim/rtsp-cameras.ts'
import { TEST_PICTURES_PER_S, testFilm } from '../sim/test-picture.ts'

const [file = ''] = process.argv.slice(2)
const cameras = await startCameras({
  picturesPerS: TEST_PICTURES_PER_S,
  film: () =>
    testFilm(
      { sky: [150, 150, 110], ground: [90, 110, 130], mover: [110, 90, 200], size: [64, 32], dotsPerS: 40 },
      () => Date.now(),
    ),
})
writeFileSync(file, `rtsp://127.0.0.1:${cameras.port}/yard`)
