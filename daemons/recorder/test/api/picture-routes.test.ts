/** Tests of api/picture-routes.ts. */
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Reply } from '#kit/http/route.ts'
import { pictureRoutes } from '../../api/picture-routes.ts'
import type { ChosenPicture } from '../../core/pictures/choice.ts'

type Parts = Parameters<typeof pictureRoutes>[0]

const picture = { group: {}, shownAt: 7 } as unknown as ChosenPicture

/** The route of frame.jpg, and how many places of the meter are taken. */
function frameRoute(parts: Partial<Parts> & { note?: Parts['extraction']['note'] }) {
  // The same while nobody sets others.
  const masks: unknown[] = []
  let places = 0
  const extraction = {
    permit() {},
    countFrame() {},
    note: parts.note ?? (async () => {}),
    hold() {
      places++
      return () => void places--
    },
  }
  const [, frame] = pictureRoutes({
    ...{ clock: fakeClock(), readMs: 2000, newest: () => undefined, pictureAt: async () => picture },
    callers: { accountOf: () => ({ id: 'guard' }) } as unknown as Parts['callers'],
    cameras: { require: (id: string) => ({ record: { id, masks } }) } as unknown as Parts['cameras'],
    decoder: { picture: async () => Uint8Array.of(1, 2) } as unknown as Parts['decoder'],
    extraction: extraction as unknown as Parts['extraction'],
    ...parts,
  })
  const ask = (id: string) =>
    frame?.handle({ params: { id }, query: { at: 7 }, signal: new AbortController().signal } as never) as Promise<Reply>
  return { ask, places: () => places }
}

t.test('a disk that hangs keeps pictures of other disks waiting for no longer than storage.stuck_ms', async (t) => {
  const clock = fakeClock()
  const hanging = Promise.withResolvers<ChosenPicture>()
  const pictureAt = (camera: string) => (camera === 'hung' ? hanging.promise : Promise.resolve(picture))
  const { ask, places } = frameRoute({ clock, pictureAt })
  const hung = ask('hung')
  const other = ask('other')
  const refused = t.rejects(hung, { code: 'footage_away', message: /not answered for 2/ })
  await clock.run(2000)
  await refused
  t.equal((await other).status, 200)
  t.equal(places(), 0)
  hanging.reject(new Error('the disk is gone'))
})

t.test(
  'A.rules.1 a picture is made while the journal waits for its disk, and goes out once it has the row',
  async (t) => {
    const written = Promise.withResolvers<void>()
    const made = Promise.withResolvers<void>()
    const decoder = {
      async picture() {
        made.resolve()
        return Uint8Array.of(1, 2)
      },
    } as unknown as Parts['decoder']
    const { ask } = frameRoute({ decoder, note: () => written.promise })
    let isOut = false
    const asked = ask('door').finally(() => {
      isOut = true
    })
    await made.promise
    await new Promise(setImmediate)
    t.equal(isOut, false)
    written.resolve()
    t.equal((await asked).status, 200)
  },
)

t.test('A.rules.1 a picture that the journal cannot take is refused', async (t) => {
  const full = new Error('the disk is full')
  const { ask, places } = frameRoute({ note: () => Promise.reject(full) })
  await t.rejects(ask('door'), full)
  t.equal(places(), 0)
})
