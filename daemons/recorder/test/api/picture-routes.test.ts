/** Tests of api/picture-routes.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Reply } from '#kit/http/route.ts'
import { pictureRoutes } from '../../api/picture-routes.ts'
import type { ChosenPicture } from '../../core/pictures/choice.ts'

type Parts = Parameters<typeof pictureRoutes>[0]

t.test('a disk that hangs keeps pictures of other disks waiting for no longer than storage.stuck_ms', async (t) => {
  const clock = fakeClock()
  const picture = { group: {}, shownAt: 7 } as unknown as ChosenPicture
  const hanging = Promise.withResolvers<ChosenPicture>()
  // The same while nobody sets others.
  const masks: unknown[] = []
  let places = 0
  const [, frame] = pictureRoutes({
    ...{ clock, readMs: 2000, newest: () => undefined },
    callers: { accountOf: () => ({ id: 'guard' }) } as unknown as Parts['callers'],
    cameras: { require: (id: string) => ({ record: { id, masks } }) } as unknown as Parts['cameras'],
    decoder: { picture: async () => Uint8Array.of(1, 2) } as unknown as Parts['decoder'],
    extraction: {
      permit() {},
      countFrame() {},
      note: async () => {},
      hold() {
        places++
        return () => void places--
      },
    } as unknown as Parts['extraction'],
    pictureAt: (camera) => (camera === 'hung' ? hanging.promise : Promise.resolve(picture)),
  })
  const ask = (id: string) =>
    frame?.handle({ params: { id }, query: { at: 7 }, signal: new AbortController().signal } as never) as Promise<Reply>
  const hung = ask('hung')
  const other = ask('other')
  const refused = t.rejects(hung, { code: 'footage_away', message: /not answered for 2/ })
  await clock.run(2000)
  await refused
  t.equal((await other).status, 200)
  t.equal(places, 0)
  hanging.reject(new Error('the disk is gone'))
})
