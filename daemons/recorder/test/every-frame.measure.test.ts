/** Eight cameras for ten minutes, each with mishaps of its own: every picture that came is in the files. */
import t from 'tap'
import { recordsEveryFrame } from './every-frame.ts'
import { FPS } from './numbered-camera.ts'

const SECONDS = 600

t.test('eight cameras for ten minutes: each picture is kept once and in order', { timeout: 900_000 }, async (t) => {
  const chances = Array.from({ length: 8 }, () => Array.from({ length: SECONDS * FPS }, () => Math.random()))
  await recordsEveryFrame(t, {
    settings: ['storage.file_s=60'],
    cameras: 8,
    seconds: SECONDS,
    mishap(camera, number) {
      const chance = chances[camera]?.[number] ?? 1
      if (chance < 0.1) return 'packets change places'
      if (chance < 0.103 && camera % 2 === 0) return 'a packet is lost'
      return chance < 0.1035 && camera % 4 === 1 ? 'the camera restarts' : undefined
    },
  })
})
