/** Every picture that came is in the files. every-frame.measure.test.ts does it with eight cameras for minutes. */
import t from 'tap'
import { until } from '#kit/test/until.ts'
import { LONG_MS } from './camera.ts'
import { recordsEveryFrame } from './every-frame.ts'
import { HOSTILITIES, startHostileCamera } from './hostile-camera.ts'
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

t.test(
  'beside cameras that do what none should each picture of another is kept, and each of them is named',
  async (t) => {
    const kinds = Object.keys(HOSTILITIES) as (keyof typeof HOSTILITIES)[]
    await recordsEveryFrame(t, {
      ...{ cameras: 1, seconds: 8, mishap: () => undefined },
      settings: ['cameras.picture_ms=2000', 'cameras.answer_ms=2000', 'cameras.bytes_per_s=2000000'],
      async beside(boss) {
        for (const name of kinds) {
          const url = await startHostileCamera(t, name)
          t.equal((await boss.call('POST', '/api/discovery/rtsp', { name, url })).status, 201)
        }
        const faults = new Map<string, Set<string>>()
        return async () => {
          for (const name of kinds)
            await until(
              `what is wrong with one that ${name}`,
              async () => {
                const { body } = await boss.call('GET', '/api/cameras')
                const { health } = body.find((camera: { name: string }) => camera.name === name)
                const seen = faults.get(name) ?? new Set()
                faults.set(name, seen.add(health.fault?.code))
                return seen.has(HOSTILITIES[name])
              },
              LONG_MS,
            )
        }
      },
    })
  },
)
